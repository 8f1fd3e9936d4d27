#!/usr/bin/env bash
# What a game sees: installs the client library to an empty prefix, and builds and runs a small game outside the tree
# with find_package and with pkg-config, against the shared and the static library. ARBITER_BUILD: the build folder.
set -euo pipefail
cd "$(dirname "$0")/../.."
source tests/support/server.sh
prefix=$work/prefix
cmake --install "$ARBITER_BUILD" --prefix "$prefix" >"$work/log" || { cat "$work/log"; exit 1; }
for file in bin/arbiterd bin/arbiter-bots include/arbiter_client.h share/arbiter/config/arena.json; do
    [ -e "$prefix/$file" ] || { echo "not installed: $file"; exit 1; }
done
library=$(dirname "$(find "$prefix" -name libarbiter_client.a)")

# A match to join: nobody is waited for, and it outlasts this test.
start_server "$prefix/bin/arbiterd" --config "$prefix/share/arbiter/config/arena.json" --set match.min_players=1 \
    --set match.countdown_s=0 --set match.duration_s=3600 --set match.result_path="$work/result.json"

cp -r tests/support/outside "$work/game"
cmake -S "$work/game" -B "$work/game/build" -DCMAKE_PREFIX_PATH="$prefix" >"$work/log" &&
    cmake --build "$work/game/build" >>"$work/log" || { cat "$work/log"; exit 1; }
"$work/game/build/game_shared" "$port"
"$work/game/build/game_static" "$port"
# The listing of the guide plays until it tells where it is; else it would leave with the match, which is longer.
plays() {
    local game
    stdbuf -oL "$@" 127.0.0.1 "$port" >"$work/said" 2>&1 &
    game=$!
    for _ in $(seq 2400); do
        grep -q 'I am at' "$work/said" && break
        kill -0 "$game" 2>/dev/null || break
        sleep 0.05
    done
    kill -0 "$game" 2>/dev/null && grep -q 'I am at' "$work/said" || { cat "$work/said"; echo "$1 does not play"; exit 1; }
    kill -KILL "$game"
    wait "$game" || true
}
plays "$work/game/build/first_client"

export PKG_CONFIG_PATH=$library/pkgconfig
cc -std=c11 -Wall -Werror "$work/game/game.c" -o "$work/with_shared" $(pkg-config --cflags --libs arbiter_client)
LD_LIBRARY_PATH=$library "$work/with_shared" "$port"
cc -std=c11 -Wall -Werror "$work/game/first_client.c" -o "$work/first_client" $(pkg-config --cflags --libs arbiter_client)
LD_LIBRARY_PATH=$library plays "$work/first_client"
cc -std=c11 -Wall -Werror "$work/game/game.c" -o "$work/with_static" $(pkg-config --cflags arbiter_client) \
    "$library/libarbiter_client.a" $(pkg-config --libs --static arbiter_client | sed 's/-larbiter_client//')
"$work/with_static" "$port"
readelf -d "$work/with_static" | grep -q libarbiter_client && { echo "the static game needs the shared library"; exit 1; }

# A game with an ENet of its own, Debian's here: neither is mistaken for the other.
own=none
if pkg-config --exists libenet; then
    own=works
    for kind in static shared; do
        link=$(pkg-config --libs arbiter_client)
        [ "$kind" = shared ] || link="$library/libarbiter_client.a $(pkg-config --libs --static arbiter_client | sed 's/-larbiter_client//')"
        cc -std=c11 -Wall -Werror "$work/game/two_enets.c" -o "$work/two_enets_$kind" $(pkg-config --cflags arbiter_client libenet) \
            $link $(pkg-config --libs libenet)
        LD_LIBRARY_PATH=$library "$work/two_enets_$kind" "$port"
    done
fi
echo "installed, found and linked in four ways; beside an ENet of the game's own: $own"

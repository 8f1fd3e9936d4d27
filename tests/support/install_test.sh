#!/usr/bin/env bash
# What a game sees: installs the client library to an empty prefix, and builds and runs a small game outside the tree
# with find_package and with pkg-config, against the shared and the static library. ARBITER_BUILD: the build folder.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix
cmake --install "$ARBITER_BUILD" --prefix "$prefix" >"$work/log" || { cat "$work/log"; exit 1; }
for file in bin/arbiterd bin/arbiter-bots include/arbiter_client.h share/arbiter/config/arena.json; do
    [ -e "$prefix/$file" ] || { echo "not installed: $file"; exit 1; }
done
library=$(dirname "$(find "$prefix" -name libarbiter_client.a)")

foreign=$( (nm -g --defined-only "$library/libarbiter_client.a" && nm -D --defined-only "$library/libarbiter_client.so") |
    awk 'NF == 3 && $3 !~ /^arbiter_/ {print $3}' | sort -u)
[ -z "$foreign" ] || { echo "symbols that are not arbiter_*:" $foreign; exit 1; }

cp -r tests/support/outside "$work/game"
cmake -S "$work/game" -B "$work/game/build" -DCMAKE_PREFIX_PATH="$prefix" >"$work/log" &&
    cmake --build "$work/game/build" >>"$work/log" || { cat "$work/log"; exit 1; }
"$work/game/build/game_shared"
"$work/game/build/game_static"

export PKG_CONFIG_PATH=$library/pkgconfig
cc -std=c11 -Wall -Werror "$work/game/game.c" -o "$work/with_shared" $(pkg-config --cflags --libs arbiter_client)
LD_LIBRARY_PATH=$library "$work/with_shared"
cc -std=c11 -Wall -Werror "$work/game/game.c" -o "$work/with_static" $(pkg-config --cflags arbiter_client) \
    "$library/libarbiter_client.a" $(pkg-config --libs --static arbiter_client | sed 's/-larbiter_client//')
"$work/with_static"
readelf -d "$work/with_static" | grep -q libarbiter_client && { echo "the static game needs the shared library"; exit 1; }
echo "installed, found and linked in four ways"

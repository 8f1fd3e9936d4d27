#!/usr/bin/env bash
# The Lua game of tools/love joins a match of bots in a virtual window, is played with key and mouse events, and takes
# a picture, in both modes. ARBITER_BUILD: the build folder; LOVE_PICTURES: a folder where the pictures are left.
# Status 77: no LOEVE here, or no shared library in this build.
set -euo pipefail
cd "$(dirname "$0")/../.."
for tool in love xvfb-run xdotool; do
    command -v "$tool" >/dev/null || { echo "love: no $tool here"; exit 77; }
done
ARBITER_BUILD=${ARBITER_BUILD:-build/release}
library=$ARBITER_BUILD/shared/package/libarbiter_client.so
[ -e "$library" ] && [ -x "$ARBITER_BUILD/bin/arbiterd" ] || { echo "love: no client package in this build"; exit 77; }
library=$(realpath "$library")
work=$(mktemp -d)
started=()
finish() {
    kill "${started[@]}" 2>/dev/null || true
    wait || true
    rm -rf "$work"
}
trap finish EXIT

# Walks to all sides, shooting, until the game says that it has all that is wanted of it; then its picture is taken.
# Whoever is killed meanwhile comes back and goes on.
cat >"$work/play" <<'PLAY'
love tools/love --library "$1" --header shared/client/arbiter_client.h --name lua --screenshot "$2" "127.0.0.1:$3" >"$4" &
game=$!
enough() {
    read -r _ entities _ players _ snapshots _ inputs _ fired _ moved _ < <(tail -n 1 "$4")
    [ "${snapshots:-0}" -ge 60 ] && [ "$players" = 6 ] && [ "$entities" -ge "$5" ] && [ "$inputs" -ge 120 ] &&
        [ "$fired" -ge 1 ] && [ "$moved" = 1 ]
}
until enough "$@"; do
    for step in d:900:400 w:640:200 a:300:400 s:640:700; do
        kill -0 "$game" || exit 1
        IFS=: read -r key x y <<<"$step"
        xdotool mousemove "$x" "$y" keydown "$key" mousedown 1
        sleep 1
        xdotool mouseup 1 keyup "$key"
    done
done
xdotool key p
wait "$game"
PLAY
# play MODE PICTURE ENTITIES: until so many are in view; sets corrections as the game said them.
play() {
    local mode=$1 picture=$2 port= line
    : >"$work/server.log" # so that it can be read before the server is there
    "$ARBITER_BUILD/bin/arbiterd" --config "config/$mode.json" --set net.port=0 --set match.min_players=1 \
        --set match.countdown_s=0 --set match.duration_s=3600 --set match.result_path="$work/result.json" 2>"$work/server.log" &
    started+=($!)
    for _ in $(seq 1200); do
        port=$(sed -n 's/.*"event":"ready".*"port":\([0-9]*\).*/\1/p' "$work/server.log")
        [ -z "$port" ] || break
        sleep 0.1
    done
    [ -n "$port" ] || { cat "$work/server.log"; echo "love: the server did not become ready"; exit 1; }
    "$ARBITER_BUILD/bin/arbiter-bots" --connect "127.0.0.1:$port" --count 5 --policy wander --seed 1 --duration 3600 >/dev/null &
    started+=($!)
    : >"$work/said"
    HOME=$work SDL_AUDIODRIVER=dummy timeout 600 xvfb-run -a -s "-screen 0 1280x800x24" \
        bash "$work/play" "$library" "$picture" "$port" "$work/said" "$3" 2>"$work/errors" ||
        { cat "$work/said" "$work/errors"; echo "love: the game failed"; exit 1; }
    kill "${started[@]}"
    wait "${started[@]}" || true
    started=()
    line=$(grep '^entities ' "$work/said" | tail -n 1) || { cat "$work/said" "$work/errors"; exit 1; }
    echo "love: $mode: $line"
    corrections=${line##* }
    [ -z "${LOVE_PICTURES:-}" ] || cp "$picture" "$LOVE_PICTURES/love_$mode.png"
}

# colours PICTURE CODE: `found` counts each colour, near(R, G, B) all that nearly are it.
colours() {
    PYTHONPATH=tests/interop python3 - "$1" "$2" <<'CODE'
import sys
import picture_colours
found = picture_colours.read(sys.argv[1])
def near(*wanted):
    return sum(n for colour, n in found.items() if all(abs(a - b) <= 3 for a, b in zip(colour, wanted)))
if not eval(sys.argv[2]):
    print("love: colours:", found.most_common(12))
    sys.exit(1)
CODE
}

play arena "$work/arena.png" 3
[ "$corrections" = 0 ] || { echo "love: $corrections corrections"; exit 1; }
# Ground, walls and the white ring around the own character.
colours "$work/arena.png" 'near(36, 41, 48) > 200000 and near(107, 117, 133) > 3000 and near(255, 255, 255) > 100'

play serpent "$work/serpent.png" 1
[ "$corrections" = 0 ] || { echo "love: $corrections corrections"; exit 1; }
# Ground, and food in its colour.
colours "$work/serpent.png" 'near(36, 41, 48) > 200000 and near(204, 204, 102) > 100'

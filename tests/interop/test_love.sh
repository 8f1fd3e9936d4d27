#!/usr/bin/env bash
# The Lua game of tools/love joins a match of bots in a virtual window, is played with key and mouse events, and takes
# a picture. ARBITER_BUILD: the build folder; LOVE_PICTURE: where to leave the picture. Status 77: no LOEVE here, or no
# shared library in this build.
set -euo pipefail
cd "$(dirname "$0")/../.."
for tool in love xvfb-run xdotool; do
    command -v "$tool" >/dev/null || { echo "love: no $tool here"; exit 77; }
done
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

: >"$work/server.log" # so that it can be read before the server is there
"$ARBITER_BUILD/bin/arbiterd" --config config/arena.json --set net.port=0 --set match.min_players=1 \
    --set match.countdown_s=0 --set match.duration_s=120 --set match.result_path="$work/result.json" 2>"$work/server.log" &
started+=($!)
port=
for _ in $(seq 100); do
    port=$(sed -n 's/.*"event":"ready".*"port":\([0-9]*\).*/\1/p' "$work/server.log")
    [ -z "$port" ] || break
    sleep 0.1
done
[ -n "$port" ] || { cat "$work/server.log"; echo "love: the server did not become ready"; exit 1; }
"$ARBITER_BUILD/bin/arbiter-bots" --connect "127.0.0.1:$port" --count 5 --policy wander --seed 1 --duration 60 >/dev/null &
started+=($!)

# Walks right, then up, shooting; whoever is killed meanwhile comes back and goes on.
cat >"$work/play" <<'PLAY'
love tools/love --library "$1" --header shared/client/arbiter_client.h --name lua --screenshot "$2" --after 8 "127.0.0.1:$3" &
game=$!
sleep 2
for step in d:900:400 w:640:200 a:300:400 s:640:700; do
    IFS=: read -r key x y <<<"$step"
    xdotool mousemove "$x" "$y" keydown "$key" mousedown 1
    sleep 1
    xdotool mouseup 1 keyup "$key"
done
wait "$game"
PLAY
HOME=$work SDL_AUDIODRIVER=dummy timeout 60 xvfb-run -a -s "-screen 0 1280x800x24" \
    bash "$work/play" "$library" "$work/picture.png" "$port" >"$work/said" 2>"$work/errors" ||
    { cat "$work/said" "$work/errors"; echo "love: the game failed"; exit 1; }
line=$(grep '^entities ' "$work/said") || { cat "$work/said" "$work/errors"; exit 1; }
echo "love: $line"
read -r _ entities _ players _ snapshots _ inputs _ fired _ moved _ corrections <<<"$line"
[ "$entities" -ge 3 ] && [ "$players" = 6 ] && [ "$snapshots" -ge 60 ] && [ "$inputs" -ge 120 ]
[ "$fired" -ge 1 ] && [ "$moved" = 1 ] && [ "$corrections" = 0 ]
[ "$(stat -c %s "$work/picture.png")" -gt 8000 ] || { echo "love: the picture is empty"; exit 1; }
[ -z "${LOVE_PICTURE:-}" ] || cp "$work/picture.png" "$LOVE_PICTURE"

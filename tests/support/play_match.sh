#!/usr/bin/env bash
# play_match.sh FOLDER: a short match of the arbiterd and arbiter-bots in FOLDER over real UDP; status 0 when both
# end well and the result is written. For builds whose own checks (ThreadSanitizer) are what is of interest.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$1
work=$(mktemp -d)
server=
finish() {
    if [ -n "$server" ]; then
        kill "$server" 2>/dev/null || true
        wait "$server" || true
    fi
    rm -rf "$work"
}
trap finish EXIT

: >"$work/log" # so that it can be read before the server is there
"$folder/arbiterd" --config config/arena.json --set net.port=0 --set match.min_players=4 --set match.duration_s=5 \
    --set match.countdown_s=1 --set match.result_path="$work/result.json" 2>"$work/log" &
server=$!
port=
for _ in $(seq 100); do
    port=$(sed -n 's/.*"event":"ready".*"port":\([0-9]*\).*/\1/p' "$work/log")
    [ -z "$port" ] || break
    sleep 0.1
done
[ -n "$port" ] || { cat "$work/log"; echo "match: the server did not become ready"; exit 1; }
"$folder/arbiter-bots" --connect "127.0.0.1:$port" --count 4 --policy aim --seed 1 --duration 30 --report json \
    >"$work/report.json" || { cat "$work/log"; echo "match: arbiter-bots ended with $?"; exit 1; }
wait "$server" || { cat "$work/log"; echo "match: arbiterd ended with $?"; exit 1; }
server=
grep -q '"end_reason"' "$work/result.json"
echo "match: played, result written"

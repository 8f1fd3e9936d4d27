#!/usr/bin/env bash
# play_match.sh FOLDER [BOTS...]: a short match of the arbiterd in FOLDER and of its arbiter-bots, or of the command
# BOTS, over real UDP; status 0 when both end well, the result is written, and each client saw the match and predicted
# itself as the server did, and the journal is verified: by the arbiter-replay in FOLDER, or by the command
# ARBITER_REPLAY. For builds whose own checks (ThreadSanitizer) are what is of interest, and for bots and replays of
# another system. Status 77: FOLDER has no arbiterd, or BOTS said so.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$1
shift
[ $# -gt 0 ] || set -- "$folder/arbiter-bots"
[ -x "$folder/arbiterd" ] || { echo "match: no arbiterd in $folder"; exit 77; }
source tests/support/server.sh

start_server "$folder/arbiterd" --config config/arena.json --set match.min_players=4 --set match.duration_s=5 \
    --set match.countdown_s=1 --set match.result_path="$work/result.json" --set journal.path="$work/journal" \
    --set journal.keyframe_s=2
bots=0
"$@" --connect "127.0.0.1:$port" --count 4 --policy aim --seed 1 --duration 600 --report json >"$work/report.json" || bots=$?
[ "$bots" != 77 ] || exit 77 # what runs them is not here
[ "$bots" = 0 ] || { cat "$work/server.log"; echo "match: the bots ended with $bots"; exit 1; }
wait "$server" || { cat "$work/server.log"; echo "match: arbiterd ended with $?"; exit 1; }
server=
grep -q '"end_reason"' "$work/result.json"
read -ra verifier <<<"${ARBITER_REPLAY:-$folder/arbiter-replay}"
"${verifier[@]}" verify "$work/journal" || { echo "match: its journal is not verified"; exit 1; }
python3 - "$work/report.json" <<'PYTHON'
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    report = json.load(file)
totals = report["totals"]
wrong = [client["id"] for client in report["clients"]
         if client["snapshots"] < 20 or client["inputs_consumed"] < 20 or client["bad_messages"] > 0]
assert not wrong, f"clients {wrong} did not play"
assert totals["corrections"]["count"] == 0, totals["corrections"]
print("match: played, result written;", *(f"{totals[name]} {name.replace('_', ' ')}," for name in
      ("snapshots", "inputs_consumed", "inputs_starved", "hits")), "no correction without a cause")
PYTHON

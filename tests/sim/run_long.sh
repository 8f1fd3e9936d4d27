#!/usr/bin/env bash
# run_long.sh [COUNT [TICKS]]: COUNT fresh seeds (200) of TICKS ticks (36,000: ten minutes) in each mode, sixteen
# clients on the worst network with every fault: about an hour. One run in twenty is played twice, and its two reports
# must not differ in a byte. Each failing run prints its line; the last line is 'N passed, N failed'. SEED=n begins
# there instead of anywhere; ARBITER_BUILD is the build folder; JOBS runs at a time; LOG a file that gets a line for
# each run, and whose runs that passed are not played again: with the same SEED and LOG, what was interrupted goes on.
set -uo pipefail
cd "$(dirname "$0")/../.."
count=${1:-200} ticks=${2:-36000}
sim=${ARBITER_BUILD:-build/release}/bin/arbiter-sim
seed=${SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
[ -x "$sim" ] || { echo "no $sim: build first" >&2; exit 64; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
log=${LOG:-$work/log}
touch "$log"

# The first word says how often it is played.
runs() {
    local i mode arguments
    for ((i = 0; i < count; i++)); do
        for mode in arena serpent; do
            arguments="--config config/$mode.json --clients 16 --profile bad --seed $((seed + i))"
            arguments+=" --ticks $ticks --faults all"
            grep -qxF "passed: $arguments" "$log" || echo "$((i % 20 == 0 ? 2 : 1)) $arguments"
        done
    done
}

# A run that hangs is a failure as well.
cat >"$work/one" <<'ONE'
#!/usr/bin/env bash
sim=$1 report=$2/$$ log=$3 times=$4
shift 4
outcome=passed
for ((i = 1; i <= times; i++)); do
    timeout 1800 "$sim" "$@" --report json >"$report.$i" 2>"$report.errors"
    status=$?
    [ "$status" = 0 ] || { outcome="failed ($status)"; grep -v 'ticks in' "$report.errors"; break; }
done
if [ "$outcome" = passed ] && [ "$times" = 2 ] && ! cmp "$report.1" "$report.2"; then
    outcome="failed (two reports)"
fi
rm -f "$report".*
echo "$outcome: $*" >>"$log"
[ "$outcome" = passed ] || echo "$outcome: arbiter-sim $*"
ONE
chmod +x "$work/one"

total=$((2 * count))
left=$(runs | wc -l)
echo "$total runs, $((total - left)) of them passed before; seeds from $seed"
runs | xargs -r -P "${JOBS:-$(nproc)}" -L 1 "$work/one" "$sim" "$work" "$log" |
    awk -v total="$total" '{ print; fflush() } /^failed \(/ { failed++ }
        END { printf "%d passed, %d failed\n", total - failed, failed; exit failed > 0 }'

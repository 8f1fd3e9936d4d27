#!/usr/bin/env bash
# run_seeds.sh [COUNT [TICKS]]: the runs that failed once (failed_seeds.txt), then COUNT fresh seeds of TICKS ticks in
# each mode, most of them on the worst network, all with every fault. Each failing run prints its line; the last line is
# 'N passed, N failed'. SEED=n begins there instead of anywhere; ARBITER_BUILD is the build folder; JOBS runs at a time.
set -uo pipefail
cd "$(dirname "$0")/../.."
count=${1:-100} ticks=${2:-3600}
sim=${ARBITER_BUILD:-build/release}/bin/arbiter-sim
seed=${SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
[ -x "$sim" ] || { echo "no $sim: build first" >&2; exit 64; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Five in ten are as bad as it gets, the others share the rest.
profiles=(bad average bad mobile bad good bad average bad lan)
# Half of them are watched, half of those with a delay.
watched=('' '--spectators 4' '' '--spectators 3 --set spectator.delay_s=2')
# A quarter of them go back after each tick, and run what they ran again.
back=('' '' '--synctest 4' '' '' '' '--synctest 20' '')
# A quarter of them are killed now and then, and resume.
killed=('' '' ',crash' '' '' '' '' ',crash')
# Three in eight apply late inputs in their own tick.
windows=('' '' '' '--set rollback.window_ticks=6' '' '--set rollback.window_ticks=30' '' '--set rollback.window_ticks=2')
runs() {
    sed -E -e '/^(#|$)/d' -e 's/ *#.*//' tests/sim/failed_seeds.txt
    local i mode
    for ((i = 0; i < count; i++)); do
        for mode in arena serpent; do
            echo "--config config/$mode.json --clients 16 --profile ${profiles[i % 10]} --seed $((seed + i))" \
                "--ticks $ticks --faults all${killed[i % 8]} ${watched[i % 4]} ${back[i % 8]} ${windows[i % 8]}"
        done
    done
}

# A run that hangs is a failure as well.
cat >"$work/one" <<'ONE'
#!/usr/bin/env bash
sim=$1 log=$2/$$
shift 2
timeout 600 "$sim" "$@" >"$log" 2>&1
status=$?
[ "$status" = 0 ] || { grep -v 'ticks in' "$log"; echo "failed ($status): arbiter-sim $*"; }
rm -f "$log"
exit $((status != 0))
ONE
chmod +x "$work/one"

total=$(runs | wc -l)
echo "$total runs; fresh seeds from $seed"
runs | xargs -P "${JOBS:-$(nproc)}" -L 1 "$work/one" "$sim" "$work" |
    awk -v total="$total" '{ print; fflush() } /^failed \(/ { failed++ }
        END { printf "%d passed, %d failed\n", total - failed, failed; exit failed > 0 }'

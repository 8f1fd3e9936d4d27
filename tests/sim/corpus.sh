#!/usr/bin/env bash
# corpus.sh make FOLDER [COUNT]: COUNT recorded matches (200) from seeds, half of each mode, with all that seeds vary;
# FOLDER/*.journal.
# corpus.sh verify FOLDER [COMMAND...]: each is played again by COMMAND (build/release/bin/arbiter-replay; an emulator and
# the program of another processor as well), every checksum compared. Last line: 'N passed, N failed'.
# ARBITER_BUILD is the build folder that makes them; SEED=n the first seed (1), JOBS runs at a time.
set -uo pipefail
cd "$(dirname "$0")/../.."
build=${ARBITER_BUILD:-build/release}
what=${1:-} folder=${2:-}
case "$what" in make | verify) ;; *) sed -n '2,6s/^# //p' "$0" >&2; exit 64 ;; esac
[ -n "$folder" ] || { echo "corpus.sh: which folder?" >&2; exit 64; }

# Every kind of line, options that change what a tick does, and who plays.
profiles=(average bad lan mobile good)
options=('' '--set arena.player_push=true' '--set lagcomp.abilities_win=true --set lagcomp.cover_grace_ms=100'
    '--set match.tick_rate=30' '--set match.teams=2 --set arena.team_damage=true' '--set lagcomp.view_source=round_trip')
runs() {
    local i mode option
    for ((i = 0; i < $1; i++)); do
        mode=arena option=${options[i / 2 % ${#options[@]}]}
        ((i % 2)) && mode=serpent option=
        echo "$folder/$i.journal --config config/$mode.json --clients $((4 + i % 13)) --profile ${profiles[i % 5]}" \
            "--seed $((${SEED:-1} + i)) --ticks 1800 --faults all $option"
    done
}
tally() {
    awk -v total="$1" '/^failed/ { print; failed++ } END { printf "%d passed, %d failed\n", total - failed, failed; exit failed > 0 }'
}

if [ "$what" = make ]; then
    count=${3:-200}
    mkdir -p "$folder"
    runs "$count" | xargs -P "${JOBS:-$(nproc)}" -d '\n' -n 1 bash -c \
        'set -- $1; "$0" --journal "$@" >/dev/null 2>&1 || echo "failed: arbiter-sim ${*:2}"' "$build/bin/arbiter-sim" |
        tally "$count"
else
    [ $# -gt 2 ] && command=("${@:3}") || command=("$build/bin/arbiter-replay")
    files=("$folder"/*.journal)
    printf '%s\n' "${files[@]}" | xargs -P "${JOBS:-$(nproc)}" -I {} bash -c \
        'found=$("${@:2}" verify "$1" 2>&1) || echo "failed: $found"' - {} "${command[@]}" | tally "${#files[@]}"
fi

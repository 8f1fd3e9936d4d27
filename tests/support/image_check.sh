#!/usr/bin/env bash
# Builds the Dockerfile without any image registry: on a base made by debootstrap, with buildah. Then starts what
# came out, as the user it names, and has it play a short match. Needs root; status 77 where a tool is missing.
set -euo pipefail
cd "$(dirname "$0")/../.."
for tool in buildah debootstrap; do
    command -v "$tool" >/dev/null || { echo "image: no $tool here"; exit 77; }
done
[ "$(id -u)" = 0 ] || { echo "image: needs root"; exit 77; }

work=$(mktemp -d)
image() { buildah --root "$work/store" --runroot "$work/run" --storage-driver vfs "$@"; }
finish() {
    image rm --all >/dev/null 2>&1 || true
    rm -rf "$work"
}
trap finish EXIT
export BUILDAH_ISOLATION=chroot

# The mirror that this machine's apt uses, so that the check reaches what the machine reaches.
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 'Codename: bookworm' | head -n 1)
echo "image: making a base"
debootstrap --variant=minbase --include=ca-certificates bookworm "$work/base" "$mirror" >"$work/log" 2>&1 ||
    { tail -n 20 "$work/log"; exit 1; }
container=$(image from scratch)
image add -q "$container" "$work/base" / >/dev/null
image commit -q "$container" localhost/base >/dev/null
image rm "$container" >/dev/null
rm -rf "$work/base"

echo "image: building"
image build --layers=false --pull=never --build-arg BASE=localhost/base -t localhost/arbiter . >"$work/log" 2>&1 ||
    { tail -n 30 "$work/log"; exit 1; }

container=$(image from --pull-never localhost/arbiter)
run() { image run --user arbiter "$container" -- "$@"; }
user=$(image inspect --type image --format '{{.OCIv1.Config.User}}' localhost/arbiter)
[ "$user" = arbiter ] || { echo "image: runs as '$user', expected arbiter"; exit 1; }
run arbiterd --version
run arbiterd --config /usr/local/share/arbiter/config/arena.json --check-config
echo "image: playing a match"
run sh -c '
    arbiterd --config /usr/local/share/arbiter/config/arena.json --set net.port=0 --set match.min_players=2 \
        --set match.duration_s=3 --set match.countdown_s=1 2>/tmp/log &
    server=$!
    port=
    while [ -z "$port" ] && kill -0 $server; do
        port=$(sed -n "s/.*\"event\":\"ready\".*\"port\":\([0-9]*\).*/\1/p" /tmp/log)
        sleep 0.1
    done
    cat /tmp/log >&2
    arbiter-bots --connect "127.0.0.1:$port" --count 2 --policy aim --seed 1 --duration 600 --report json >/dev/null
    wait $server && grep -q end_reason /var/lib/arbiter/arena_result.json' 2>"$work/log" || { tail -n 20 "$work/log"; exit 1; }
size=$(image images --format '{{.Size}}' localhost/arbiter)
echo "image: works, $size with its base"

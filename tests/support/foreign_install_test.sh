#!/usr/bin/env bash
# foreign_install_test.sh BUILD NATIVE TOOLCHAIN [EMULATOR...]: what a game of another system sees: installs the client
# library of BUILD to an empty prefix, builds the game outside the tree with find_package, and joins a match of the
# arbiterd in the folder NATIVE with the shared and the static library. Status 77: NATIVE has no arbiterd, or EMULATOR said so.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$1 native=$2 toolchain=$3
shift 3
[ -x "$native/arbiterd" ] || { echo "no arbiterd in $native"; exit 77; }
source tests/support/server.sh
cmake --install "$build" --prefix "$work/prefix" --component client >"$work/log" || { cat "$work/log"; exit 1; }

start_server "$native/arbiterd" --config config/arena.json --set match.min_players=1 --set match.countdown_s=0 \
    --set match.duration_s=3600 --set match.result_path="$work/result.json"

cp -r tests/support/outside "$work/game"
cmake -S "$work/game" -B "$work/game/build" --toolchain "$toolchain" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_PREFIX_PATH="$work/prefix" >"$work/log" && cmake --build "$work/game/build" >>"$work/log" ||
    { cat "$work/log"; exit 1; }
# Windows finds a DLL beside the program that wants it.
find "$work/prefix" -name '*.dll' -exec cp {} "$work/game/build" \;
for kind in shared static; do
    game=$(find "$work/game/build" -maxdepth 1 -name "game_$kind*" -type f)
    status=0
    "$@" "$game" "$port" || status=$?
    [ "$status" = 0 ] || exit "$status"
done
echo "installed, found and linked in two ways"

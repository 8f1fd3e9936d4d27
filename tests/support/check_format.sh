#!/usr/bin/env bash
# Every C file as .clang-format says; names those that are not. To repair: tests/support/check_format.sh --fix
set -euo pipefail
cd "$(dirname "$0")/../.."
files() { find server shared tools tests -name '*.[ch]' -print0 | sort -z; }
if [ "${1:-}" = --fix ]; then
    files | xargs -0 -r clang-format -i
    exit
fi
unformatted=$(files | xargs -0 -r clang-format --dry-run 2>&1 | sed -n 's/^\([^: ]*\.[ch]\):.*code should be.*/\1/p' | uniq)
[ -z "$unformatted" ] && exit 0
printf '%s\n' "$unformatted"
echo "not formatted; tests/support/check_format.sh --fix repairs them"
exit 1

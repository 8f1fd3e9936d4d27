#!/usr/bin/env bash
# Every C file as .clang-format says. To repair: tests/support/check_format.sh --fix
set -euo pipefail
cd "$(dirname "$0")/../.."
mode=(--dry-run -Werror)
[ "${1:-}" = --fix ] && mode=(-i)
find server shared tools tests -name '*.[ch]' -print0 | xargs -0 -r -P 2 -n 20 clang-format "${mode[@]}"

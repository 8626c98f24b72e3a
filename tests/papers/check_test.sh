#!/usr/bin/env bash
# Whether check.sh finds each offence in fixture/ and nothing else, and --mend puts right what it can and no more.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
copy=$(mktemp --directory)
trap 'rm --recursive "$copy"' EXIT
cp --recursive fixture/. "$copy"

# fails_with FILE COMMAND...: the command must fail, and FILE is all that it says on standard error.
fails_with() {
  if "${@:2}" 2>"$copy/said" >/dev/null; then
    echo "check_test.sh: no offence was found by ${*:2}" >&2
    exit 1
  fi
  diff "$1" "$copy/said"
}

fails_with fixture/offences ./check.sh "$copy"
diff fixture/formats/PAPERS.md "$copy/formats/PAPERS.md"
fails_with fixture/left ./check.sh --mend "$copy"
diff fixture/mended.md "$copy/formats/PAPERS.md"
echo "all offences were found, and those mended that can be"

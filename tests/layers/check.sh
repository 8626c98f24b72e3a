#!/usr/bin/env bash
# check.sh DIR: whether each folder of the library in DIR includes only those below it. Every offending line is shown as
# FILE:LINE; exit 1 where there is one.
set -euo pipefail
cd "$1"

declare -A below=(
  [include]=''
  [core]='include'
  [io]='include core'
  [features]='include core'
  [formats]='include core features'
  [db]='include core'
  [tuner]='include core features formats db'
  [tools]='include core io features formats db tuner'
)

# The folder that an include names.
folder_of() {
  local folder=${1%%/*}
  if [[ $folder == autospmv ]]; then folder=include; fi
  echo "$folder"
}

# Quoted includes are the project's own and begin with a folder; nothing else may be quoted.
# Bracketed ones count where they name a folder of the project.
includes=$(grep --recursive --line-number --include='*.[ch]pp' --include='*.h' --include='*.cu' --include='*.cuh' --include='*.in' \
  -E '^[[:space:]]*#[[:space:]]*include[[:space:]]*["<]' "${!below[@]}" 2>/dev/null | sort || true)
if [[ -z $includes ]]; then
  echo "check.sh: no sources in $1" >&2
  exit 1
fi

offences=0
while IFS=: read -r file line text; do
  from=${file%%/*}
  header=$(sed -E 's/^[^"<]*["<]([^">]*)[">].*/\1/' <<<"$text")
  to=$(folder_of "$header")
  if [[ $text == *\<* && -z ${below[$to]+known} ]]; then continue; fi
  if [[ " $from ${below[$from]} " == *" $to "* ]]; then continue; fi
  echo "$file:$line: $from may not include $header" >&2
  offences=$((offences + 1))
done <<<"$includes"

if [[ $offences -gt 0 ]]; then exit 1; fi
echo "$(wc -l <<<"$includes") includes, all of them of the same folder or of one below"

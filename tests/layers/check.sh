#!/usr/bin/env bash
# check.sh DIR: whether each folder of the library in DIR includes only those below it, and each of the tuner's only those
# above it in tuner/README.md. Every offending line is shown as FILE:LINE; exit 1 where there is one.
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
  [python]='include'
  [petsc]='include'
)
below[tuner/predict]="${below[tuner]} tuner"
below[tuner/search]="${below[tuner/predict]} tuner/predict"
below[tuner/measure]="${below[tuner/search]} tuner/search"
below[tuner/context]="${below[tuner/measure]} tuner/measure"
below[tuner/online]="${below[tuner/context]} tuner/context"
below[tuner/plan]="${below[tuner/online]} tuner/online"
below[tools]="${below[tuner/plan]} tuner/plan io"

# folder_of VARIABLE PATH: sets it to the folder that a file lies in, or an include names; of the tuner, the one in it.
folder_of() {
  local folder=${2%%/*}
  if [[ $2 =~ ^(tuner/[^/]+)/ ]]; then folder=${BASH_REMATCH[1]}; fi
  if [[ $folder == autospmv ]]; then folder=include; fi
  printf -v "$1" %s "$folder"
}

# Quoted includes are the project's own and begin with a folder; nothing else may be quoted.
# Bracketed ones count where they name a folder of the project.
includes=$(grep --recursive --line-number --include='*.[ch]pp' --include='*.h' --include='*.cu' --include='*.cuh' --include='*.in' \
  -E '^[[:space:]]*#[[:space:]]*include[[:space:]]*["<]' include core io features formats db tuner tools python petsc 2>/dev/null | sort || true)
if [[ -z $includes ]]; then
  echo "check.sh: no sources in $1" >&2
  exit 1
fi

offences=0
while IFS=: read -r file line text; do
  [[ $text =~ [\"\<]([^\"\>]*)[\"\>] ]]
  header=${BASH_REMATCH[1]}
  # The ways in are built without the rest of the project, and name their own files without a folder.
  if [[ $file =~ ^(python|petsc)/ && $header != */* ]]; then continue; fi
  folder_of from "$file"
  folder_of to "$header"
  if [[ $text == *\<* && -z ${below[$to]+known} ]]; then continue; fi
  if [[ " $from ${below[$from]} " == *" $to "* ]]; then continue; fi
  echo "$file:$line: $from may not include $header" >&2
  offences=$((offences + 1))
done <<<"$includes"

if [[ $offences -gt 0 ]]; then exit 1; fi
echo "$(wc -l <<<"$includes") includes, all of them of the same folder or of one below"

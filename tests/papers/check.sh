#!/usr/bin/env bash
# check.sh [--mend] DIR: whether every place that DIR/formats/PAPERS.md names is there and still meant, and whether each
# of its sections has as many equations and algorithms as it says the paper has. A place is `PATH:LINE` `ANCHOR`: the
# anchor stands on that line. Every offence is shown with its line and its row; exit 1 where there is one.
#
# --mend writes the places that have moved anew: the nearest line with the anchor; where the file has it no more or is
# gone, the one file of the library and its programs that has it, one of the same name or extension before others.
set -euo pipefail

mend=false
if [[ ${1:-} == --mend ]]; then
  mend=true
  shift
fi
cd "$1"

papers=formats/PAPERS.md
searched=(formats features core tools tuner io examples)
# shellcheck disable=SC2016  # a pattern
place='`([^`:]+):([0-9]+)` `([^`]+)`'

number=0  # of the line of $papers
row=''    # its first cell
offences=0
offend() {
  echo "$papers:$number: ${row:+$row: }$1" >&2
  offences=$((offences + 1))
}

# why_not PATH LINE ANCHOR: what is wrong with a place; nothing where all is well.
why_not() {
  local lines
  if [[ ! -f $1 ]]; then
    echo "there is no file $1"
    return
  fi
  mapfile -t lines <"$1"
  if [[ $2 -lt 1 || $2 -gt ${#lines[@]} ]]; then
    echo "$1 has no line $2"
  elif [[ ${lines[$2 - 1]} != *"$3"* ]]; then
    echo "not on $1:$2: $3"
  fi
}

# file_with PATH ANCHOR: the file that has the anchor now; nothing where none has, or several are as likely.
file_with() {
  local path=$1 anchor=$2 names found
  if [[ -f $path ]] && grep --quiet --fixed-strings -e "$anchor" "$path"; then
    echo "$path"
    return
  fi
  for names in "${path##*/}" "*.${path##*.}" '*'; do
    mapfile -t found < <(grep --recursive --files-with-matches --fixed-strings --include="$names" --exclude='*.md' \
      -e "$anchor" "${searched[@]}" 2>/dev/null)
    if [[ ${#found[@]} -eq 1 ]]; then echo "${found[0]}"; fi
    if [[ ${#found[@]} -gt 0 ]]; then return; fi
  done
}

# nearest_line PATH LINE ANCHOR: of the lines with the anchor, of which there is one.
nearest_line() {
  local line distance least=-1 nearest
  while IFS=: read -r line _; do
    distance=$((line > $2 ? line - $2 : $2 - line))
    if [[ $least -lt 0 || $distance -lt $least ]]; then
      least=$distance
      nearest=$line
    fi
  done < <(grep --line-number --fixed-strings -e "$3" "$1")
  echo "$nearest"
}

# Sees to the places in $text, which --mend changes.
places=0
check_places() {
  local rest=$text old path line anchor wrong
  while [[ $rest =~ $place ]]; do
    old=${BASH_REMATCH[0]} path=${BASH_REMATCH[1]} line=${BASH_REMATCH[2]} anchor=${BASH_REMATCH[3]}
    rest=${rest#*"$old"}
    places=$((places + 1))
    wrong=$(why_not "$path" "$line" "$anchor")
    if [[ -z $wrong ]]; then continue; fi
    if $mend; then
      path=$(file_with "$path" "$anchor")
      if [[ -n $path ]]; then
        line=$(nearest_line "$path" "$line" "$anchor")
        text=${text/"$old"/"\`$path:$line\` \`$anchor\`"}
        echo "$papers:$number: $row: now $path:$line"
        continue
      fi
    fi
    offend "$wrong"
  done
}

# A section ends: the equations and algorithms that its rows begin with are all that its paper has.
stated=''
declare -A equations=() algorithms=()
end_section() {
  local counted="${#equations[@]} equations, ${#algorithms[@]} algorithms"
  row=''
  if [[ -n $stated && $counted != "$stated" ]]; then offend "the section before has $counted, not $stated"; fi
  if [[ -z $stated && $counted != '0 equations, 0 algorithms' ]]; then
    offend 'the section before does not say how many equations and algorithms there are'
  fi
  stated=''
  equations=()
  algorithms=()
}

mended=()
while IFS= read -r text; do
  number=$((number + 1))
  row=''
  if [[ $text == '## '* ]]; then end_section; fi
  if [[ $text =~ Equations:\ ([0-9]+)\;\ algorithms:\ ([0-9]+)\. ]]; then
    stated="${BASH_REMATCH[1]} equations, ${BASH_REMATCH[2]} algorithms"
  fi
  if [[ $text == '| '* && $text != '| place in the paper |'* ]]; then
    row=${text#'| '}
    row=${row%%' |'*}
    if [[ $row =~ ^Equation\ ([^,\ ]+) ]]; then equations[${BASH_REMATCH[1]}]=here; fi
    if [[ $row =~ ^Algorithm\ ([^,\ ]+) ]]; then algorithms[${BASH_REMATCH[1]}]=here; fi
    if [[ ! $text =~ $place && $text != *'| none: '* ]]; then offend 'neither a place nor why there is none'; fi
    check_places
  fi
  mended+=("$text")
done <"$papers"
end_section

if [[ $places -eq 0 ]]; then
  echo "check.sh: no places in $papers" >&2
  exit 1
fi
if $mend; then printf '%s\n' "${mended[@]}" >"$papers"; fi
if [[ $offences -gt 0 ]]; then
  if ! $mend; then echo "check.sh: where code has moved, --mend puts places right" >&2; fi
  exit 1
fi
echo "$places places, all of them as $papers says"

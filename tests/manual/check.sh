#!/usr/bin/env bash
# check.sh PROGRAM: whether its manual page and its completion have every subcommand and option of its help, are read
# without a complaint, and complete what they should.
set -euo pipefail
program=$1

directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
"$program" --manual >"$directory/autospmv.1"
"$program" --bash-completion >"$directory/autospmv"

offences=0
offend() {
  echo "check.sh: $*" >&2
  offences=$((offences + 1))
}

# --- Everything is there ---

manual=$(sed 's/\\-/-/g; s/\\://g; s/\\f[BIR]//g' "$directory/autospmv.1")
subcommands=$("$program" --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
[[ -n $subcommands ]] || offend "no subcommand in --help"
for subcommand in $subcommands; do
  grep -qE "^$subcommand( |\$)" <<<"$manual" || offend "the manual page lacks $subcommand"
  grep -qw -- "$subcommand" "$directory/autospmv" || offend "the completion lacks $subcommand"
  for option in $("$program" "$subcommand" --help | grep -oE '(^  | )--[a-z][a-z-]*'); do
    grep -qE -- "^(-[a-z], )?$option( |\$)" <<<"$manual" || offend "the manual page lacks $option"
    grep -qE "^        \*:$subcommand:-\*\) .*[ ']${option}[ ']" "$directory/autospmv" ||
      offend "the completion of $subcommand lacks $option"
  done
done

# --- It is read without a complaint ---

if command -v groff >/dev/null; then
  complaints=$(groff -man -ww -z -Tascii "$directory/autospmv.1" 2>&1)
  [[ -z $complaints ]] || offend "groff: $complaints"
fi
bash -n "$directory/autospmv"

# --- It completes ---

# shellcheck disable=SC1091
source "$directory/autospmv"
compopt() { :; }  # known to bash only while it completes

# expect LINE WORD...: what comes after LINE.
expect() {
  COMP_LINE=$1 COMP_POINT=${#1}
  _autospmv
  [[ ${COMPREPLY[*]-} == "${*:2}" ]] || offend "'$1' is completed to '${COMPREPLY[*]-}', not to '${*:2}'"
}
expect 'autospmv tr' train
expect 'autospmv tune --eff' --effort
expect 'autospmv tune --effort ' cached estimate measure exhaustive online
expect 'autospmv tune --effort=me' measure
expect 'autospmv tune gen:gr' grid2d:
expect 'autospmv tune --json gen:f' fem:
expect 'autospmv tune ma'
expect 'autospmv tune --db '
expect 'autospmv db sh' show
expect 'autospmv db show ma'
expect 'autospmv bench --format csr_sc' csr_scalar
expect 'autospmv bench --effort'

if [[ $offences -gt 0 ]]; then exit 1; fi
echo "$(wc -w <<<"$subcommands") subcommands"

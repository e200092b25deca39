#!/bin/bash
# The same bytes from two builds of the program.
set -u
cd "$(dirname "$0")/.." || exit 1
bad=0
for arguments in "run scenarios/worked-table.yaml" "run scenarios/worked-table.yaml --format csv" \
    "run scenarios/worked-table.yaml --format json --set nodes=13 --sizes 1234567B" \
    "explain scenarios/worked-table.yaml --size 777777B" "run scenarios/crossings.yaml" \
    "list params"; do
    # shellcheck disable=SC2086  # the arguments are meant to split
    cmp <("$1" $arguments 2>&1) <("$2" $arguments 2>&1) || { echo "differs: $arguments"; bad=1; }
done
[ $bad = 0 ] && echo "compilers: the same bytes"
exit $bad

#!/bin/bash
# The parameter section of scenarios/README.md is `gdsim list params`. With UPDATE=1: write it.
set -eu
cd "$(dirname "$0")/.."
page=scenarios/README.md
fresh=$(mktemp)
trap 'rm -f "$fresh"' EXIT
{
    sed '/<!-- params -->/q' $page
    "${GDSIM:-out/bin/gdsim}" list params
    echo
    sed -n '/<!-- \/params -->/,$p' $page
} >"$fresh"
if [ "${UPDATE:-}" = 1 ]; then cp "$fresh" $page; fi
diff -u $page "$fresh" && echo "parameter page: current"

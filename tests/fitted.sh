#!/bin/bash
# scenarios/h200x2/fitted.yaml is what `gdsim calibrate` finds today in the measurements beside it.
# With UPDATE=1: write it.
set -u
cd "$(dirname "$0")/.." || exit 1
: "${GDSIM:=out/bin/gdsim}"
page=scenarios/h200x2/fitted.yaml
fresh=$(mktemp)
trap 'rm -f "$fresh"' EXIT
"$GDSIM" calibrate scenarios/h200x2/calibrate.yaml -o "$fresh" >/dev/null || exit 1
[ "${UPDATE:-}" != 1 ] || cp "$fresh" $page
diff -u $page "$fresh" && echo "fitted values: current" && exit 0
echo "stale: UPDATE=1 tests/fitted.sh writes it, and make validate the README"
exit 1

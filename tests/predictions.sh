#!/bin/bash
# Whatever predicts a run says what `gdsim run` says: overlay, and the middle column of --replicas.
set -u
cd "$(dirname "$0")/.." || exit 1
: "${GDSIM:=out/bin/gdsim}"
bad=0 compared=0
scenario=scenarios/h200x2/runs.yaml
log=scenarios/h200x2/allreduce-ring-LL.log # of the scenario's collective, but no data set of this name
sizes=(8 65536 1048576 16777216)
work=$(mktemp -d)
cp "$log" "$work/ring.log"
# column FILE NAME: one column of CSV, for each of the sizes, without what only rounding differs in.
column() {
    awk -F, -v name="$2" -v wanted=" ${sizes[*]} " '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; size = at["size_B"] + at["size_bytes"]; next }
        index(wanted, " " $size " ") { printf "%d %.6g\n", $size, $at[name] }' "$1"
}
# compare OPTIONS...: the three commands with the same options.
compare() {
    local list
    list=$(IFS=,; echo "${sizes[*]/%/ B}")
    "$GDSIM" run $scenario --sizes "$list" --format csv "$@" >"$work/run" &&
        "$GDSIM" run $scenario --sizes "$list" --format csv --replicas 2 "$@" >"$work/replicas" &&
        "$GDSIM" overlay $scenario --data "$work/ring.log" --format csv "$@" >"$work/overlay" ||
        { echo "cannot run with $*"; bad=1; return; }
    column "$work/run" time_us >"$work/a"
    column "$work/replicas" time_us >"$work/b"
    column "$work/overlay" predicted_us >"$work/c"
    [ "$(wc -l <"$work/a")" = ${#sizes[@]} ] || { echo "run: not ${#sizes[@]} sizes"; bad=1; }
    for other in b c; do
        cmp -s "$work/a" "$work/$other" && compared=$((compared + 1)) && continue
        echo "with $*: run, and what another command predicts:"
        paste "$work/a" "$work/$other"
        bad=1
    done
}
compare
compare --set engine.channels=0
compare --set engine.protocol=auto --set engine.channels=0
compare --set engine.protocol=auto -A nccl_tree
compare --set engine.protocol=none --set engine.channels=0 --walk queue
rm -rf "$work"
[ $bad = 0 ] && echo "predictions: $compared comparisons, all commands agree"
exit $bad

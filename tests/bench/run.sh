#!/bin/bash
# Costs of typical runs: instructions (callgrind, repeatable), wall seconds (for the eye only), peak
# memory. Written to out/bench.csv, one row a case.
set -u
cd "$(dirname "$0")/../.." || exit 1
GDSIM=${GDSIM:-out/bin/gdsim}
mkdir -p out
csv=out/bench.csv
echo "case,instructions,seconds,peak_KiB" >$csv
measure() { # NAME ARGUMENTS...
    local name=$1 instructions numbers
    shift
    instructions=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null "$GDSIM" "$@" 2>&1 >/dev/null |
        sed -n 's/.*Collected : //p')
    # The best of five: the machine's noise only ever adds.
    numbers=$(for _ in 1 2 3 4 5; do
        { command time -f '%e %M' "$GDSIM" "$@" >/dev/null; } 2>&1
    done | sort -n | head -n 1)
    echo "$name,$instructions,${numbers% *},${numbers#* }" >>$csv
}
measure start-up list mechanisms
measure worked-table run scenarios/worked-table.yaml
measure ring-64-staged run scenarios/worked-table.yaml --set nodes=64 -m staged -a pipelined
measure ring-1024-gdr run scenarios/worked-table.yaml --set nodes=1024 -m gdr -a pipelined
column -s, -t $csv

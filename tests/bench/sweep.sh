#!/bin/bash
# What a point of a sweep costs: instructions (callgrind: repeatable, and guarded), points a second on
# one and on two threads, and their ratio (for the eye: a busy machine halves them). Written to
# out/bench-sweep.csv. Exit code 1 when a guard is passed.
set -u
cd "$(dirname "$0")/../.." || exit 1
GDSIM=${GDSIM:-out/bin/gdsim}
csv=out/bench-sweep.csv
bad=0
mkdir -p out
echo "case,points,instructions_per_point,guard,points_per_s_1,points_per_s_2,speed_up" >$csv
collected() { # ARGUMENTS...
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$GDSIM" sweep "$@" -j 1 -o out/bench-sweep.tmp.csv \
        --restart --quiet 2>&1 | sed -n 's/.*Collected : //p'
}
seconds() { # THREADS ARGUMENTS...: the best of five, each to a new file: to remove an old one of 180 MB takes 0.15 s
    local threads=$1
    shift
    for _ in 1 2 3 4 5; do
        rm -f out/bench-sweep.tmp.csv
        { command time -f %e "$GDSIM" sweep "$@" -j "$threads" -o out/bench-sweep.tmp.csv --restart --quiet; } 2>&1
    done | sort -n | head -n 1
}
# NAME GUARD SMALL LARGE POINTS ARGUMENTS...: two axes that differ only in their number of points, so that
# the start is not counted; then the bar with as many points as take about a second.
bar() {
    local name=$1 guard=$2 small=$3 large=$4 extra=$5
    shift 5
    local a b n
    a=$(collected "$@" -x "$small")
    n=$(($(wc -l <out/bench-sweep.tmp.csv) - 2))
    b=$(collected "$@" -x "$large")
    n=$(($(wc -l <out/bench-sweep.tmp.csv) - 2 - n))
    local each=$(((b - a) / n)) one two points
    one=$(seconds 1 "$@" -x "$extra")
    two=$(seconds 2 "$@" -x "$extra")
    points=$(($(wc -l <out/bench-sweep.tmp.csv) - 2))
    awk -v name="$name" -v n=$points -v each=$each -v guard="$guard" -v one="$one" -v two="$two" 'BEGIN {
        printf "%s,%d,%d,%d,%.0f,%.0f,%.2f\n", name, n, each, guard, n / one, n / two, one / two }' >>$csv
    if [ $each -gt "$guard" ]; then
        echo "bench: $name takes $each instructions a point, more than $guard"
        bad=1
    fi
}
worked=scenarios/worked-table.yaml
# Sizes inside, machines outside: what most grids look like.
bar serial 18000 'size=1 MB:50 MB:+1 MB' 'size=1 MB:150 MB:+1 MB' 'size=1 MB:100 MB:+0.005 MB' $worked -a serial \
    -x 'rate=10 GB/s:50 GB/s:+10 GB/s' -x 'software.step_handoff=0 us:9 us:+3 us'
# Every point another machine: nothing is shared but the plan.
bar serial-machines 55000 'rate=10 GB/s:20 GB/s:+0.2 GB/s' 'rate=10 GB/s:50 GB/s:+0.2 GB/s' \
    'rate=10 GB/s:90 GB/s:+0.004 GB/s' $worked -a serial -S '1 MB'
bar pipelined 240000 'size=1 MB:10 MB:+1 MB' 'size=1 MB:30 MB:+1 MB' 'size=1 MB:20 MB:+0.01 MB' $worked -a pipelined \
    -x 'rate=10 GB/s:50 GB/s:+20 GB/s' -x 'software.step_handoff=0 us:9 us:+9 us'
rm -f out/bench-sweep.tmp.csv
column -s, -t $csv
exit $bad

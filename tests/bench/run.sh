#!/bin/bash
# What runs cost: instructions (callgrind, repeatable), seconds of CPU (for the eye only: other
# programs use the same caches), peak memory, and how each stands to its bar. Written to
# out/bench.csv, one row a case. Fails only where a hot path takes more instructions than it may.
#   tests/bench/run.sh [NAME...]   only cases whose name begins so
set -u
cd "$(dirname "$0")/../.." || exit 1
GDSIM=${GDSIM:-out/bin/gdsim}
TABLE=scenarios/worked-table.yaml
ODD=scenarios/one-odd-host.yaml
mkdir -p out
csv=out/bench.csv
wanted=("$@")
worse=0
echo "case,instructions,cpu_s,peak_KiB,bar,ratio" >$csv

is_wanted() {
    [ ${#wanted[@]} -eq 0 ] && return 0
    for prefix in "${wanted[@]}"; do [[ $1 == "$prefix"* ]] && return 0; done
    return 1
}
counted() { # ARGUMENTS...: instructions
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$GDSIM" "$@" 2>&1 >/dev/null |
        sed -n 's/.*Collected : //p'
}
timed() { # TIMES ARGUMENTS...: "seconds KiB" of the best; the machine's noise only ever adds
    local times=$1
    shift
    for _ in $(seq "$times"); do
        { command time -f '%U %M' "$GDSIM" "$@" >out/bench.out; } 2>&1 | tail -n 1
    done | sort -n | head -n 1
}
over() { awk -v a="$1" -v b="$2" 'BEGIN { if (b > 0) printf "%.3g", a / b }'; }
row() { # NAME INSTRUCTIONS "SECONDS KiB" BAR VALUE-TO-BAR
    echo "$1,$2,${3% *},${3#* },$4,$(over "$5" "${4%% *}")" >>$csv
}
# A run against a bar in seconds of CPU. LONG: too long to count its instructions.
seconds() { # NAME BAR long|short ARGUMENTS...
    local name=$1 bar=$2 length=$3 cost instructions=
    shift 3
    is_wanted "$name" || return 0
    if [ "$length" = short ]; then
        instructions=$(counted "$@")
        cost=$(timed 5 "$@")
    else
        cost=$(timed 1 "$@")
    fi
    row "$name" "$instructions" "$cost" "$bar s" "${cost% *}"
}
# A run that may not take more instructions than so many.
guard() { # NAME LIMIT ARGUMENTS...
    local name=$1 limit=$2 instructions
    shift 2
    is_wanted "$name" || return 0
    instructions=$(counted "$@")
    row "$name" "$instructions" "$(timed 3 "$@")" "$limit instructions" "$instructions"
    [ "$instructions" -le "$limit" ] && return 0
    echo "bench: $name takes $instructions instructions, more than $limit"
    worse=1
}
# Instructions for each stage of a slice, against those of the ring.
per_stage() { # NAME ARGUMENTS...
    local name=$1 instructions stages each
    shift
    is_wanted stage || return 0
    instructions=$(counted "$@" -w queue)
    stages=$("$GDSIM" "$@" -w queue --stats 2>&1 >out/bench.out | sed -n 's/.* \([0-9]*\) stages.*/\1/p')
    each=$(over "$instructions" "$stages")
    [ "$name" = stage-ring ] && ring_stage=$each
    row "$name" "$each" " " "3 times the ring's" "$(over "$each" "$ring_stage")"
}
# Two runs, the second against so many times the first; both without what a start costs.
against() { # NAME BAR FIRST SECOND START (arguments, in one word each)
    local name=$1 bar=$2 first second start
    is_wanted "$name" || return 0
    # shellcheck disable=SC2086  # several arguments
    first=$(counted $3) second=$(counted $4) start=$(counted $5)
    row "$name" "$second" "$(timed 3 $4)" "$bar times" "$(over $((second - start)) $((first - start)))"
}

ten_times() { # ARGUMENTS...: seconds of CPU of ten runs
    local TIMEFORMAT='%U %S'
    { time for _ in 1 2 3 4 5 6 7 8 9 10; do "$GDSIM" "$@" >out/bench.out; done; } 2>&1 |
        awk '{ print $1 + $2 }'
}
# One node of many that differs, against all alike: seconds of whole runs, since an instruction of
# vectors does more than others.
odd() { # NAME ODD ARGUMENTS...
    local name=$1 odd="odd={a: $2}" alike differs
    shift 2
    is_wanted "$name" || return 0
    alike=$(ten_times run $ODD "$@" --set odd={}) differs=$(ten_times run $ODD "$@" --set "$odd")
    row "$name" "$(counted run $ODD "$@" --set "$odd")" "$(timed 1 run $ODD "$@" --set "$odd")" \
        "20 times" "$(over "$differs" "$alike")"
}

ring="run $TABLE -a pipelined -m gdr"
# Start-up.
seconds start-up-list 0.02 short list mechanisms
seconds start-up-worked-table 0.02 short run $TABLE
# Every transfer, through the queue and without.
seconds queue-ring-4096 8 long $ring --set nodes=4096 -S 1GiB -w queue
seconds order-ring-4096 0.5 long $ring --set nodes=4096 -S 1GiB -w order
per_stage stage-ring $ring --set nodes=256 -S 64MiB
per_stage stage-ring-staged run $TABLE -a pipelined -m staged --set nodes=256 -S 64MiB
per_stage stage-tree run $TABLE -a pipelined -m gdr -A double_tree --set nodes=1024 -S 16MiB
per_stage stage-hierarchical run tests/bench/rails.yaml -a pipelined -A hierarchical --set nodes=32 -S 64MiB
# With shortcuts.
seconds auto-ring-65536 0.02 short $ring --set nodes=65536 -S 1GiB
seconds auto-ring-staged-65536 0.02 short run $TABLE -a pipelined -m staged --set nodes=65536 -S 1GiB
seconds auto-sharp-65536 0.02 short run $TABLE -a pipelined -m sharp --set nodes=65536 -S 1GiB
seconds auto-doubling-65536 0.02 short $ring -A recursive_doubling --set nodes=65536 -S 1MiB
seconds auto-hierarchical-1048576 1 short run tests/bench/rails.yaml -a pipelined -A hierarchical --set nodes=131072 -S 4MiB
seconds auto-hierarchical-1048576-1GiB 1 short run tests/bench/rails.yaml -a pipelined -A hierarchical --set nodes=131072 -S 1GiB
seconds auto-hierarchical-1048576-1TB 1 short run tests/bench/rails.yaml -a pipelined -A hierarchical --set nodes=131072 -S 1TB
seconds auto-ring-65536-1TB 0.02 short $ring --set nodes=65536 -S 1TB
seconds auto-tree-4096 8 long $ring -A double_tree --set nodes=4096 -S 1GiB
# One node of 1024 that differs.
acs='{nodes: 17, links: {sw0-nic0: {acs: RR+CR}}}'
slow='{nodes: 17, devices: {nic0: {rate: 100 Gb/s}}}'
odd odd-ring-serial-acs "$acs" -a serial -S 1GiB
odd odd-ring-serial-slow-nic "$slow" -a serial -S 1GiB
odd odd-ring-slow-nic "$slow" -S 8MB
odd odd-ring-slow-nic-1GiB "$slow" -S 1GiB
odd odd-ring-acs "$acs" -S 8MB
odd odd-ring-acs-1GiB "$acs" -S 1GiB
odd odd-ring-no-peermem '{nodes: 17, state: {peermem: no}}' -S 8MB
odd odd-ring-staged-acs "$acs" -m staged -S 1GiB
odd odd-doubling-acs "$acs" -A recursive_doubling -S 8MB
odd odd-halving-acs "$acs" -A halving_doubling -S 8MB
odd odd-nccl_tree-acs "$acs" -A nccl_tree -S 8MB
odd odd-double_tree-acs "$acs" -A double_tree -S 8MB
ODD=tests/bench/rails.yaml odd odd-hierarchical-8192 "$acs" -a pipelined -A hierarchical --set nodes=1024 -S 8MB
ODD=tests/bench/rails.yaml odd odd-hierarchical-8192-1GiB "$acs" -a pipelined -A hierarchical --set nodes=1024 -S 1GiB
# Whole runs: 16 GiB against 16 MiB.
against size-ring-64 1.5 "$ring --set nodes=64 -S 16MiB" "$ring --set nodes=64 -S 16GiB" "list mechanisms"
# The three hottest paths: the queue, the vectors, one element.
guard guard-queue 275000000 $ring --set nodes=256 -S 64MiB -w queue
guard guard-order 115000000 $ring --set nodes=1024 -S 256MiB -w order
guard guard-sweep 180000000 sweep $TABLE -a serial -m gdr -x nodes=8 -x 'rate=1 GB/s:200 GB/s:+0.05 GB/s' -S 1MB -o out/bench.sweep.csv --restart --quiet
sed 's/,/ ,/g' $csv | column -s, -t
exit $worse

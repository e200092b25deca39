#!/bin/bash
# gdprobe watch against the pretended libraries, with fresh counters; what differs from run to run
# (times, the host's own counters) is left out of the report.
state=$(mktemp)
GDPROBE_FAKE_STATE=$state "$GDPROBE" watch --lib-dir "$FAKE" --baseline 0.01 --no-perf "$@" 2>&1 |
    grep -vE '^  (host|command|net|[a-z0-9]+ +interrupts)|s in all|^  DRAM|^gdprobe watch|^$|^vm:|^#|^  +[0-9]' |
    sed 's/longest [0-9]* ms/longest N ms/; s/of [0-9]* gaps/of N gaps/; s/ *$//'
rm -f "$state"

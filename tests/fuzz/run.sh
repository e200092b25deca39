#!/bin/bash
# Run the libFuzzer targets given, each for FUZZ_SECONDS, on a corpus of the project's own files.
# FUZZ_SEED makes a run repeatable as far as a time limit allows; without it each run is another.
set -u
cd "$(dirname "$0")/../.." || exit 1
bad=0
for target in "$@"; do
    name=$(basename "$target")
    corpus=out/fuzz/$name
    mkdir -p "$corpus"
    case $name in
    fuzz_script) cp lua/*.lua tests/bad-algorithms/*.lua "$corpus" ;;
    fuzz_import) # the first byte chooses the format
        for file in tests/data/h200x2/* tests/data/dgx-like-* tests/data/facts.yaml; do
            for format in 0 1 2 3; do
                { printf '%b' "\\x0$format"; cat "$file"; } >"$corpus/$format-$(basename "$file")"
            done
        done
        ;;
    fuzz_probe) # pieces of described machines, divided by bytes of value 0xFF
        for tree in good vm-width-0 two-sockets not-root; do
            tests/sysroot.sh $tree
            for file in out/sysroot/$tree/sys/bus/pci/devices/*/config; do
                { printf '\0'; cat "$file"; } >"$corpus/$tree-${file//\//-}"
            done
            {
                printf '\1'
                for file in gdprobe/driver sys/bus/pci/devices/*/config etc/cufile.json proc/cpuinfo \
                    proc/modules proc/self/mounts sys/bus/pci/devices/*/resource; do
                    for path in out/sysroot/$tree/$file; do [ -f "$path" ] && head -c 600 "$path"; printf '\xff'; done
                done
            } | head -c 4000 >"$corpus/$tree"
        done
        ;;
    fuzz_observe)
        for file in tests/data/h200x2/* scenarios/h200x2/*; do
            for format in 0 1 2 3 4 5 6 7 8; do
                { printf '%b' "\\x0$format"; head -c 4000 "$file"; } \
                    >"$corpus/$format-$(basename "$file")"
            done
        done
        ;;
    fuzz_scenario) # what stands behind a byte of value 0xFF is laid on the file, as by --set
        cp scenarios/*.yaml models/catalog/*.yaml tests/data/*.yaml "$corpus"
        for file in scenarios/*.yaml tests/data/downgraded.yaml; do
            { head -c 3000 "$file"; printf '\xffnode.links.*.gen=3\nnode.devices.nic?.rate=1 GB/s\nnode.links={}\n'; } \
                >"$corpus/set-$(basename "$file")"
        done
        ;;
    *) cp scenarios/*.yaml models/catalog/*.yaml tests/data/*.yaml "$corpus" ;;
    esac
    # A script may use all its instructions: that is slow, not stuck.
    if "$target" -max_total_time="${FUZZ_SECONDS:-30}" -seed="${FUZZ_SEED:-0}" -timeout=60 -rss_limit_mb=2048 \
        -max_len=4096 -artifact_prefix="out/fuzz/$name-" "$corpus" >"out/fuzz/$name.log" 2>&1; then
        echo "$name: $(grep -oE 'Done [0-9]+ runs' "out/fuzz/$name.log" | tail -n 1), no fault"
    else
        grep "INFO: Seed" "out/fuzz/$name.log"
        tail -n 40 "out/fuzz/$name.log"
        bad=1
    fi
done
exit $bad

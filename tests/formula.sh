#!/bin/bash
# The engine beside NCCL's own formula: time in the engine over the formula's, the least and the most
# over some sizes, for allreduce on nodes of 8 GPUs with 8 NICs; what is out of its bounds is marked.
# The bounds say how well the two agree, not which of them is right: models/README.md.
set -u
cd "$(dirname "$0")/.." || exit 1
: "${GDSIM:=out/bin/gdsim}"
export GDSIM
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

row() { # MACHINE NODES ALGORITHM PROTOCOL SIZES LOW HIGH
    "$GDSIM" nccl "$dir/$1.yaml" --set nodes="$2" --algo "$3" --proto "$4" --sizes "$5" -f csv |
        awk -F, -v where="$1 $2 $3 $4" -v low="$6" -v high="$7" '
            NR > 1 && $5 > 0 { q = $6 / $5; n++; if (n == 1 || q < a) a = q; if (q > b) b = q }
            END { split(where, w, " ")
                  bad = n == 0 || a < low || b > high
                  printf "%-9s %5d  %-9s %-7s %4.2f to %4.2f%s\n", w[1], w[2], w[3], w[4], a, b,
                      bad ? "  OUT OF " low " to " high : "" }'
}
export -f row
export dir
for machine in b200 dgx-h100; do
    printf '%s\n' "extends: $machine" "algorithm: rings" "mechanisms: [gdr]" "sizes: [1 MiB]" \
        "engine: {protocol: auto}" >"$dir/$machine.yaml"
done
echo "machine   nodes  algorithm by      engine over formula"
while read -r machine nodes algorithm protocol sizes low high; do
    printf '%s\0' $machine "$nodes" "$algorithm" "$protocol" "${sizes//,/ KiB,} KiB" "$low" "$high"
done <<'ROWS' | xargs -0 -n 7 bash -c 'row "$@"' row
b200 2 ring ll 64,1024,4096 0.85 1.2
b200 8 ring ll 64,1024,4096 0.85 1.2
b200 2 ring ll128 64,1024,16384,65536 0.7 1.1
b200 8 ring ll128 64,1024,16384,65536 0.65 1.1
b200 2 ring simple 64,1024,16384,65536 0.6 1
b200 8 ring simple 64,1024,16384,65536 0.6 1
b200 2 tree ll 64,1024,4096 0.4 1.1
b200 8 tree ll 64,1024,4096 0.8 1.4
b200 2 tree ll128 64,1024,4096,16384,65536 0.95 1.2
b200 8 tree ll128 64,1024,4096,16384,65536 1 1.5
b200 2 tree simple 64,1024,16384,65536 0.9 1.4
b200 8 tree simple 64,1024,16384,65536 0.9 1.4
b200 1 nvls simple 64,1024,16384,262144 0.85 1.2
b200 2 nvlstree simple 64,1024,16384,262144 0.9 1.2
b200 8 nvlstree simple 64,1024,16384,65536 0.9 1.3
dgx-h100 2 ring ll 64,1024,4096 0.85 1.7
dgx-h100 2 ring ll128 64,1024,16384,65536 0.75 1.1
dgx-h100 2 tree ll128 64,1024,4096,16384,65536 0.95 1.2
dgx-h100 2 tree simple 64,1024,16384,65536 0.9 1.4
dgx-h100 2 nvlstree simple 64,1024,16384,262144 0.9 1.3
dgx-h100 8 nvlstree simple 64,1024,16384,65536 0.9 1.3
ROWS

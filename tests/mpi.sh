#!/bin/bash
# gdsim sweep under mpirun: the bytes of two ranks are those of one, also when a rank was killed and
# the sweep resumed.
set -u
cd "$(dirname "$0")/.." || exit 1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fail() { echo "FAILED $*"; exit 1; }
ranks() { local n=$1; shift; mpirun --oversubscribe -n "$n" "$MPI_GDSIM" sweep "$@" --quiet; }
job=(scenarios/worked-table.yaml -a pipelined -x 'nodes=65,2:17:+1' -x 'rate=10 GB/s:80 GB/s:x1.1'
    -x 'algorithm=ring,recursive_doubling' -m gdr -S '4 MB,16 MB' -j 1)
"$GDSIM" sweep "${job[@]}" -o "$dir/one" --quiet || fail "one process"
for n in 1 2 3; do
    ranks $n "${job[@]}" -o "$dir/ranks.$n" || fail "$n ranks"
    cmp "$dir/one" "$dir/ranks.$n" || fail "$n ranks: other bytes"
done
# Kill the second rank once rows are on disk; mpirun then ends the first.
ranks 2 "${job[@]}" -o "$dir/killed" >"$dir/log" 2>&1 &
launcher=$!
for _ in $(seq 200); do
    [ "$(cat "$dir"/killed.part "$dir"/killed.journal 2>/dev/null | wc -l)" -gt 20 ] && break
    sleep 0.02
done
# Of the two ranks, descendants of the launcher, the younger.
mapfile -t found < <(pgrep -f -- "-o $dir/killed --quiet" | while read -r pid; do
    [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = gdsim ] && echo "$pid"; done)
[ ${#found[@]} -eq 2 ] && kill -9 "${found[1]}"
wait $launcher && echo "note: the sweep ended before the rank was killed"
if [ -e "$dir/killed.part" ]; then
    rows=$(grep -c '"ok"' "$dir/killed.part")
    ranks 2 "${job[@]}" -o "$dir/killed" --resume || fail "--resume after a rank was killed"
fi
cmp "$dir/one" "$dir/killed" || fail "resumed: other bytes"
ranks 2 scenarios/worked-table.yaml -x nodez=1 -o "$dir/wrong" >"$dir/log" 2>&1 && fail "a wrong key"
[ "$(grep -c 'unknown key' "$dir/log")" = 1 ] || fail "a mistake is told once"
echo "mpi: one, two and three ranks give the same bytes; so does a rank killed (${rows:-all} rows in order were there)"

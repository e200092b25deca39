#!/bin/bash
# gdsim sweep: the same bytes for any number of threads and shards, killed and resumed or not, with
# shortcuts or --plain. The seed of what is random is printed on failure; SEED=N repeats it.
set -u
cd "$(dirname "$0")/.." || exit 1
GDSIM=$(realpath "${GDSIM:-out/bin/gdsim}")
SEED=${SEED:-$((RANDOM * 32768 + RANDOM))}
RANDOM=$SEED
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
checks=0
fail() { echo "FAILED $* (SEED=$SEED)"; exit 1; }
sweep() { "$GDSIM" sweep "$@" --quiet; }
same() { # WHAT FILE FILE
    checks=$((checks + 1))
    cmp "$2" "$3" >"$dir/cmp" 2>&1 || { cat "$dir/cmp"; diff <(tr , '\n' <"$2") <(tr , '\n' <"$3") | head -8; fail "$1"; }
}

# ---- threads, shards, standard output, resuming what is finished --------------------------------
job=(scenarios/worked-table.yaml -x nodes=1,2,3,8 -x 'rate=10 GB/s:80 GB/s:x1.5'
    -x state.peermem=yes,no -x accounting=serial,pipelined -S '1 MB,3 MB')
for format in csv json; do
    one=$dir/one.$format
    sweep "${job[@]}" -f $format -j 1 -o "$one" || fail "-j 1"
    sweep "${job[@]}" -f $format -j 5 -o "$dir/five" || fail "-j 5"
    same "$format: five threads" "$one" "$dir/five"
    sweep "${job[@]}" -f $format -o - >"$dir/stdout" || fail "-o -"
    same "$format: to standard output" "$one" "$dir/stdout"
    shards=()
    for i in 3 1 4 2; do
        sweep "${job[@]}" -f $format --shard $i/4 -o "$dir/shard.$i" || fail "--shard $i/4"
        shards+=("$dir/shard.$i")
    done
    "$GDSIM" merge "${shards[@]}" -o "$dir/merged" >"$dir/out" || fail "merge"
    same "$format: four shards" "$one" "$dir/merged"
    sweep "${job[@]}" -f $format -o "$one" --resume || fail "--resume of a finished sweep"
done
"$GDSIM" merge "$dir/shard.1" "$dir/shard.4" -o "$dir/merged" 2>"$dir/out" && fail "merge of two of four"
grep -q 'of 4 shards these are missing: 2-3' "$dir/out" || fail "merge names what is missing"
head -n 20 "$dir/shard.2" >"$dir/half"
"$GDSIM" merge "$dir/half" "$dir/shard.1" "$dir/shard.3" "$dir/shard.4" -o "$dir/merged" 2>"$dir/out" &&
    fail "merge of half a shard"
grep -q 'not complete: .*half' "$dir/out" || fail "merge names what is not complete"

# ---- kill -9 at any moment, then --resume --------------------------------------------------------
# The first points are slow, so that those after them wait, in memory and then in the journal.
job=(scenarios/worked-table.yaml -a pipelined -x 'nodes=65,2:17:+1' -x 'rate=10 GB/s:80 GB/s:x1.1'
    -x 'algorithm=recursive_doubling' -m gdr -S '4 MB')
for format in csv json; do
    sweep "${job[@]}" -f $format -o "$dir/whole" || fail "to be killed"
    rm -f "$dir/killed"
    killed=0 resume=
    for _ in $(seq 12); do
        # shellcheck disable=SC2086  # no option at first
        "$GDSIM" sweep "${job[@]}" -f $format -j 3 -o "$dir/killed" --quiet $resume &
        pid=$!
        sleep "0.0$((RANDOM % 60 + 10))"
        kill -9 $pid 2>"$dir/out" && killed=$((killed + 1))
        wait $pid 2>"$dir/out"
        [ -e "$dir/killed" ] && break
        # Sometimes the last write was cut as well.
        if [ $((RANDOM % 3)) = 0 ] && [ -s "$dir/killed.part" ]; then
            truncate -s "-$((RANDOM % 50))" "$dir/killed.part"
        fi
        resume=--resume
    done
    sweep "${job[@]}" -f $format -o "$dir/killed" --resume || fail "--resume"
    same "$format: killed $killed times" "$dir/whole" "$dir/killed"
done
head -c 5000 "$dir/whole" >"$dir/killed.part"
sweep "${job[@]}" -f json -o "$dir/killed" 2>"$dir/out" && fail "a killed sweep is not overwritten"
grep -q -- --restart "$dir/out" || fail "what to do about a killed sweep"
sweep "${job[@]}" -f json -a serial -o "$dir/killed" --resume 2>"$dir/out" && fail "--resume of another sweep"
grep -q 'is not of this sweep' "$dir/out" || fail "another sweep is named"
sweep "${job[@]}" -f json -o "$dir/killed" --restart || fail "--restart"
same "--restart" "$dir/whole" "$dir/killed"

# ---- shortcuts against --plain on random axes ----------------------------------------------------
axes=('nodes=1,2,3,5,8' 'rate=12.5 GB/s,25 GB/s,50 GB/s' 'state.peermem=yes,no'
    'state.iommu=off,translating' 'state.vm=yes,no' 'state.acs_outcome=slow,refused,hang'
    'node.links.*.acs=none,RR+CR,SV+TB' 'node.links.*.gen=3,4,5' 'node.links.*.width=1:16:x4'
    'node.links.*.duplex=0.5,1' 'node.links.*.latency=0 us,0.2 us' 'node.devices.*.latency=0 us,1 us'
    'node.devices.cpu*.dram_rate=20 GB/s,unlimited' 'node.devices.cpu*.peer_read=5 GB/s,unlimited'
    'node.devices.nic*.reads=0,16,64' 'node.devices.nic*.relaxed_ordering=yes,no'
    'node.devices.cpu*.strict_order=0.5,1' 'node.devices.gpu*.bar1=64 MiB,128 GB'
    'node.devices.gpu*.channel_rate=2 GB/s,20 GB/s' 'state.registered=yes,no'
    'state.gdr_level=pix,phb,sys' 'state.p2p_level=nvl,sys' 'software.step_handoff=0 us,6 us'
    'software.copy_blocking=yes,no' 'engine.slice=64 KiB,512 KiB' 'engine.window=1,8'
    'fabric.kind=one_switch,leaf_spine,rail' 'fabric.nodes_per_leaf=2' 'fabric.routing=best,hashed,worst'
    'fabric.hop_latency=0 us,1 us' 'mechanism=gdr,staged,sharp,host,socket,async,pageable'
    'algorithm=ring,recursive_doubling,halving_doubling,sharp,binomial' 'accounting=serial,pipelined'
    'size=8 B,1 KiB,1 MB,3 MB' 'protocol=none,ll,ll128,simple'
    'engine.channels=0,4' 'sharp.mode=llt,sat,auto' 'sharp.trees=1,63' 'sharp.others=0,600'
    'extends=pcie4-hdr-node,one-h100-ndr' 'node.devices.gpu0.type=gpu')
ranges=('software.step_handoff=0 us:9 us' 'rate=1 GB/s:99 GB/s:log' 'nodes=1:9'
    'node.devices.cpu*.dram_rate=1 GB/s:50 GB/s' 'node.devices.*.latency=1 ns:1 ms:log' 'size=8 B:1 MB:log')
for _ in $(seq "${ROUNDS:-12}"); do
    job=(scenarios/worked-table.yaml -S '8 B,2 MB')
    for _ in 1 2 3; do job+=(-x "${axes[RANDOM % ${#axes[@]}]}"); done
    case $((RANDOM % 3)) in
    0) job+=(--lhs 4 --seed $((RANDOM % 9)) -x "${ranges[RANDOM % ${#ranges[@]}]}") ;;
    1) job+=(--sobol 4 -x "${ranges[RANDOM % ${#ranges[@]}]}") ;;
    esac
    sweep "${job[@]}" -o "$dir/fast" || fail "${job[*]}"
    sweep "${job[@]}" -o "$dir/plain" --plain || fail "${job[*]} --plain"
    same "shortcuts: ${job[*]}" "$dir/plain" "$dir/fast"
done
echo "sweep: $checks comparisons are the same"

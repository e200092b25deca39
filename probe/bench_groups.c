/* bench_groups.c: the table of groups, in the order in which they run. */
#include "probe/bench.h"

const struct bench_group bench_groups[] = {
    {"host", "the host's own memcpy", BENCH_HOST, bench_host},
    {"latency", "launches, events, flags, stream memory operations", BENCH_EACH_GPU, bench_latency},
    {"copies", "copy engine between one GPU and the host: pinned, pageable, both ways",
     BENCH_EACH_GPU, bench_copies},
    {"kernels", "SM loads and stores to host memory, and the reduction", BENCH_EACH_GPU,
     bench_kernels},
    {"together", "all GPUs and the host at once", BENCH_ALL_GPUS, bench_together},
    {"pair", "GPU to GPU: staged, without and with peer access, by the SMs", BENCH_EACH_PAIR,
     bench_pair},
    {"gdrcopy", "the CPU into a GPU's memory and back, through BAR1 (where gdrdrv is)",
     BENCH_ONE_GPU, bench_gdrcopy},
    {"rdma", "each RDMA NIC writes to itself, host and GPU memory (where verbs are)", BENCH_ONE_GPU,
     bench_rdma},
    {"storage", "a file into host memory, into a GPU, and by cuFile (where libcufile is)",
     BENCH_ONE_GPU, bench_storage},
    {"compat", "cuFile told to take its compatible mode", BENCH_ONE_GPU, bench_storage_compatible},
};
const size_t bench_group_count = sizeof bench_groups / sizeof bench_groups[0];

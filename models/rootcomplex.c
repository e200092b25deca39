/* rootcomplex.c: the table of root complexes. Meaning and sources in rootcomplex.h. */
#include "models/rootcomplex.h"

#include <math.h>
#include <string.h>

#define UNKNOWN ((double)NAN)

/* Strict order: any CPU that nobody measured; and openucx/ucx issue 8062 says EPYC, not which, so
 * that its 0.75 may hold for any of them. */
#define ANY                                                                                        \
    {                                                                                              \
        0.4, 1.0                                                                                   \
    }
#define EPYC                                                                                       \
    {                                                                                              \
        0.75, 1.0                                                                                  \
    }

/* clang-format off: a table, numbers above each other */
const struct rootcomplex rootcomplex_table[] = {
    /* name, family, model; peer write, read, cross sockets; inter-socket; strict order; source */
    {"haswell", 6, 63, 8.17e9, UNKNOWN, UNKNOWN, 6e9, ANY,
     "peer: ROCmValidationSuite issue 427 (Gen3); sockets: NCCL"},
    {"broadwell", 6, 79, UNKNOWN, UNKNOWN, UNKNOWN, 6e9, ANY, "sockets: NCCL"},
    {"skylake", 6, 85, UNKNOWN, UNKNOWN, UNKNOWN, 10e9, ANY,
     "sockets: NCCL; Cascade Lake has the same model number"},
    {"ice-lake", 6, 106, UNKNOWN, UNKNOWN, UNKNOWN, 10e9, ANY,
     "sockets: NCCL; no peer ceiling is published"},
    {"sapphire-rapids", 6, 143, 20e9, UNKNOWN, UNKNOWN, 22e9, ANY,
     "peer: tinygrad/open-gpu-kernel-modules issue 26 (Gen4 GPUs); sockets: NCCL"},
    {"emerald-rapids",
     6,
     207,
     20e9,
     UNKNOWN,
     UNKNOWN,
     40e9,
     {0.4, 0.4},
     "peer: tinygrad/open-gpu-kernel-modules issue 26 (Gen4 GPUs); sockets: NCCL; "
     "order: openucx/ucx issue 10955, 16 of more than 40 GB/s"},
    {"intel-client", 6, 0, UNKNOWN, 0, UNKNOWN, UNKNOWN, ANY,
     "NVIDIA/open-gpu-kernel-modules issue 1253: passes peer writes, fails peer reads"},
    {"naples", 23, 1, 7.06e9, UNKNOWN, UNKNOWN, 16e9, EPYC,
     "peer: ROCmValidationSuite issue 427 (EPYC 7261, Gen3); sockets: NCCL"},
    {"rome", 23, 49, 25e9, UNKNOWN, 20e9, 16e9, EPYC,
     "peer: NVIDIA/nccl-tests issue 74, half of 50 and 40 both ways (EPYC 7302, Gen4, "
     "link-bound); sockets: NCCL"},
    {"milan", 25, 1, UNKNOWN, UNKNOWN, UNKNOWN, 16e9, EPYC, "sockets: NCCL"},
    {"genoa", 25, 17, 54e9, UNKNOWN, 39e9, 16e9, EPYC,
     "peer: local-inference-lab/rtx6kpro, hardware/pcie-bandwidth.md (EPYC 9374F, Gen5, "
     "link-bound); sockets: NCCL"},
    {"turin",
     26,
     2,
     55.5e9,
     UNKNOWN,
     51e9,
     32e9,
     {0.98, 0.98},
     "peer: local-inference-lab/rtx6kpro, hardware/pcie-bandwidth.md (Gen5, link-bound; from one "
     "switch's uplink to another's only 38, EPYC 9575F); sockets: NVIDIA/nccl pull request 2113; "
     "order: mghpcc/aicr-benchmarks, 44.02 of 44.94 GB/s, both ways, host memory"},
    {"epyc",
     0,
     0,
     UNKNOWN,
     UNKNOWN,
     UNKNOWN,
     16e9,
     {0.75, 0.75},
     "generation not stated; order: openucx/ucx issue 8062, 150 of 200 Gb/s; sockets: NCCL"},
    {"threadripper-wrx90", 25, 24, 52.5e9, 53.4e9, UNKNOWN, UNKNOWN, ANY,
     "local-inference-lab/rtx6kpro, hardware/collapse-report.md (7955WX, one pair; writes from one "
     "switch to two roots collapse to 13.5 GB/s together, reads do not)"},
    {"power9", 0, 0, UNKNOWN, UNKNOWN, UNKNOWN, 32e9, ANY, "sockets: NCCL"},
    {"arm", 0, 0, UNKNOWN, UNKNOWN, UNKNOWN, 6e9, ANY, "sockets: NCCL"},
    {"zhaoxin", 0, 0, UNKNOWN, UNKNOWN, UNKNOWN, 6e9, ANY,
     "sockets: NCCL, 6 or 9 GB/s by generation"},
    {"unknown", 0, 0, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, ANY,
     "order: from openucx/ucx issue 10955 (0.4) to no effect"},
};
/* clang-format on */
const size_t rootcomplex_count = sizeof rootcomplex_table / sizeof rootcomplex_table[0];

const struct rootcomplex *rootcomplex_find(const char *name)
{
    for (size_t i = 0; name && i < rootcomplex_count; i++)
        if (strcmp(rootcomplex_table[i].name, name) == 0)
            return &rootcomplex_table[i];
    return &rootcomplex_table[rootcomplex_count - 1];
}

const struct rootcomplex *rootcomplex_of_cpu(int family, int model)
{
    for (size_t i = 0; model > 0 && i < rootcomplex_count; i++)
        if (rootcomplex_table[i].family == family && rootcomplex_table[i].model == model)
            return &rootcomplex_table[i];
    return &rootcomplex_table[rootcomplex_count - 1];
}

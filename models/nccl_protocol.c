/* nccl_protocol.c: see nccl_protocol.h. */
#include "models/nccl_protocol.h"

/* us: LL, LL128, Simple. baseLat */
static const double base_us[NCCL_ALGORITHMS][NCCL_PROTOCOLS] = {
    [NCCL_TREE] = {6.8, 14.0, 8.4},
    [NCCL_RING] = {6.6, 14.0, 8.4},
    [NCCL_PAT] = {8.0, 8.0, 8.0},
};

/* us of one hop. hwLat */
static const double hop_us[NCCL_HARDWARE][NCCL_ALGORITHMS][NCCL_PROTOCOLS] = {
    [NCCL_HW_NVLINK] =
        {
            [NCCL_TREE] = {0.6, 1.25, 4.0},
            [NCCL_RING] = {0.6, 1.9, 3.4},
            [NCCL_COLLNET_DIRECT] = {0, 0, 3.7},
            [NCCL_COLLNET_CHAIN] = {0, 0, 2.8},
            [NCCL_NVLS] = {0, 0, 25},
            [NCCL_NVLS_TREE] = {0, 0, 25},
            [NCCL_PAT] = {0, 0, 4.0},
        },
    [NCCL_HW_PCI] =
        {
            [NCCL_TREE] = {1.0, 1.9, 4.0},
            [NCCL_RING] = {1.0, 2.5, 5.7},
            [NCCL_COLLNET_DIRECT] = {0, 0, 3.7},
            [NCCL_COLLNET_CHAIN] = {0, 0, 2.8},
            [NCCL_PAT] = {0, 0, 4.0},
        },
    [NCCL_HW_NET] =
        {
            [NCCL_TREE] = {5.0, 8.5, 14},
            [NCCL_RING] = {2.7, 4.0, 14.0},
            [NCCL_COLLNET_DIRECT] = {0, 0, 31},
            [NCCL_COLLNET_CHAIN] = {0, 0, 30},
            [NCCL_NVLS] = {0, 0, 18},
            [NCCL_NVLS_TREE] = {0, 0, 20.9},
            [NCCL_PAT] = {0, 0, 14},
        },
};

double nccl_payload_share(enum nccl_protocol protocol)
{
    return protocol == NCCL_LL ? 4.0 / 8 : protocol == NCCL_LL128 ? 120.0 / 128 : 1.0;
}

double nccl_slot_B(enum nccl_protocol protocol)
{
    static const double buffer_B[NCCL_PROTOCOLS] = {
        [NCCL_LL] = 8.0 * 512 * NCCL_STEPS * 16,
        [NCCL_LL128] = 120.0 * 640 * NCCL_STEPS * 8,
        [NCCL_SIMPLE] = 4194304,
    };
    return nccl_payload_share(protocol) * buffer_B[protocol] / NCCL_STEPS;
}

double nccl_grain_B(enum nccl_protocol protocol)
{
    return protocol == NCCL_LL      ? 512.0 * 8
           : protocol == NCCL_LL128 ? 640.0 * 64 * nccl_payload_share(protocol)
                                    : nccl_slot_B(protocol);
}

bool nccl_sends_from_host(enum nccl_protocol protocol)
{
    return protocol == NCCL_LL;
}

double nccl_posts(enum nccl_protocol protocol)
{
    return protocol == NCCL_SIMPLE ? 3 : 1;
}

double nccl_hop_us(enum nccl_hardware hardware, enum nccl_algorithm algorithm,
                   enum nccl_protocol protocol)
{
    return hop_us[hardware][algorithm][protocol];
}

double nccl_base_us(enum nccl_algorithm algorithm, enum nccl_protocol protocol)
{
    return base_us[algorithm][protocol];
}

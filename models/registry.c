/* registry.c: see registry.h. One row for each file in models/. */
#include "models/registry.h"

const struct model model_registry[] = {
    {"pcie", "payload rate of a PCIe link, by generation, width, MPS and MRRS",
     "rate = raw (1 - 16/gap - 4/1538) n / (ceil(n/MPS) 24 + n)",
     "pcie-bench, SIGCOMM 2018, doi 10.1145/3230543.3230560, and its model code"},
};
const size_t model_registry_count = sizeof model_registry / sizeof model_registry[0];

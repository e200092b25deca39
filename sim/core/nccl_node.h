/* nccl_node.h: a node as NCCL's graph search sees it (models/nccl_search.h). */
#ifndef GDSIM_CORE_NCCL_NODE_H
#define GDSIM_CORE_NCCL_NODE_H

#include "models/nccl_search.h"
#include "sim/core/machine.h"

/* staged: GPUs reach each other through host memory only; no_nvlink: over PCIe. `intel` is left to
 * the caller. */
void nccl_node_of(const struct machine *machine, bool staged, bool no_nvlink,
                  struct nccl_node *ret_node);

#endif

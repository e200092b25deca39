/* settle.h: the machine and routes of a run by a protocol of NCCL, for each size.
 *
 * Where a machine names a protocol, its channels, hops and (auto) the protocol itself are what NCCL
 * would take for the plan and the size (nccl_comm.h), unless the scenario gives them. Whoever
 * predicts takes routes from here, so that all commands predict the same.
 */
#ifndef GDSIM_STUDY_SETTLE_H
#define GDSIM_STUDY_SETTLE_H

#include "sim/core/plan.h"
#include "sim/core/routes.h"

/* Machines and routes of one plan, kept for all sizes at which NCCL would choose alike. Starts as
 * NULL. */
struct settled;

/* The routes for a size: `own`, or those of a settled copy of its machine, by its mechanism and for
 * its groups. They live as long as the list. */
enum status settle_routes(struct settled **list, struct routes *own, const struct plan *plan,
                          double size_B, struct routes **ret_routes, struct error *error);
void settle_free(struct settled **list);

#endif

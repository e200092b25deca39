/* limit.h: what limits a run, in words. Of equals that are equally busy none is named alone: "wire
 * tx of each of 8 NICs (nic0 .. nic7)", "each of 8 links (gpu0 -> sw0 .. gpu7 -> sw3)". Whose it is
 * is said where it is mostly that of odd nodes: "nic0 wire tx of node 17".
 *
 * Equal are things of one kind, links between the same kinds of devices, with the same rate, whose
 * busiest nodes are busy for the same time within 1 % (lanes are dealt out, so a slice may be
 * over).
 */
#ifndef GDSIM_REPORT_LIMIT_H
#define GDSIM_REPORT_LIMIT_H

#include "sim/core/ledger.h"
#include "sim/report/text.h"

#define LIMIT_NAME_MAX 320

/* The words for a category of the ledger, and the time on the critical path of all that they mean,
 * 0 where it was not followed. Returns buf. */
const char *limit_name(const struct ledger *ledger, const struct machine *machine, size_t category,
                       char buf[LIMIT_NAME_MAX], int64_t *ret_critical_ps);

/* What holds most of the critical path, equals taken together; untraced, the busiest resource. */
size_t limit_category(const struct ledger *ledger, const struct machine *machine);

/* Those words and that time for it. */
const char *limit_of(const struct ledger *ledger, const struct machine *machine,
                     char buf[LIMIT_NAME_MAX], int64_t *ret_critical_ps);

/* How many NICs of a node carry bytes over the network, of how many; both 0 where none does. */
void limit_nics(const struct ledger *ledger, const struct machine *machine, size_t *ret_used,
                size_t *ret_all);

/* The words for what limits, its share of the critical path, and whether NICs lie idle. */
void limit_write(struct text *text, const struct ledger *ledger, const struct machine *machine);

#endif

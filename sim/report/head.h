/* head.h: the line below a title: how the times were reckoned, and what of NCCL they hold. */
#ifndef GDSIM_REPORT_HEAD_H
#define GDSIM_REPORT_HEAD_H

#include "sim/core/engine.h"
#include "sim/report/text.h"

/* "by NCCL's protocol ll128", or that the routes' own handoffs and latencies are all there is.
 * NULL: serial accounting, which adds up what it names and nothing else. */
const char *head_protocol(const struct machine *machine, enum accounting accounting);

/* "; " and those words, where there are any. */
void head_protocol_write(struct text *text, const struct machine *machine,
                         enum accounting accounting);

/* "# pipelined accounting, 16 ranks; ...": `protocols` is false where a protocol would change
 * nothing, or is named elsewhere. */
void head_write(struct text *text, const struct machine *machine, enum accounting accounting,
                bool protocols);

#endif

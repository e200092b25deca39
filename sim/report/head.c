/* head.c: see head.h. */
#include "sim/report/head.h"

#include "sim/core/protocol.h"

const char *head_protocol(const struct machine *machine, enum accounting accounting)
{
    static const char *const words[] = {
        [PROTOCOL_NONE] = "routes alone: NCCL's flags and latencies come with -P auto",
        [PROTOCOL_LL] = "by NCCL's protocol ll",
        [PROTOCOL_LL128] = "by NCCL's protocol ll128",
        [PROTOCOL_SIMPLE] = "by NCCL's protocol simple",
        [PROTOCOL_AUTO] = "by the protocol that NCCL would choose",
    };
    size_t protocol = (size_t)param_get(&machine->engine, PARAM_ENGINE_PROTOCOL);
    return protocol == PROTOCOL_NONE && accounting == ACCOUNTING_SERIAL ? NULL : words[protocol];
}

void head_protocol_write(struct text *text, const struct machine *machine,
                         enum accounting accounting)
{
    const char *protocol = head_protocol(machine, accounting);
    if (protocol)
        text_printf(text, "; %s", protocol);
}

void head_write(struct text *text, const struct machine *machine, enum accounting accounting,
                bool protocols)
{
    text_printf(text, "# %s accounting, %u ranks", accounting_name(accounting),
                machine_ranks(machine));
    if (protocols)
        head_protocol_write(text, machine, accounting);
    text_printf(text, "\n");
}

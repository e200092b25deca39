/* settle.c: the machine of a run by a protocol of NCCL, with what NCCL would take for the size; see
 * cli.h. */
#include <stdio.h>

#include "sim/cli/cli.h"
#include "sim/study/nccl_comm.h"

bool settle_needed(const struct machine *machine)
{
    return (int)param_get(&machine->engine, PARAM_ENGINE_PROTOCOL) != PROTOCOL_NONE;
}

/* What NCCL would take where the scenario leaves it open. */
static enum status choose(const struct machine *machine, const struct mechanism *mechanism,
                          const struct plan *plan, double size_B, struct nccl_choice *ret_choice,
                          struct error *error)
{
    bool any = (int)param_get(&machine->engine, PARAM_ENGINE_PROTOCOL) == PROTOCOL_AUTO;
    enum nccl_collective collective;
    enum nccl_algorithm algorithm;
    enum nccl_protocol protocol;
    struct nccl_comm comm;
    struct nccl_tuning tuning;
    protocol_of(machine, &protocol);
    bool known = nccl_algorithm_of(plan->name, &algorithm);
    double channels = param_get(&machine->engine, PARAM_ENGINE_CHANNELS);
    *ret_choice = (struct nccl_choice){.algorithm = known ? algorithm : NCCL_RING,
                                       .protocol = any ? NCCL_SIMPLE : protocol,
                                       .channels = (int)channels};
    if (!any && channels > 0)
        return STATUS_OK;
    if (!nccl_collective_of(plan->collective, &collective)) {
        error_set(error, STATUS_INPUT, "NCCL's formula does not know %s",
                  collective_name(plan->collective));
        return error_hint(error, "give engine.protocol and engine.channels");
    }
    enum status status = nccl_comm_of(machine, mechanism, &comm, error);
    if (status)
        return status;
    nccl_tune(&comm, &tuning);
    uint64_t bytes = size_B < 1 ? 1 : (uint64_t)size_B;
    if (nccl_choose_among(&comm, &tuning, collective, known ? &algorithm : NULL,
                          any ? NULL : &protocol, bytes, ret_choice))
        return STATUS_OK;
    /* A protocol that NCCL would not take here: its ring's channels, as when it is forced. */
    nccl_spread(&comm, &tuning, collective, bytes, ret_choice);
    return STATUS_OK;
}

enum status settle_machine(const struct machine *machine, const struct mechanism *mechanism,
                           const struct plan *plan, double size_B, struct machine *ret_machine,
                           char *why, size_t size, struct error *error)
{
    struct nccl_choice choice;
    enum status status = choose(machine, mechanism, plan, size_B, &choice, error);
    if (!status)
        status = machine_copy(machine, ret_machine, error);
    if (status)
        return status;
    snprintf(why, size, "as NCCL would choose: %s, %s, %d channels",
             nccl_algorithm_name(choice.algorithm), nccl_protocol_name(choice.protocol),
             choice.channels);
    nccl_settle(ret_machine, &choice, why);
    return STATUS_OK;
}

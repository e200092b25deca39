/* mechanism.c: the table. See mechanism.h. */
#include "sim/core/mechanism.h"

#include <string.h>

const struct mechanism mechanism_table[] = {
    {"staged", "staged", "staged",
     "bounce buffers in host memory at both ends, copy engine and NIC DMA", NULL,
     mech_staged_route},
    {"gdr", "GDR", "GPUDirect", "GPUDirect RDMA: the NIC reads and writes device memory itself",
     NULL, mech_gdr_route},
    {"sharp", "SHARP", "SHARP", "GPUDirect RDMA up to the switch, which reduces, and down again",
     "sharp", mech_sharp_route},
};
const size_t mechanism_count = sizeof mechanism_table / sizeof mechanism_table[0];

const struct mechanism *mechanism_find(const char *name)
{
    for (size_t i = 0; i < mechanism_count; i++)
        if (strcmp(mechanism_table[i].name, name) == 0)
            return &mechanism_table[i];
    return NULL;
}

enum status mechanism_route(const struct mechanism *mechanism, const struct machine *machine,
                            const struct endpoints *ends, struct route *route, struct error *error)
{
    memset(route, 0, sizeof *route);
    return mechanism->route(machine, ends, route, error);
}

enum status mechanism_nic(const struct machine *machine, size_t gpu, int *ret_nic,
                          struct error *error)
{
    *ret_nic = machine_nearest(machine, gpu, DEVICE_NIC);
    if (*ret_nic < 0)
        return error_set(error, STATUS_INPUT, "no chain of links leads from %s to a nic",
                         machine->node.devices[gpu].name);
    return STATUS_OK;
}

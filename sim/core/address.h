/* address.h: where the parameters of a machine are, by the keys that --set takes.
 *
 *   software.launch, engine.window, fabric.hop_latency, state.iotlb_entries
 *   node.devices.gpu0.channel_rate, node.links.cpu0-gpu0.rate
 *   node.devices.*.channel_rate, node.links.cpu0-*.rate      a star stands for any rest
 */
#ifndef GDSIM_CORE_ADDRESS_H
#define GDSIM_CORE_ADDRESS_H

#include "sim/core/machine.h"

struct address {
    struct params *params;
    enum param_id id;
};

/* Parameters of the machine that the key names, at most `limit` of them; returns how many. 0: no
 * such key here. Of a machine that is finished they must not be changed. */
size_t address_find(struct machine *machine, const char *key, struct address *ret, size_t limit);

#endif

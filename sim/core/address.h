/* address.h: where the numbers of a machine are, by the keys that --set, sweeps and fits take.
 *
 *   nodes
 *   software.launch, engine.window, fabric.hop_latency, sharp.trees, state.iotlb_entries
 *   node.devices.gpu0.channel_rate, node.links.cpu0-gpu0.rate
 *   node.devices.*.channel_rate, node.links.cpu0-*.rate      names are patterns as fnmatch's
 *
 * An address holds for every copy of the machine.
 */
#ifndef GDSIM_CORE_ADDRESS_H
#define GDSIM_CORE_ADDRESS_H

#include "sim/core/machine.h"

struct address {
    enum address_place {
        ADDRESS_NODES,
        ADDRESS_ENGINE,
        ADDRESS_SOFTWARE,
        ADDRESS_FABRIC,
        ADDRESS_SHARP,
        ADDRESS_STATE,
        ADDRESS_DEVICE,
        ADDRESS_LINK
    } place;
    uint16_t index; /* of the device or link */
    enum param_id id;
};

struct addresses {
    struct address *at; /* for free() */
    size_t count;
};

/* A key of devices or links, taken apart: node.links.PATTERN.PARAM. */
struct address_objects {
    enum address_place place; /* ADDRESS_DEVICE or ADDRESS_LINK */
    bool many;                /* the pattern has a star or the like, so it may mean several */
    char pattern[2 * MACHINE_NAME_LENGTH + 2];
    const char *param; /* part of the key */
};

/* Whether a key is of this kind at all: other keys of a scenario are no numbers of a machine. */
bool address_is(const char *key);

/* false: the key is none of a device or link. */
bool address_objects(const char *key, struct address_objects *ret);

/* Whether they are meant: the name fits, and things of this kind have the parameter. */
bool address_means(const struct address_objects *objects, const char *name, enum param_kind kind);

/* The error for a pattern that means none of these things. */
enum status address_none(const struct address_objects *objects, const char *const *names,
                         size_t count, struct error *error);

/* All numbers of the machine that the key names, at least one. STATUS_INPUT, with what may have
 * been meant, where there is none. */
enum status address_find(const struct machine *machine, const char *key, struct addresses *ret,
                         struct error *error);

/* The first of them; false: none. */
bool address_first(const struct machine *machine, const char *key, struct address *ret);

/* Where its number stands; NULL for the number of nodes. Of a machine that is finished it must not
 * be changed. */
struct params *address_params(struct machine *machine, const struct address *address);
double address_get(const struct machine *machine, const struct address *address);

/* Its own key, without patterns. */
void address_key(const struct machine *machine, const struct address *address, char *buffer,
                 size_t size);

#endif

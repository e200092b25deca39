/* mech_storage.h: what mech_storage.c and mech_storage_remote.c share. */
#ifndef GDSIM_CORE_MECH_STORAGE_H
#define GDSIM_CORE_MECH_STORAGE_H

#include "sim/core/mechanism.h"

/* A request: of which drive, and what else, a GPU or memory, has the bytes. */
struct storage {
    size_t drive, other;
    bool reads; /* the file is read: bytes come from the drive */
};

/* Software of GPUDirect Storage, before any path is looked at. */
enum outcome storage_check_software(const struct machine *machine, struct route *route);

/* Everything that must hold for the client's NIC to bring the bytes to the GPU (or take them). */
enum outcome storage_check_remote(const struct machine *machine, const struct endpoints *endpoints,
                                  const struct storage *storage, struct route *route);

/* From or to a drive of another node: straight to the GPU, or through the client's memory. */
enum status storage_remote(const struct machine *machine, const struct endpoints *endpoints,
                           const struct storage *storage, bool direct, struct route *route,
                           struct error *error);

#endif

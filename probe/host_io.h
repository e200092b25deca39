/* host_io.h: the part of host.h that moves data: NICs, drives, mounts, GPUDirect Storage. */
#ifndef GDPROBE_HOST_IO_H
#define GDPROBE_HOST_IO_H

#include "probe/host.h"

void host_io_read(const struct sys *sys, const struct pci *pci, struct host *host);

/* What GPUDirect Storage makes of a mount, by source, type and options, as /proc/mounts has them.
 */
void host_judge_mount(struct host_mount *mount, const char *options);

/* allow_compat_mode in the text of a cufile.json (which may hold // comments). */
int host_cufile_compat(const char *text);

#endif

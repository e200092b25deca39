/* doctor_checks.h: the single checks behind doctor.h: one precondition, one device or pair. */
#ifndef GDPROBE_DOCTOR_CHECKS_H
#define GDPROBE_DOCTOR_CHECKS_H

#include "probe/facts.h"

/* What a person calls a function: "GPU 0000:43:00.0", "mlx5_0". */
enum { DEVICE_NAME = 48 };
const char *check_name(const struct facts *facts, size_t device, char name[DEVICE_NAME]);

struct finding check_gpu(const struct facts *facts, size_t gpu);
struct finding check_gpu_rdma(const struct facts *facts, size_t gpu);
struct finding check_bar1(const struct facts *facts, size_t gpu);
struct finding check_peer_memory(const struct facts *facts);
struct finding check_served(const struct facts *facts);
/* NCCL's settings: for GPUs inside the node, or for the network. */
struct finding check_settings(const struct facts *facts, bool network);
struct finding check_doorbell(const struct facts *facts);
struct finding check_stream_memops(const struct facts *facts, size_t gpu);

/* Between two functions. */
/* Within `level`, or what `variable` sets instead (NULL: none does). */
struct finding check_distance(const struct facts *facts, size_t a, size_t b,
                              enum pci_distance level, const char *variable);
struct finding check_root_complex(const struct facts *facts, size_t a, size_t b);
struct finding check_acs(const struct facts *facts, size_t a, size_t b);
struct finding check_iommu(const struct facts *facts, size_t a, size_t b);
struct finding check_links(const struct facts *facts, size_t a, size_t b);
struct finding check_slot(const struct facts *facts, size_t nic);
struct finding check_relaxed_ordering(const struct facts *facts, size_t nic, size_t gpu);

#endif

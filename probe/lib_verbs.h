/* lib_verbs.h: libibverbs.so.1, RDMA NICs. Declarations as in the verbs ABI, which has not changed
 * since its first version; structs that only the library looks into are opaque. Posting and polling
 * are no functions of the library but of the device, through a table in its context. */
#ifndef GDPROBE_LIB_VERBS_H
#define GDPROBE_LIB_VERBS_H

#include <stdint.h>

#include "probe/lib.h"

/* Entries of struct ibv_context_ops, of which each is a function pointer. */
enum { VERBS_POLL_CQ = 11, VERBS_POST_SEND = 25, VERBS_OPS = 32 };
struct verbs_context { /* ibv_context */
    void *device;
    void *ops[VERBS_OPS];
};
struct verbs_mr { /* ibv_mr */
    void *context, *pd, *addr;
    size_t length;
    uint32_t handle, lkey, rkey;
};
struct verbs_qp { /* ibv_qp */
    struct verbs_context *context;
    void *qp_context, *pd, *send_cq, *recv_cq, *srq;
    uint32_t handle, number;
};
struct verbs_cap { /* ibv_qp_cap */
    uint32_t max_send_wr, max_recv_wr, max_send_sge, max_recv_sge, max_inline_data;
};
struct verbs_qp_init { /* ibv_qp_init_attr */
    void *qp_context, *send_cq, *recv_cq, *srq;
    struct verbs_cap cap;
    int type, signal_all;
};
struct verbs_gid { /* ibv_gid */
    uint64_t words[2];
};
struct verbs_ah { /* ibv_ah_attr */
    struct verbs_gid dgid;
    uint32_t flow_label;
    uint8_t sgid_index, hop_limit, traffic_class;
    uint16_t dlid;
    uint8_t sl, src_path_bits, static_rate, is_global, port;
};
struct verbs_qp_attr { /* ibv_qp_attr */
    int state, current_state, path_mtu, migration;
    uint32_t qkey, rq_psn, sq_psn, dest_qp;
    unsigned access;
    struct verbs_cap cap;
    struct verbs_ah ah, alternate_ah;
    uint16_t pkey_index, alternate_pkey_index;
    uint8_t notify, draining, max_rd_atomic, max_dest_rd_atomic, min_rnr_timer, port, timeout,
        retries, rnr_retries, alternate_port, alternate_timeout;
    uint32_t rate_limit;
};
struct verbs_sge { /* ibv_sge */
    uint64_t address;
    uint32_t length, lkey;
};
struct verbs_send { /* ibv_send_wr */
    uint64_t id;
    struct verbs_send *next;
    struct verbs_sge *list;
    int count, opcode;
    unsigned flags;
    uint32_t immediate;
    struct {
        uint64_t remote_address;
        uint32_t rkey;
    } rdma;
    uint64_t rest[9]; /* of the unions, which are not used here */
};
struct verbs_wc { /* ibv_wc */
    uint64_t id;
    int status, opcode;
    uint32_t vendor_error, bytes, immediate, qp, source_qp;
    unsigned flags;
    uint16_t pkey_index, slid;
    uint8_t sl, path_bits;
};
struct verbs_port { /* ibv_port_attr, as far as the oldest version has it */
    int state, max_mtu, active_mtu, gid_table;
    uint32_t capabilities, max_message, bad_pkeys, qkey_violations;
    uint16_t pkey_table, lid, sm_lid;
    uint8_t lmc, max_vl, sm_sl, timeout, init_type, width, speed, physical_state, link_layer, flags;
    uint8_t rest[64]; /* newer versions have more */
};
enum {
    VERBS_RC = 2, /* IBV_QPT_RC */
    VERBS_INIT = 1,
    VERBS_RTR = 2,
    VERBS_RTS = 3, /* ibv_qp_state */
    VERBS_LOCAL_WRITE = 1,
    VERBS_REMOTE_WRITE = 2,
    VERBS_RELAXED_ORDERING = 1 << 20,
    VERBS_RDMA_WRITE = 0, /* IBV_WR_RDMA_WRITE */
    VERBS_SIGNALED = 2,   /* IBV_SEND_SIGNALED */
    VERBS_PORT_ACTIVE = 4,
    VERBS_ETHERNET = 2,
    /* ibv_qp_attr_mask */
    VERBS_MASK_STATE = 1 << 0,
    VERBS_MASK_ACCESS = 1 << 3,
    VERBS_MASK_PKEY = 1 << 4,
    VERBS_MASK_PORT = 1 << 5,
    VERBS_MASK_AV = 1 << 7,
    VERBS_MASK_MTU = 1 << 8,
    VERBS_MASK_TIMEOUT = 1 << 9,
    VERBS_MASK_RETRIES = 1 << 10,
    VERBS_MASK_RNR = 1 << 11,
    VERBS_MASK_RQ_PSN = 1 << 12,
    VERBS_MASK_RD_ATOMIC = 1 << 13,
    VERBS_MASK_MIN_RNR = 1 << 15,
    VERBS_MASK_SQ_PSN = 1 << 16,
    VERBS_MASK_DEST_RD = 1 << 17,
    VERBS_MASK_DEST_QP = 1 << 20,
};

struct verbs {
    void *library;
    void **(*ibv_get_device_list)(int *count);
    void (*ibv_free_device_list)(void **list);
    const char *(*ibv_get_device_name)(void *device);
    struct verbs_context *(*ibv_open_device)(void *device);
    int (*ibv_close_device)(struct verbs_context *context);
    int (*ibv_query_port)(struct verbs_context *context, uint8_t port, struct verbs_port *ret);
    int (*ibv_query_gid)(struct verbs_context *context, uint8_t port, int index,
                         struct verbs_gid *ret);
    void *(*ibv_alloc_pd)(struct verbs_context *context);
    struct verbs_mr *(*ibv_reg_mr)(void *pd, void *address, size_t length, int access);
    struct verbs_mr *(*ibv_reg_dmabuf_mr)(void *pd, uint64_t offset, size_t length, uint64_t iova,
                                          int fd, int access); /* may be NULL */
    int (*ibv_dereg_mr)(struct verbs_mr *mr);
    void *(*ibv_create_cq)(struct verbs_context *context, int entries, void *cq_context,
                           void *channel, int vector);
    struct verbs_qp *(*ibv_create_qp)(void *pd, struct verbs_qp_init *init);
    int (*ibv_modify_qp)(struct verbs_qp *qp, struct verbs_qp_attr *attr, int mask);
};

bool verbs_open(struct verbs *verbs, struct why *ret_why);
int verbs_post_send(struct verbs_qp *qp, struct verbs_send *send);
/* How many completions were taken: 0 or 1; negative: an error. */
int verbs_poll(struct verbs_context *context, void *cq, struct verbs_wc *ret_wc);

#endif

/* bench_rdma.c: RDMA writes of a NIC to itself: out of one memory and into another on the same
 * machine, of the host or of a GPU. The bytes leave the port's logic and come back, so the slower
 * of the NIC's PCIe directions and its line rate is seen, and whether GPU memory can be registered
 * at all: by nvidia_peermem, or by a dma-buf. One queue pair to itself, one write at a time
 * (latency) and in the sweep one large write.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "probe/bench.h"
#include "probe/lib_verbs.h"

struct memory {
    void *address;
    struct verbs_mr *mr;
};
struct loop {
    struct verbs verbs;
    struct verbs_context *context;
    void *pd, *cq;
    struct verbs_qp *qp;
    struct memory *from, *to;
};

/* Write, and wait for the acknowledgement. */
static bool write_once(struct bench *bench, void *context, size_t size)
{
    struct loop *loop = context;
    struct verbs_sge piece = {(uintptr_t)loop->from->address, (uint32_t)size, loop->from->mr->lkey};
    struct verbs_send send;
    struct verbs_wc wc;
    memset(&send, 0, sizeof send);
    send.list = &piece;
    send.count = 1;
    send.opcode = VERBS_RDMA_WRITE;
    send.flags = VERBS_SIGNALED;
    send.rdma.remote_address = (uintptr_t)loop->to->address;
    send.rdma.rkey = loop->to->mr->rkey;
    if (!bench_check(bench, -verbs_post_send(loop->qp, &send), "ibv_post_send"))
        return false;
    int n;
    while ((n = verbs_poll(loop->context, loop->cq, &wc)) == 0)
        ;
    return bench_check(bench, n < 0 || wc.status != 0 ? -EIO : 0, "the completion");
}

/* The first RoCE v2 GID of an Ethernet port; 0 when none says so. */
static int gid_index(const char *name)
{
    struct sys sys;
    struct why why;
    if (!sys_open(&sys, NULL, &why))
        return 0;
    for (int i = 0; i < 16; i++) {
        char path[SYS_PATH], type[32];
        snprintf(path, sizeof path, "/sys/class/infiniband/%s/ports/1/gid_attrs/types/%d", name, i);
        if (sys_line(&sys, path, type, sizeof type, &why) && strcmp(type, "RoCE v2") == 0)
            return i;
    }
    return 0;
}

/* Reset, init, ready to receive, ready to send: connected to itself. */
static int connect_to_self(struct loop *loop, const char *name, const struct verbs_port *port)
{
    struct verbs_qp_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.state = VERBS_INIT;
    attr.port = 1;
    attr.access = VERBS_REMOTE_WRITE;
    int code = loop->verbs.ibv_modify_qp(
        loop->qp, &attr, VERBS_MASK_STATE | VERBS_MASK_PKEY | VERBS_MASK_PORT | VERBS_MASK_ACCESS);
    if (code != 0)
        return code;
    memset(&attr, 0, sizeof attr);
    attr.state = VERBS_RTR;
    attr.path_mtu = port->active_mtu;
    attr.dest_qp = loop->qp->number;
    attr.max_dest_rd_atomic = 1;
    attr.min_rnr_timer = 12;
    attr.ah.dlid = port->lid;
    attr.ah.port = 1;
    if (port->link_layer == VERBS_ETHERNET) {
        int index = gid_index(name);
        attr.ah.is_global = 1;
        attr.ah.hop_limit = 64;
        attr.ah.sgid_index = (uint8_t)index;
        code = loop->verbs.ibv_query_gid(loop->context, 1, index, &attr.ah.dgid);
        if (code != 0)
            return code;
    }
    code = loop->verbs.ibv_modify_qp(loop->qp, &attr,
                                     VERBS_MASK_STATE | VERBS_MASK_AV | VERBS_MASK_MTU |
                                         VERBS_MASK_DEST_QP | VERBS_MASK_RQ_PSN |
                                         VERBS_MASK_DEST_RD | VERBS_MASK_MIN_RNR);
    if (code != 0)
        return code;
    memset(&attr, 0, sizeof attr);
    attr.state = VERBS_RTS;
    attr.timeout = 14;
    attr.retries = attr.rnr_retries = 7;
    attr.max_rd_atomic = 1;
    return loop->verbs.ibv_modify_qp(loop->qp, &attr,
                                     VERBS_MASK_STATE | VERBS_MASK_TIMEOUT | VERBS_MASK_RETRIES |
                                         VERBS_MASK_RNR | VERBS_MASK_SQ_PSN | VERBS_MASK_RD_ATOMIC);
}

static bool open_nic(struct loop *loop, void *device, const char *name, struct why *ret_why)
{
    struct verbs_port port;
    memset(&port, 0, sizeof port);
    loop->context = loop->verbs.ibv_open_device(device);
    if (!loop->context || loop->verbs.ibv_query_port(loop->context, 1, &port) != 0) {
        why_set(ret_why, "cannot be opened: %s", strerror(errno));
        return false;
    }
    if (port.state != VERBS_PORT_ACTIVE) {
        why_set(ret_why, "port 1 is not active (state %d)", port.state);
        return false;
    }
    struct verbs_qp_init init;
    memset(&init, 0, sizeof init);
    loop->pd = loop->verbs.ibv_alloc_pd(loop->context);
    loop->cq = loop->verbs.ibv_create_cq(loop->context, 16, NULL, NULL, 0);
    init.send_cq = init.recv_cq = loop->cq;
    init.cap.max_send_wr = 16;
    init.cap.max_recv_wr = 1;
    init.cap.max_send_sge = init.cap.max_recv_sge = 1;
    init.type = VERBS_RC;
    loop->qp = loop->pd && loop->cq ? loop->verbs.ibv_create_qp(loop->pd, &init) : NULL;
    if (!loop->qp) {
        why_set(ret_why, "no queue pair: %s", strerror(errno));
        return false;
    }
    int code = connect_to_self(loop, name, &port);
    if (code != 0)
        why_set(ret_why, "the queue pair cannot be connected: %s", strerror(code));
    return code == 0;
}

/* GPU memory as the NIC sees it: nvidia_peermem answers ibv_reg_mr; else a dma-buf does. */
static void register_gpu(struct bench *bench, struct loop *loop, struct memory *memory,
                         size_t bytes, int access)
{
    memory->mr = loop->verbs.ibv_reg_mr(loop->pd, memory->address, bytes, access);
    if (memory->mr || !loop->verbs.ibv_reg_dmabuf_mr)
        return;
    int fd = -1;
    cuda_ptr device = (cuda_ptr)(uintptr_t)memory->address;
    if (bench->cuda.cuMemGetHandleForAddressRange(&fd, device, bytes, CUDA_DMA_BUF_FD, 0) != 0)
        return;
    memory->mr = loop->verbs.ibv_reg_dmabuf_mr(loop->pd, 0, bytes, device, fd, access);
    close(fd); /* the region keeps it */
}

static void sweep_nic(struct bench *bench, struct loop *loop, const char *name)
{
    enum { HOST_A, HOST_B, GPU, MEMORIES };
    struct memory memories[MEMORIES] = {{NULL, NULL}};
    static const int pairs[][2] = {{HOST_A, HOST_B}, {GPU, HOST_A}, {HOST_A, GPU}};
    struct bench_gpu *gpu = &bench->gpus[bench->first];
    const char *labels[MEMORIES] = {"host", "host", gpu->label};
    size_t bytes = (size_t)bench->largest_B;
    int access = VERBS_LOCAL_WRITE | VERBS_REMOTE_WRITE | VERBS_RELAXED_ORDERING;
    for (int i = HOST_A; i <= HOST_B; i++) {
        memories[i].address = bench_host_memory(bench, bench->largest_B);
        if (memories[i].address)
            memories[i].mr = loop->verbs.ibv_reg_mr(loop->pd, memories[i].address, bytes, access);
    }
    cuda_ptr device = bench_device_memory(bench, gpu, bench->largest_B);
    memories[GPU].address = (void *)(uintptr_t)device;
    if (device)
        register_gpu(bench, loop, &memories[GPU], bytes, access);
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        char place[48];
        snprintf(place, sizeof place, "%s>%.20s>%s", labels[pairs[i][0]], name,
                 labels[pairs[i][1]]);
        loop->from = &memories[pairs[i][0]];
        loop->to = &memories[pairs[i][1]];
        if (loop->from->mr && loop->to->mr)
            bench_sweep(bench, "rdma_write", place, 0, 1, write_once, loop);
        else if (!bench_failed(bench, "rdma_write", place))
            bench_missing(bench, "rdma_write", place,
                          "memory cannot be registered (for a GPU: nvidia_peermem or dma-buf)");
    }
    for (int i = 0; i < MEMORIES; i++)
        if (memories[i].mr)
            loop->verbs.ibv_dereg_mr(memories[i].mr);
}

void bench_rdma(struct bench *bench)
{
    static struct loop loop;
    struct why why = {""};
    int count = 0;
    if (!verbs_open(&loop.verbs, &why)) {
        bench_missing(bench, "rdma_write", "", "no verbs: %s", why.text);
        return;
    }
    void **devices = loop.verbs.ibv_get_device_list(&count);
    if (!devices || count == 0) {
        bench_missing(bench, "rdma_write", "", "there is no RDMA NIC");
        return;
    }
    if (!bench_open_gpus(bench, "rdma_write", false))
        return;
    for (int i = 0; i < count; i++) {
        const char *name = loop.verbs.ibv_get_device_name(devices[i]);
        if (open_nic(&loop, devices[i], name, &why))
            sweep_nic(bench, &loop, name);
        else
            bench_missing(bench, "rdma_write", name, "%s", why.text);
    }
    loop.verbs.ibv_free_device_list(devices);
}

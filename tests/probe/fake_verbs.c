/* fake_verbs.c: a libibverbs.so.1 with one NIC, whose queue pair writes to itself. Registering
 * memory of a GPU fails when GDPROBE_FAKE_FAIL says so of ibv_reg_gpu. */
#include "probe/lib_verbs.h"
#include "tests/probe/fake.h"

static struct verbs_context context;
static struct verbs_qp queue = {.context = &context, .number = 7};
static int state = 0, done = 0;
static char name[] = "fake_0";
static void *list[] = {name, NULL};

static int post(struct verbs_qp *qp, struct verbs_send *send, struct verbs_send **bad)
{
    (void)qp, (void)bad;
    if (state != VERBS_RTS)
        return 22; /* EINVAL */
    memcpy((void *)(uintptr_t)send->rdma.remote_address, (void *)(uintptr_t)send->list->address,
           send->list->length);
    done++;
    return 0;
}

static int poll_queue(void *cq, int most, struct verbs_wc *wc)
{
    (void)cq, (void)most;
    if (done == 0)
        return 0;
    done--;
    memset(wc, 0, sizeof *wc);
    return 1;
}

void **ibv_get_device_list(int *count);
void **ibv_get_device_list(int *count)
{
    *count = 1;
    return list;
}

void ibv_free_device_list(void **devices);
void ibv_free_device_list(void **devices)
{
    (void)devices;
}

const char *ibv_get_device_name(void *device);
const char *ibv_get_device_name(void *device)
{
    return device;
}

struct verbs_context *ibv_open_device(void *device);
struct verbs_context *ibv_open_device(void *device)
{
    int (*poster)(struct verbs_qp *, struct verbs_send *, struct verbs_send **) = post;
    int (*poller)(void *, int, struct verbs_wc *) = poll_queue;
    (void)device;
    memcpy(&context.ops[VERBS_POST_SEND], &poster, sizeof poster);
    memcpy(&context.ops[VERBS_POLL_CQ], &poller, sizeof poller);
    return &context;
}

int ibv_close_device(struct verbs_context *closed);
int ibv_close_device(struct verbs_context *closed)
{
    (void)closed;
    return 0;
}

int ibv_query_port(struct verbs_context *of, uint8_t port, struct verbs_port *ret);
int ibv_query_port(struct verbs_context *of, uint8_t port, struct verbs_port *ret)
{
    (void)of, (void)port;
    ret->state = fake_fail("ibv_query_port") ? 1 : VERBS_PORT_ACTIVE;
    ret->active_mtu = 5;
    ret->lid = 3;
    ret->link_layer = VERBS_ETHERNET;
    return 0;
}

int ibv_query_gid(struct verbs_context *of, uint8_t port, int index, struct verbs_gid *ret);
int ibv_query_gid(struct verbs_context *of, uint8_t port, int index, struct verbs_gid *ret)
{
    (void)of, (void)port, (void)index;
    ret->words[1] = 1;
    return 0;
}

void *ibv_alloc_pd(struct verbs_context *of);
void *ibv_alloc_pd(struct verbs_context *of)
{
    return of;
}

/* Memory of a GPU is what no page of the host can be: the caller's third registration. */
struct verbs_mr *ibv_reg_mr(void *pd, void *address, size_t length, int access);
struct verbs_mr *ibv_reg_mr(void *pd, void *address, size_t length, int access)
{
    static int registered;
    (void)pd, (void)access;
    if (++registered == 3 && fake_fail("ibv_reg_gpu"))
        return NULL;
    struct verbs_mr *mr = calloc(1, sizeof *mr);
    if (mr)
        *mr = (struct verbs_mr){.addr = address, .length = length, .lkey = 1, .rkey = 2};
    return mr;
}

int ibv_dereg_mr(struct verbs_mr *mr);
int ibv_dereg_mr(struct verbs_mr *mr)
{
    free(mr);
    return 0;
}

void *ibv_create_cq(struct verbs_context *of, int entries, void *cq_context, void *channel,
                    int vector);
void *ibv_create_cq(struct verbs_context *of, int entries, void *cq_context, void *channel,
                    int vector)
{
    (void)entries, (void)cq_context, (void)channel, (void)vector;
    return of;
}

struct verbs_qp *ibv_create_qp(void *pd, struct verbs_qp_init *init);
struct verbs_qp *ibv_create_qp(void *pd, struct verbs_qp_init *init)
{
    (void)pd;
    return init->type == VERBS_RC ? &queue : NULL;
}

/* Only the next state, and to itself. */
int ibv_modify_qp(struct verbs_qp *qp, struct verbs_qp_attr *attr, int mask);
int ibv_modify_qp(struct verbs_qp *qp, struct verbs_qp_attr *attr, int mask)
{
    if (!(mask & VERBS_MASK_STATE) || attr->state != state + 1 ||
        (attr->state == VERBS_RTR && (attr->dest_qp != qp->number || attr->ah.is_global != 1)))
        return 22;
    state = attr->state;
    return 0;
}

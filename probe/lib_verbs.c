/* lib_verbs.c: see lib_verbs.h. */
#include <string.h>

#include "probe/lib_verbs.h"

_Static_assert(sizeof(struct verbs_send) == 128, "ibv_send_wr is 128 bytes");
_Static_assert(sizeof(struct verbs_wc) == 48, "ibv_wc is 48 bytes");
_Static_assert(sizeof(struct verbs_ah) == 32, "ibv_ah_attr is 32 bytes");
_Static_assert(sizeof(struct verbs_qp_attr) == 144, "ibv_qp_attr is 144 bytes");

#define NEEDED(name)                                                                               \
    {                                                                                              \
#name, offsetof(struct verbs, name), true                                                  \
    }
static const struct lib_symbol symbols[] = {
    NEEDED(ibv_get_device_list),
    NEEDED(ibv_free_device_list),
    NEEDED(ibv_get_device_name),
    NEEDED(ibv_open_device),
    NEEDED(ibv_close_device),
    NEEDED(ibv_query_port),
    NEEDED(ibv_query_gid),
    NEEDED(ibv_alloc_pd),
    NEEDED(ibv_reg_mr),
    NEEDED(ibv_dereg_mr),
    NEEDED(ibv_create_cq),
    NEEDED(ibv_create_qp),
    NEEDED(ibv_modify_qp),
    {"ibv_reg_dmabuf_mr", offsetof(struct verbs, ibv_reg_dmabuf_mr), false},
};

bool verbs_open(struct verbs *verbs, struct why *ret_why)
{
    static const char *const sonames[] = {"libibverbs.so.1", NULL};
    memset(verbs, 0, sizeof *verbs);
    return lib_open(sonames, symbols, sizeof symbols / sizeof symbols[0], verbs, &verbs->library,
                    ret_why);
}

int verbs_post_send(struct verbs_qp *qp, struct verbs_send *send)
{
    int (*post)(struct verbs_qp *, struct verbs_send *, struct verbs_send **);
    struct verbs_send *bad = NULL;
    memcpy(&post, &qp->context->ops[VERBS_POST_SEND], sizeof post);
    return post(qp, send, &bad);
}

int verbs_poll(struct verbs_context *context, void *cq, struct verbs_wc *ret_wc)
{
    int (*poll)(void *, int, struct verbs_wc *);
    memcpy(&poll, &context->ops[VERBS_POLL_CQ], sizeof poll);
    return poll(cq, 1, ret_wc);
}

/* inbox.c: see inbox.h. */
#include "sim/core/inbox.h"

#include <stdlib.h>
#include <string.h>

/* "Who sends to me?" for operations whose rule cannot be turned round: every rank is asked once
 * and the answers are sorted by receiver. Answers that hold for every turn of the loops are kept;
 * the others until all ranks have passed the step. */
struct sender_index {
    uint32_t op;
    bool every_turn;
    uint64_t step;
    uint32_t passed;
    uint32_t *start; /* ranks + 1 */
    struct transfer *transfers;
};

static enum status no_memory(struct error *error)
{
    return error_set(error, STATUS_NOMEM, "out of memory");
}

enum status mailroom_init(struct mailroom *mailroom, const struct plan *plan,
                          const struct fold *fold, struct error *error)
{
    const uint32_t ranks = fold->kind ? fold->ranks : plan->ranks;
    memset(mailroom, 0, sizeof *mailroom);
    mailroom->plan = plan;
    mailroom->fold = fold;
    mailroom->ranks = ranks;
    mailroom->boxes = ranks + plan->groups;
    mailroom->inbox = calloc((size_t)mailroom->boxes + 1, sizeof *mailroom->inbox);
    if (!mailroom->inbox)
        return no_memory(error);
    for (uint32_t i = 0; i < mailroom->boxes; i++)
        plan_first(plan, &mailroom->inbox[i].horizon);
    return STATUS_OK;
}

void mailroom_free(struct mailroom *mailroom)
{
    if (!mailroom || !mailroom->plan)
        return;
    for (uint32_t i = 0; mailroom->inbox && i < mailroom->boxes; i++) {
        for (size_t r = 0; r < mailroom->inbox[i].count; r++)
            free(mailroom->inbox[i].receives[r].missing);
        free(mailroom->inbox[i].receives);
    }
    for (size_t i = 0; i < mailroom->index_count; i++) {
        free(mailroom->index[i].start);
        free(mailroom->index[i].transfers);
    }
    free(mailroom->tallies);
    free(mailroom->index);
    free(mailroom->inbox);
    memset(mailroom, 0, sizeof *mailroom);
}

/* ---- who sends to me ------------------------------------------------------------------------ */

static bool same_every_turn(const struct plan_op *op)
{
    return !op->count.uses_loops &&
           (op->edge_count > 0 || (!op->to.uses_loops && !op->chunk.uses_loops &&
                                   (!op->conditional || !op->where.uses_loops)));
}

/* Fill an index in two passes: count by receiver, then place. */
static enum status index_fill(const struct mailroom *mailroom, const struct plan_op *op,
                              const struct plan_cursor *cursor, struct sender_index *index,
                              struct error *error)
{
    const struct plan *plan = mailroom->plan;
    const uint32_t ranks = mailroom->ranks;
    struct transfer transfer;
    uint32_t total = 0;
    index->start = calloc((size_t)ranks + 2, sizeof *index->start);
    if (!index->start)
        return no_memory(error);
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t rank = 0; rank < ranks; rank++)
            for (uint32_t i = 0;; i++) {
                struct transfer sent;
                int found = plan_transfer(plan, op, cursor, rank, i, &sent, error);
                if (found > 0)
                    found = fold_twin(mailroom->fold, plan, cursor, &sent, &transfer, error);
                if (found < 0)
                    return STATUS_INPUT;
                if (found == 0)
                    break;
                if (pass == 0)
                    index->start[transfer.to + 2]++;
                else
                    index->transfers[index->start[transfer.to + 1]++] = transfer;
                total += pass == 0;
            }
        if (pass == 1)
            break;
        for (uint32_t rank = 0; rank < ranks; rank++)
            index->start[rank + 2] += index->start[rank + 1];
        index->transfers = malloc((total ? total : 1) * sizeof *index->transfers);
        if (!index->transfers)
            return no_memory(error);
    }
    return STATUS_OK;
}

static struct sender_index *index_get(struct mailroom *mailroom, uint32_t op,
                                      const struct plan_cursor *cursor, struct error *error)
{
    const struct plan_op *operation = &mailroom->plan->ops[op];
    bool every_turn = same_every_turn(operation);
    for (size_t i = 0; i < mailroom->index_count; i++) {
        struct sender_index *index = &mailroom->index[i];
        if (index->op == op && (every_turn || index->step == cursor->step))
            return index;
    }
    struct sender_index *grown =
        realloc(mailroom->index, (mailroom->index_count + 1) * sizeof *grown);
    if (!grown) {
        no_memory(error);
        return NULL;
    }
    mailroom->index = grown;
    struct sender_index *index = &grown[mailroom->index_count];
    *index = (struct sender_index){.op = op, .every_turn = every_turn, .step = cursor->step};
    mailroom->index_count++;
    return index_fill(mailroom, operation, cursor, index, error) ? NULL : index;
}

/* A rank has looked at this index; when all have, one that is good for one step only goes. */
static void index_pass(struct mailroom *mailroom, struct sender_index *index)
{
    if (index->every_turn || ++index->passed < mailroom->ranks)
        return;
    free(index->start);
    free(index->transfers);
    *index = mailroom->index[--mailroom->index_count];
}

bool mailroom_every_turn(const struct mailroom *mailroom, size_t index)
{
    return mailroom->index[index].every_turn;
}

/* ---- receives ------------------------------------------------------------------------------- */

static inline struct receive *find(struct inbox *inbox, uint64_t step, uint32_t op, uint32_t from,
                                   uint32_t edge)
{
    for (uint32_t i = 0; i < inbox->count; i++) {
        struct receive *r = &inbox->receives[i];
        if (r->step == step && r->op == op && r->from == from && r->edge == edge)
            return r;
    }
    return NULL;
}

static bool inbox_grow(struct inbox *inbox)
{
    const uint32_t capacity = inbox->capacity ? 2 * inbox->capacity : 4;
    struct receive *grown = realloc(inbox->receives, capacity * sizeof *grown);
    if (!grown)
        return false;
    inbox->receives = grown;
    inbox->capacity = capacity;
    return true;
}

static inline void drop(struct inbox *inbox, struct receive *receive)
{
    const struct receive *last = &inbox->receives[--inbox->count];
    if (receive->missing)
        free(receive->missing);
    if (receive != last)
        *receive = *last;
}

/* One slice more is here. */
static inline void count_arrived(struct inbox *inbox, const struct receive *receive)
{
    inbox->complete += receive->arrived == receive->slices;
}

/* Those that are complete and expected. */
static void drop_complete(struct inbox *inbox)
{
    for (uint32_t i = inbox->count; i-- > 0;) {
        struct receive *receive = &inbox->receives[i];
        if (receive->expected && receive->slices > 0 && receive->arrived >= receive->slices) {
            drop(inbox, receive);
            inbox->complete--;
        }
    }
}

static void differ(const struct transfer *transfer, uint64_t step, struct error *error)
{
    error_set(error, STATUS_INPUT,
              "step %llu: the members of one group send different chunks to their switch",
              (unsigned long long)step + 1);
    if (error)
        error->line = transfer->op->line;
}

/* Found, or new. NULL: error. */
static inline __attribute__((always_inline)) struct receive *record(struct inbox *inbox,
                                                                    const struct transfer *transfer,
                                                                    uint64_t step,
                                                                    struct error *error)
{
    const uint32_t op = transfer->op->number, edge = transfer->edge;
    const uint32_t from = transfer->to == TRANSFER_SWITCH ? 0 : transfer->from;
    struct receive *receive = find(inbox, step, op, from, edge);
    if (receive) {
        if (receive->chunk == transfer->into && receive->count == transfer->count)
            return receive;
        return differ(transfer, step, error), NULL;
    }
    if (inbox->count == inbox->capacity && !inbox_grow(inbox))
        return no_memory(error), NULL;
    receive = &inbox->receives[inbox->count++];
    *receive = (struct receive){.step = step,
                                .op = op,
                                .from = from,
                                .edge = edge,
                                .chunk = transfer->into,
                                .count = transfer->count};
    return receive;
}

static enum status expect(struct inbox *inbox, const struct transfer *transfer, uint64_t step,
                          struct error *error)
{
    struct receive *receive = record(inbox, transfer, step, error);
    if (!receive)
        return error ? error->status : STATUS_NOMEM;
    receive->expected = true;
    receive->senders++;
    return STATUS_OK;
}

/* Look through one step for one operation. */
static enum status look(struct mailroom *mailroom, uint32_t rank, uint32_t op,
                        const struct plan_cursor *cursor, struct error *error)
{
    const struct plan *plan = mailroom->plan;
    const struct plan_op *operation = &plan->ops[op];
    struct inbox *inbox = &mailroom->inbox[rank];
    struct transfer transfer;
    enum status status = STATUS_OK;
    int found = 0;
    if (inbox->last.op == operation && plan_turn(plan, cursor, &inbox->last))
        return expect(inbox, &inbox->last, cursor->step, error);
    if (operation->kind == PLAN_RECEIVE)
        return STATUS_OK;
    if (operation->kind == PLAN_UP) {
        for (uint32_t r = 0;
             rank >= mailroom->ranks && r < mailroom->ranks && !status && found >= 0; r++) {
            found = plan_transfer(plan, operation, cursor, r, 0, &transfer, error);
            if (found > 0 && transfer.group == rank - mailroom->ranks)
                status = expect(inbox, &transfer, cursor->step, error);
        }
    } else if (rank >= mailroom->ranks) {
        return STATUS_OK;
    } else if (operation->kind == PLAN_DOWN) {
        found = plan_transfer(plan, operation, cursor, rank, 0, &transfer, error);
        if (found > 0)
            status = expect(inbox, &transfer, cursor->step, error);
    } else if (operation->invertible) {
        const int64_t from = rule_invert(&operation->to, rank, cursor->loops);
        if (from < 0 || from >= plan->ranks)
            return STATUS_OK;
        found = plan_transfer(plan, operation, cursor, (uint32_t)from, 0, &transfer, error);
        if (found > 0 && transfer.to == rank) {
            status = expect(inbox, &transfer, cursor->step, error);
            if (operation->stays)
                inbox->last = transfer;
        }
    } else {
        struct sender_index *index = index_get(mailroom, op, cursor, error);
        if (!index)
            return error ? error->status : STATUS_INPUT;
        for (uint32_t i = index->start[rank]; i < index->start[rank + 1] && !status; i++)
            status = expect(inbox, &index->transfers[i], cursor->step, error);
        index_pass(mailroom, index);
    }
    return found < 0 ? STATUS_INPUT : status;
}

enum status mailroom_look(struct mailroom *mailroom, uint32_t rank, uint64_t step,
                          struct error *error)
{
    struct inbox *inbox = &mailroom->inbox[rank];
    while (!inbox->horizon.done && inbox->horizon.step < step) {
        const struct plan_instruction *in = &mailroom->plan->program[inbox->horizon.at];
        for (uint32_t i = 0; i < in->op_count; i++) {
            enum status status = look(mailroom, rank, in->first_op + i, &inbox->horizon, error);
            if (status)
                return status;
        }
        if (inbox->complete > 0)
            drop_complete(inbox);
        plan_next(mailroom->plan, &inbox->horizon);
    }
    return STATUS_OK;
}

/* ---- messages that receives wait for --------------------------------------------------------- */

static size_t tally_place(const struct tally *tallies, size_t capacity, uint64_t key)
{
    size_t at = (size_t)((key * 0x9e3779b97f4a7c15u) >> 20) & (capacity - 1);
    while (tallies[at].key != 0 && tallies[at].key != key)
        at = (at + 1) & (capacity - 1);
    return at;
}

/* The entry, new ones at zero; NULL when memory is short. */
static struct tally *tally_get(struct mailroom *mailroom, uint32_t rank, uint32_t from,
                               uint8_t lane, struct error *error)
{
    uint64_t key = ((uint64_t)rank << 36 | (uint64_t)from << 8 | lane) + 1;
    if (2 * (mailroom->tally_count + 1) > mailroom->tally_capacity) {
        size_t capacity = mailroom->tally_capacity ? 2 * mailroom->tally_capacity : 64;
        struct tally *grown = calloc(capacity, sizeof *grown);
        if (!grown) {
            no_memory(error);
            return NULL;
        }
        for (size_t i = 0; i < mailroom->tally_capacity; i++)
            if (mailroom->tallies[i].key)
                grown[tally_place(grown, capacity, mailroom->tallies[i].key)] =
                    mailroom->tallies[i];
        free(mailroom->tallies);
        mailroom->tallies = grown;
        mailroom->tally_capacity = capacity;
    }
    struct tally *tally =
        &mailroom->tallies[tally_place(mailroom->tallies, mailroom->tally_capacity, key)];
    mailroom->tally_count += tally->key == 0;
    tally->key = key;
    return tally;
}

int mailroom_take(struct mailroom *mailroom, uint32_t rank, uint32_t from, uint8_t lane,
                  struct error *error)
{
    struct tally *tally = tally_get(mailroom, rank, from, lane, error);
    if (!tally)
        return -1;
    if (tally->taken == tally->complete)
        return 0;
    tally->taken++;
    return 1;
}

/* The switch adds: a slice is there when every member of its group has sent it. */
static int arrive_at_switch(struct mailroom *mailroom, uint32_t box, struct receive *receive,
                            uint32_t slice, struct error *error)
{
    if (!receive->missing) {
        if (!receive->expected) {
            const uint64_t step = receive->step;
            const uint32_t op = receive->op;
            if (mailroom_look(mailroom, box, step + 1, error))
                return -1;
            receive = find(&mailroom->inbox[box], step, op, 0, 0);
        }
        receive->missing = malloc(receive->slices * sizeof *receive->missing);
        if (!receive->missing) {
            no_memory(error);
            return -1;
        }
        for (uint32_t i = 0; i < receive->slices; i++)
            receive->missing[i] = receive->senders;
    }
    const uint32_t before = receive->arrived;
    receive->missing[slice]--;
    if (slice >= receive->top)
        receive->top = slice + 1;
    while (receive->arrived < receive->slices && receive->missing[receive->arrived] == 0) {
        receive->arrived++;
        count_arrived(&mailroom->inbox[box], receive);
    }
    return receive->arrived > before;
}

int mailroom_arrive(struct mailroom *mailroom, const struct transfer *transfer, uint64_t step,
                    uint32_t slice, uint32_t slices, struct error *error)
{
    bool to_switch = transfer->to == TRANSFER_SWITCH;
    uint32_t box = to_switch ? mailroom->ranks + transfer->group : transfer->to;
    struct inbox *inbox = &mailroom->inbox[box];
    struct receive *receive = record(inbox, transfer, step, error);
    if (!receive)
        return -1;
    receive->slices = slices;
    if (to_switch)
        return arrive_at_switch(mailroom, box, receive, slice, error);
    receive->arrived++;
    if (mailroom->plan->uses_receives && receive->arrived == slices &&
        transfer->from != TRANSFER_SWITCH) {
        struct tally *tally =
            tally_get(mailroom, transfer->to, transfer->from, transfer->op->lane, error);
        if (!tally)
            return -1;
        tally->complete++;
    }
    if (receive->expected && receive->arrived == slices)
        drop(inbox, receive);
    else
        count_arrived(inbox, receive);
    return 1;
}

/* Those up to the end of the slice, by position in the message. */
uint64_t mailroom_needed(const struct receive *receive, const struct plan_cursor *cursor,
                         const struct transfer *transfer, uint32_t slice, uint32_t slices)
{
    if (receive->step < cursor->fence)
        return receive->slices > 0 ? receive->slices : 1;
    /* Positions in units of 1/slices of a chunk. */
    uint64_t end = (uint64_t)transfer->chunk * slices + (uint64_t)transfer->count * (slice + 1u);
    uint64_t start = end - transfer->count;
    uint64_t low = (uint64_t)receive->chunk * slices;
    uint64_t high = low + (uint64_t)receive->count * slices;
    if (end <= low || start >= high)
        return 0;
    if (receive->slices <= 1)
        return 1; /* 0, not begun: certainly not here */
    uint64_t reach = (end < high ? end : high) - low;
    uint64_t length = high - low;
    return (reach * receive->slices + length - 1) / length;
}

static inline const struct receive *blocker(const struct inbox *inbox,
                                            const struct plan_cursor *cursor,
                                            const struct transfer *transfer, uint32_t slice,
                                            uint32_t slices)
{
    for (uint32_t i = 0; i < inbox->count; i++) {
        const struct receive *receive = &inbox->receives[i];
        const bool complete = receive->slices > 0 && receive->arrived == receive->slices;
        if (receive->step < cursor->step && !complete &&
            receive->arrived < mailroom_needed(receive, cursor, transfer, slice, slices))
            return receive;
    }
    return NULL;
}

bool mailroom_misses(const struct inbox *inbox, const struct plan_cursor *cursor,
                     const struct transfer *transfer, uint32_t slice, uint32_t slices)
{
    return blocker(inbox, cursor, transfer, slice, slices) != NULL;
}

const struct receive *mailroom_blocker(const struct mailroom *mailroom, uint32_t rank,
                                       const struct plan_cursor *cursor,
                                       const struct transfer *transfer)
{
    return blocker(&mailroom->inbox[rank], cursor, transfer, 0, 1);
}

/* verify.c: see verify.h. */
#include "sim/core/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/contribution.h"
#include "sim/core/deadlock.h"

#define NEVER UINT64_MAX

struct cell {
    uint32_t set;
    uint32_t writer;
    bool added;    /* the last write added; otherwise it overwrote */
    uint64_t step; /* of the last write; NEVER */
};

/* What one transfer carries, read before anything of the step is written. */
struct parcel {
    struct transfer transfer;
    uint32_t *sets;
};

struct verifier {
    const struct plan *plan;
    struct verdict *verdict;
    struct error *error;
    struct contributions all;
    uint32_t width;     /* cells of a rank: the message, and the result if there is one */
    struct cell *cells; /* ranks rows of `width`, then one for the switch of each group */
    struct parcel *parcels;
    size_t parcel_count, parcel_capacity;
    uint32_t *sent_to; /* by rank and lane: by its last send; UINT32_MAX: none yet */
};

static enum status no_memory(struct error *error)
{
    return error_set(error, STATUS_NOMEM, "out of memory");
}

static struct cell *cell(struct verifier *v, const struct transfer *transfer, uint32_t rank,
                         uint32_t chunk)
{
    uint32_t row = rank == TRANSFER_SWITCH ? v->plan->ranks + transfer->group : rank;
    return &v->cells[(size_t)row * v->width + chunk];
}

static const char *who(uint32_t rank, char *buf, size_t size)
{
    if (rank == TRANSFER_SWITCH)
        snprintf(buf, size, "the switch");
    else
        snprintf(buf, size, "rank %u", rank);
    return buf;
}

/* A cell as the script's author knows it: "chunk 3", "chunk 3 of the result". */
static const char *which(const struct verifier *v, uint32_t cell, char *buf, size_t size)
{
    bool result = cell >= v->plan->chunks;
    snprintf(buf, size, "chunk %u%s", result ? cell - v->plan->chunks : cell,
             result ? " of the result" : "");
    return buf;
}

/* The n-th chunk of the transfer cannot go. */
static void fault(struct verifier *v, uint64_t step, const struct transfer *transfer, uint32_t n,
                  const char *what)
{
    char from[32], to[32], chunk[48], place[48], into[64] = "";
    v->verdict->correct = false;
    v->verdict->step = step;
    v->verdict->rank = transfer->to;
    v->verdict->chunk = (transfer->chunk + n) % v->plan->chunks;
    v->verdict->line = transfer->op->line;
    if (transfer->into != transfer->chunk)
        snprintf(into, sizeof into, " into %s", which(v, transfer->into + n, place, sizeof place));
    snprintf(v->verdict->sentence, sizeof v->verdict->sentence,
             "In step %llu %s sends %s to %s%s, but %s.", (unsigned long long)step + 1,
             who(transfer->from, from, sizeof from),
             which(v, transfer->chunk + n, chunk, sizeof chunk), who(transfer->to, to, sizeof to),
             into, what);
}

/* ---- what there is at the start, and must be at the end ------------------------------------- */

/* Chunks of rank r in collectives that deal the message out: an equal block each. */
static uint32_t block_owner(const struct plan *plan, uint32_t chunk)
{
    return (uint32_t)((uint64_t)chunk * plan->ranks / plan->chunks);
}

/* In an alltoall what counts is not only who sent a chunk but also for whom: contribution
 * (s * ranks + d) is what rank s has for rank d. */
static uint32_t exchanged(struct verifier *v, uint32_t source, uint32_t destination)
{
    uint32_t id = source * v->plan->ranks + destination;
    return contribution_range(&v->all, id, id);
}

static void print_set(const struct verifier *v, uint32_t set, char *buf, size_t size)
{
    contribution_print(&v->all, set, buf, size);
    if (v->plan->collective != COLLECTIVE_ALLTOALL || set == CONTRIBUTION_NONE)
        return;
    uint32_t id = contribution_common(&v->all, set, set);
    snprintf(buf, size, "what rank %u has for rank %u", id / v->plan->ranks, id % v->plan->ranks);
}

/* What a chunk of the message holds before the first step. The result holds nothing. */
static uint32_t starts_with(struct verifier *v, uint32_t rank, uint32_t chunk)
{
    const struct plan *plan = v->plan;
    bool own = true;
    switch (plan->collective) {
    case COLLECTIVE_ALLTOALL:
        return exchanged(v, rank, block_owner(plan, chunk));
    case COLLECTIVE_ALLGATHER:
        own = block_owner(plan, chunk) == rank;
        break;
    case COLLECTIVE_BROADCAST:
        own = rank == plan->root;
        break;
    case COLLECTIVE_ALLREDUCE:
    case COLLECTIVE_REDUCE_SCATTER:
    case COLLECTIVE_REDUCE:
    case COLLECTIVE_SENDRECV:
    case COLLECTIVE_TRANSFERS:
    case COLLECTIVE_COUNT:
        break;
    }
    return own ? contribution_range(&v->all, rank, rank) : CONTRIBUTION_NONE;
}

/* Where the promise is kept: alltoall and sendrecv have a buffer of their own for it. */
static bool promises_result(const struct plan *plan)
{
    return plan->collective == COLLECTIVE_ALLTOALL || plan->collective == COLLECTIVE_SENDRECV;
}

/* The set that must be there at the end, or NONE where it does not matter. */
static uint32_t must_end_with(struct verifier *v, uint32_t rank, uint32_t chunk, uint32_t all)
{
    const struct plan *plan = v->plan;
    switch (plan->collective) {
    case COLLECTIVE_ALLREDUCE:
        return all;
    case COLLECTIVE_REDUCE:
        return rank == plan->root ? all : CONTRIBUTION_NONE;
    case COLLECTIVE_REDUCE_SCATTER:
        return block_owner(plan, chunk) == rank ? all : CONTRIBUTION_NONE;
    case COLLECTIVE_ALLGATHER:
        return contribution_range(&v->all, block_owner(plan, chunk), block_owner(plan, chunk));
    case COLLECTIVE_BROADCAST:
        return contribution_range(&v->all, plan->root, plan->root);
    case COLLECTIVE_ALLTOALL: /* a rank's own block needs no copy */
        return block_owner(plan, chunk) == rank ? CONTRIBUTION_NONE
                                                : exchanged(v, block_owner(plan, chunk), rank);
    case COLLECTIVE_SENDRECV:
        return contribution_range(&v->all, (rank + plan->ranks - 1) % plan->ranks,
                                  (rank + plan->ranks - 1) % plan->ranks);
    case COLLECTIVE_TRANSFERS:
    case COLLECTIVE_COUNT:
        break;
    }
    return CONTRIBUTION_NONE;
}

static bool check_end(struct verifier *v)
{
    const struct plan *plan = v->plan;
    uint32_t all = contribution_range(&v->all, 0, plan->ranks - 1);
    if (all == CONTRIBUTION_FULL)
        return false;
    for (uint32_t rank = 0; rank < plan->ranks; rank++)
        for (uint32_t chunk = 0; chunk < plan->chunks; chunk++) {
            uint32_t want = must_end_with(v, rank, chunk, all);
            uint32_t at = chunk + (promises_result(plan) ? plan->chunks : 0);
            const struct cell *c = &v->cells[(size_t)rank * v->width + at];
            if (want == CONTRIBUTION_NONE || want == c->set)
                continue;
            char held[128], wanted[128], last[96] = "it was never written";
            print_set(v, c->set, held, sizeof held);
            print_set(v, want, wanted, sizeof wanted);
            char writer[32], place[48];
            if (c->step != NEVER)
                snprintf(last, sizeof last, "it was last written in step %llu, by %s",
                         (unsigned long long)c->step + 1, who(c->writer, writer, sizeof writer));
            uint32_t lacks = want == all && c->set != CONTRIBUTION_NONE
                                 ? contribution_lacks(&v->all, c->set, plan->ranks)
                                 : UINT32_MAX;
            char missing[64] = "";
            if (lacks != UINT32_MAX)
                snprintf(missing, sizeof missing, "lacks the contribution of rank %u: it ", lacks);
            v->verdict->correct = false;
            v->verdict->step = plan->steps;
            v->verdict->rank = rank;
            v->verdict->chunk = chunk;
            snprintf(v->verdict->sentence, sizeof v->verdict->sentence,
                     "At the end %s of rank %u %sholds %s and should hold %s; %s.",
                     which(v, at, place, sizeof place), rank, missing, held, wanted, last);
            return false;
        }
    return true;
}

/* What is packed goes with what the lane has sent just before. */
static void check_packed(struct verifier *v, const struct plan_cursor *cursor,
                         const struct transfer *transfer)
{
    uint32_t *last = &v->sent_to[(size_t)transfer->from * v->plan->lanes + transfer->op->lane];
    bool packed = rule_eval(&transfer->op->packed, transfer->from, cursor->loops) != 0;
    if (packed && *last != transfer->to && v->verdict->correct) {
        v->verdict->correct = false;
        v->verdict->step = cursor->step;
        v->verdict->rank = transfer->from;
        v->verdict->chunk = transfer->chunk % v->plan->chunks;
        v->verdict->line = transfer->op->line;
        snprintf(
            v->verdict->sentence, sizeof v->verdict->sentence,
            "In step %llu rank %u packs what it sends to rank %u, but its last message in lane "
            "%u did not go there.",
            (unsigned long long)cursor->step + 1, transfer->from, transfer->to, transfer->op->lane);
    }
    *last = transfer->to;
}

/* ---- one step ------------------------------------------------------------------------------- */

static enum status post(struct verifier *v, const struct transfer *transfer, uint64_t step)
{
    if (v->parcel_count == v->parcel_capacity) {
        size_t capacity = v->parcel_capacity ? 2 * v->parcel_capacity : 64;
        struct parcel *grown = realloc(v->parcels, capacity * sizeof *grown);
        if (!grown)
            return no_memory(v->error);
        v->parcels = grown;
        v->parcel_capacity = capacity;
    }
    struct parcel *parcel = &v->parcels[v->parcel_count];
    parcel->transfer = *transfer;
    parcel->sets = malloc(transfer->count * sizeof *parcel->sets);
    if (!parcel->sets)
        return no_memory(v->error);
    v->parcel_count++;
    v->verdict->transfers++;
    for (uint32_t i = 0; i < transfer->count; i++) {
        parcel->sets[i] = cell(v, transfer, transfer->from, transfer->chunk + i)->set;
        if (parcel->sets[i] == CONTRIBUTION_NONE && v->verdict->correct) {
            char from[32], what[96];
            snprintf(what, sizeof what, "%s has nothing in it yet",
                     who(transfer->from, from, sizeof from));
            fault(v, step, transfer, i, what);
        }
    }
    return STATUS_OK;
}

static enum status deliver_chunk(struct verifier *v, const struct transfer *transfer, uint32_t n,
                                 uint32_t set, uint64_t step)
{
    struct cell *to = cell(v, transfer, transfer->to, transfer->into + n);
    bool adds = transfer->op->reduce || transfer->to == TRANSFER_SWITCH;
    bool written_now = to->step == step;
    char what[384], held[128], other[32], arriving[128];
    if (written_now && !(adds && to->added)) {
        snprintf(what, sizeof what, "%s writes the same chunk in the same step",
                 who(to->writer, other, sizeof other));
        fault(v, step, transfer, n, what);
        return STATUS_OK;
    }
    if (adds && to->set != CONTRIBUTION_NONE) {
        uint32_t sum = contribution_add(&v->all, to->set, set);
        if (sum == CONTRIBUTION_FULL)
            return no_memory(v->error);
        if (sum == CONTRIBUTION_TWICE) {
            print_set(v, to->set, held, sizeof held);
            print_set(v, set, arriving, sizeof arriving);
            snprintf(what, sizeof what,
                     "what arrives holds %s and %s already holds %s: the contribution of rank %u "
                     "would be counted twice",
                     arriving, who(transfer->to, other, sizeof other), held,
                     contribution_common(&v->all, to->set, set));
            fault(v, step, transfer, n, what);
            return STATUS_OK;
        }
        set = sum;
    } else if (adds && transfer->to != TRANSFER_SWITCH) {
        fault(v, step, transfer, n, "the receiver has nothing to add it to");
        return STATUS_OK;
    }
    *to = (struct cell){.set = set, .writer = transfer->from, .added = adds, .step = step};
    return STATUS_OK;
}

static enum status run_step(struct verifier *v, const struct plan_cursor *cursor)
{
    const struct plan_instruction *in = &v->plan->program[cursor->at];
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < in->op_count && !status; i++) {
        const struct plan_op *op = &v->plan->ops[in->first_op + i];
        struct transfer transfer;
        for (uint32_t rank = 0; rank < v->plan->ranks && !status; rank++)
            for (uint32_t n = 0; !status; n++) {
                int found = plan_transfer(v->plan, op, cursor, rank, n, &transfer, v->error);
                if (found == 0)
                    break;
                status = found < 0 ? STATUS_INPUT : post(v, &transfer, cursor->step);
                if (!status && transfer.from != TRANSFER_SWITCH)
                    check_packed(v, cursor, &transfer);
            }
    }
    for (size_t i = 0; i < v->parcel_count && !status; i++)
        for (uint32_t n = 0; n < v->parcels[i].transfer.count && !status && v->verdict->correct;
             n++)
            status =
                deliver_chunk(v, &v->parcels[i].transfer, n, v->parcels[i].sets[n], cursor->step);
    /* What the switch has sent down is gone from it. */
    for (size_t i = 0; i < v->parcel_count; i++) {
        const struct transfer *transfer = &v->parcels[i].transfer;
        for (uint32_t n = 0; transfer->from == TRANSFER_SWITCH && n < transfer->count; n++)
            cell(v, transfer, TRANSFER_SWITCH, transfer->chunk + n)->set = CONTRIBUTION_NONE;
        free(v->parcels[i].sets);
    }
    v->parcel_count = 0;
    return status;
}

static enum status verifier_init(struct verifier *v, const struct plan *plan,
                                 struct verdict *verdict, struct error *error)
{
    memset(v, 0, sizeof *v);
    v->plan = plan;
    v->verdict = verdict;
    v->error = error;
    bool result = plan->uses_result || promises_result(plan);
    v->width = plan->chunks * (result ? 2 : 1);
    uint64_t cells = ((uint64_t)plan->ranks + plan->groups) * v->width;
    if (cells > VERIFY_MAX_CELLS)
        return error_set(error, STATUS_INPUT,
                         "%u ranks times %u chunks is too large to be verified", plan->ranks,
                         plan->chunks);
    bool deals = plan->collective == COLLECTIVE_ALLGATHER ||
                 plan->collective == COLLECTIVE_REDUCE_SCATTER ||
                 plan->collective == COLLECTIVE_ALLTOALL;
    if (deals && plan->chunks % plan->ranks != 0)
        return error_set(error, STATUS_INPUT,
                         "%s gives every rank the same number of chunks, but %u chunks do not "
                         "divide by %u ranks%s",
                         collective_name(plan->collective), plan->chunks, plan->ranks,
                         plan->chunks == 1 ? " (p:split(n) cuts the message)" : "");
    const size_t lanes = (size_t)plan->ranks * plan->lanes;
    v->cells = malloc(cells * sizeof *v->cells);
    v->sent_to = malloc((lanes + 1) * sizeof *v->sent_to);
    if (!v->cells || !v->sent_to || !contributions_init(&v->all))
        return no_memory(error);
    memset(v->sent_to, 0xff, lanes * sizeof *v->sent_to);
    for (uint64_t i = 0; i < cells; i++)
        v->cells[i] = (struct cell){.set = CONTRIBUTION_NONE, .step = NEVER};
    for (uint32_t rank = 0; rank < plan->ranks; rank++)
        for (uint32_t chunk = 0; chunk < plan->chunks; chunk++) {
            uint32_t set = starts_with(v, rank, chunk);
            if (set == CONTRIBUTION_FULL)
                return no_memory(error);
            v->cells[(size_t)rank * v->width + chunk].set = set;
        }
    return STATUS_OK;
}

static enum status check_deadlock(const struct plan *plan, struct verdict *verdict,
                                  struct error *error)
{
    struct deadlock deadlock;
    enum status status = deadlock_find(plan, &deadlock, error);
    if (status || !deadlock.found)
        return status;
    *verdict =
        (struct verdict){.step = deadlock.step, .rank = deadlock.rank, .line = deadlock.line};
    memcpy(verdict->sentence, deadlock.sentence, sizeof deadlock.sentence);
    return STATUS_OK;
}

static enum status check_buffer(const struct plan *plan, struct verdict *verdict,
                                struct error *error)
{
    enum status status = buffer_need(plan, &verdict->buffer, error);
    const struct buffer_need *need = &verdict->buffer;
    uint64_t limit = buffer_limit(plan);
    if (status || need->chunks <= limit)
        return status;
    verdict->correct = false;
    verdict->unbounded = true;
    verdict->step = need->step;
    verdict->rank = need->rank;
    snprintf(verdict->sentence, sizeof verdict->sentence,
             "The sums are right, but if rank %u falls behind before step %llu, others can send it "
             "%llu chunks that it cannot use yet: %.3g messages of buffer, and %.3g count as "
             "bounded (1 + log2 of the ranks, or 1.5 log2).",
             need->rank, (unsigned long long)need->step + 1, (unsigned long long)need->chunks,
             (double)need->chunks / plan->chunks, (double)limit / plan->chunks);
    return STATUS_OK;
}

static enum status check_sums(const struct plan *plan, struct verdict *verdict, struct error *error)
{
    struct verifier v;
    struct plan_cursor cursor;
    enum status status = verifier_init(&v, plan, verdict, error);
    for (plan_first(plan, &cursor); !status && verdict->correct && !cursor.done;
         plan_next(plan, &cursor))
        status = run_step(&v, &cursor);
    if (!status && verdict->correct && check_end(&v))
        snprintf(verdict->sentence, sizeof verdict->sentence,
                 "Every rank ends with what %s promises, each contribution exactly once.",
                 collective_name(plan->collective));
    free(v.cells);
    free(v.sent_to);
    free(v.parcels);
    contributions_free(&v.all);
    return status;
}

enum status verify_plan(const struct plan *plan, struct verdict *ret_verdict, struct error *error)
{
    struct verdict verdict = {.correct = true};
    enum status status = check_deadlock(plan, &verdict, error);
    if (!status && verdict.correct)
        status = check_sums(plan, &verdict, error);
    if (!status && verdict.correct)
        status = check_buffer(plan, &verdict, error);
    if (!status)
        *ret_verdict = verdict;
    return status;
}

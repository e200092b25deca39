/* buffer.c: see buffer.h. */
#include "sim/core/buffer.h"

#include <stdlib.h>
#include <string.h>

#define NO_MESSAGE UINT32_MAX

/* A transfer, or a receive (from, to, lane, match). Steps count from 1, so that 0 can say "none".
 */
struct item {
    uint32_t from, to; /* rows: ranks, then the switches of groups */
    uint32_t chunk, into, count;
    uint32_t step;
    uint32_t match; /* of a receive: the item it waits for */
    uint8_t lane;
    bool adds, receive;
};

struct survey {
    const struct plan *plan;
    uint32_t width; /* cells of a row */
    size_t rows;
    struct item *items;
    size_t count, capacity;
    uint64_t cells_passed; /* in one walk */
    /* of one walk: */
    uint32_t *depends;      /* by cell of every row: the last step of r */
    uint32_t *lane_depends; /* by rank and lane */
    uint32_t *message;      /* by item */
    uint32_t *last_use;     /* by cell of r: the last step in which it was read or added to */
    int64_t *change;        /* by step: by how much the need changes there */
};

static enum status no_memory(struct error *error)
{
    return error_set(error, STATUS_NOMEM, "out of memory");
}

/* ---- the plan as a list --------------------------------------------------------------------- */

static enum status add(struct survey *survey, const struct item *item, struct error *error)
{
    if (survey->count == survey->capacity) {
        size_t capacity = survey->capacity ? 2 * survey->capacity : 256;
        struct item *grown = realloc(survey->items, capacity * sizeof *grown);
        if (!grown)
            return no_memory(error);
        survey->items = grown;
        survey->capacity = capacity;
    }
    survey->items[survey->count++] = *item;
    survey->cells_passed += item->receive ? 1 : item->count;
    return STATUS_OK;
}

static enum status add_transfer(struct survey *survey, const struct transfer *transfer,
                                uint64_t step, struct error *error)
{
    uint32_t ranks = survey->plan->ranks;
    struct item item = {
        .from = transfer->from == TRANSFER_SWITCH ? ranks + transfer->group : transfer->from,
        .to = transfer->to == TRANSFER_SWITCH ? ranks + transfer->group : transfer->to,
        .chunk = transfer->chunk,
        .into = transfer->into,
        .count = transfer->count,
        .step = (uint32_t)step + 1,
        .lane = transfer->op->lane,
        .adds = transfer->op->reduce};
    return add(survey, &item, error);
}

static enum status list_step(struct survey *survey, const struct plan_cursor *cursor,
                             struct error *error)
{
    const struct plan *plan = survey->plan;
    const struct plan_instruction *in = &plan->program[cursor->at];
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < in->op_count && !status; i++) {
        const struct plan_op *op = &plan->ops[in->first_op + i];
        for (uint32_t rank = 0; rank < plan->ranks && !status; rank++) {
            struct transfer transfer;
            struct item wait = {.to = rank,
                                .step = (uint32_t)cursor->step + 1,
                                .match = NO_MESSAGE,
                                .lane = op->lane,
                                .receive = true};
            if (plan_receive(plan, op, cursor, rank, &wait.from, error) > 0)
                status = add(survey, &wait, error);
            for (uint32_t n = 0; !status; n++) {
                int found = plan_transfer(plan, op, cursor, rank, n, &transfer, error);
                if (found == 0)
                    break;
                status =
                    found < 0 ? STATUS_INPUT : add_transfer(survey, &transfer, cursor->step, error);
            }
        }
    }
    return status;
}

/* ---- which message a receive waits for ------------------------------------------------------ */

struct place {
    uint64_t pair; /* from, to, lane */
    uint32_t index;
    bool receive;
};

static int by_pair(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->pair != y->pair)
        return x->pair < y->pair ? -1 : 1;
    if (x->receive != y->receive)
        return x->receive ? 1 : -1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* The k-th receive of a pair waits for the k-th message. */
static enum status match(struct survey *survey, struct error *error)
{
    struct place *places = malloc((survey->count + 1) * sizeof *places);
    if (!places)
        return no_memory(error);
    for (size_t i = 0; i < survey->count; i++) {
        const struct item *item = &survey->items[i];
        places[i] = (struct place){.pair = (uint64_t)item->from << 36 | (uint64_t)item->to << 8 |
                                           item->lane,
                                   .index = (uint32_t)i,
                                   .receive = item->receive};
    }
    qsort(places, survey->count, sizeof *places, by_pair);
    size_t next = 0; /* message of the pair */
    for (size_t i = 0; i < survey->count; i++) {
        if (i == 0 || places[i].pair != places[i - 1].pair)
            next = i;
        if (!places[i].receive)
            continue;
        bool there = !places[next].receive && places[next].pair == places[i].pair;
        if (there && places[next].index < places[i].index)
            survey->items[places[i].index].match = places[next].index;
        next += there;
    }
    free(places);
    return STATUS_OK;
}

/* ---- one rank that stops -------------------------------------------------------------------- */

static uint32_t later(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* What item i depends on: the last step of r. Everything of its step has been read but not yet
 * written. */
static void send(struct survey *survey, size_t i, uint32_t r)
{
    const struct item *item = &survey->items[i];
    bool by_switch = item->from >= survey->plan->ranks;
    uint32_t *lane =
        &survey->lane_depends[(size_t)(by_switch ? 0 : item->from) * survey->plan->lanes +
                              item->lane];
    if (item->receive) {
        lane = &survey->lane_depends[(size_t)item->to * survey->plan->lanes + item->lane];
        if (item->match != NO_MESSAGE)
            *lane = later(*lane, survey->message[item->match]);
        return;
    }
    uint32_t depends = by_switch ? 0 : *lane;
    const uint32_t *cells = &survey->depends[(size_t)item->from * survey->width + item->chunk];
    for (uint32_t c = 0; c < item->count; c++)
        depends = later(depends, cells[c]);
    if (item->from == r) {
        depends = item->step;
        for (uint32_t c = 0; c < item->count; c++)
            survey->last_use[item->chunk + c] = item->step;
    }
    survey->message[i] = depends;
    if (!by_switch)
        *lane = depends;
}

/* It arrives. At r it waits while r stands before one of the steps depends + 1 .. until. */
static void arrive(struct survey *survey, size_t i, uint32_t r)
{
    const struct item *item = &survey->items[i];
    const uint32_t depends = survey->message[i];
    uint32_t *cells = &survey->depends[(size_t)item->to * survey->width + item->into];
    for (uint32_t c = 0; c < item->count; c++) {
        cells[c] = later(cells[c], depends);
        if (item->to != r)
            continue;
        uint32_t *use = &survey->last_use[item->into + c];
        if (item->adds)
            *use = item->step;
        if (depends < *use) {
            survey->change[depends + 1]++;
            survey->change[*use + 1]--;
        }
    }
}

static void walk(struct survey *survey, uint32_t r)
{
    const struct plan *plan = survey->plan;
    memset(survey->depends, 0, survey->rows * survey->width * sizeof *survey->depends);
    memset(survey->lane_depends, 0, (size_t)plan->ranks * plan->lanes * sizeof(uint32_t));
    memset(survey->last_use, 0, survey->width * sizeof *survey->last_use);
    memset(survey->change, 0, (plan->steps + 3) * sizeof *survey->change);
    for (size_t begin = 0, end; begin < survey->count; begin = end) {
        for (end = begin;
             end < survey->count && survey->items[end].step == survey->items[begin].step; end++)
            send(survey, end, r);
        for (size_t i = begin; i < end; i++)
            if (!survey->items[i].receive)
                arrive(survey, i, r);
    }
}

static void look_at(struct survey *survey, uint32_t r, struct buffer_need *need)
{
    int64_t waits = 0;
    walk(survey, r);
    for (uint64_t s = 1; s <= survey->plan->steps; s++) {
        waits += survey->change[s];
        if (waits > (int64_t)need->chunks) {
            need->chunks = (uint64_t)waits;
            need->rank = r;
            need->step = s - 1;
        }
    }
}

/* ---- all ------------------------------------------------------------------------------------ */

static enum status survey_open(struct survey *survey, const struct plan *plan, struct error *error)
{
    enum status status = STATUS_OK;
    struct plan_cursor cursor;
    *survey = (struct survey){.plan = plan,
                              .width = plan->chunks * (plan->uses_result ? 2 : 1),
                              .rows = (size_t)plan->ranks + plan->groups};
    for (plan_first(plan, &cursor); !status && !cursor.done; plan_next(plan, &cursor))
        status = list_step(survey, &cursor, error);
    if (!status && plan->uses_receives)
        status = match(survey, error);
    if (status)
        return status;
    survey->depends = malloc(survey->rows * survey->width * sizeof *survey->depends);
    survey->lane_depends = malloc(((size_t)plan->ranks * plan->lanes + 1) * sizeof(uint32_t));
    survey->message = malloc((survey->count + 1) * sizeof *survey->message);
    survey->last_use = malloc(survey->width * sizeof *survey->last_use);
    survey->change = malloc((plan->steps + 3) * sizeof *survey->change);
    bool all = survey->depends && survey->lane_depends && survey->message && survey->last_use &&
               survey->change;
    return all ? STATUS_OK : no_memory(error);
}

static void survey_close(struct survey *survey)
{
    free(survey->items);
    free(survey->depends);
    free(survey->lane_depends);
    free(survey->message);
    free(survey->last_use);
    free(survey->change);
}

enum status buffer_need(const struct plan *plan, struct buffer_need *ret_need, struct error *error)
{
    struct survey survey;
    struct buffer_need need = {0};
    enum status status = survey_open(&survey, plan, error);
    if (!status) {
        uint64_t each = survey.cells_passed + survey.rows * survey.width + 1;
        uint64_t ranks = BUFFER_WORK / each;
        ranks = ranks < 2 ? 2 : ranks;
        need.ranks = ranks < plan->ranks ? (uint32_t)ranks : plan->ranks;
        for (uint32_t i = 0; i < need.ranks; i++) /* the first, the last, and between them */
            look_at(&survey,
                    need.ranks < 2 ? 0
                                   : (uint32_t)((uint64_t)i * (plan->ranks - 1) / (need.ranks - 1)),
                    &need);
        *ret_need = need;
    }
    survey_close(&survey);
    return status;
}

uint64_t buffer_limit(const struct plan *plan)
{
    uint64_t levels = 0;
    while ((uint64_t)1 << levels < plan->ranks)
        levels++;
    uint64_t radix_four = levels + levels / 2;
    return (radix_four > 1 + levels ? radix_four : 1 + levels) * plan->chunks;
}

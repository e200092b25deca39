/* order_rows.c: a plan is written down as rows. See order_rows.h. */
#include "sim/core/order_rows.h"

#include <stdlib.h>
#include <string.h>

#define MOST_ROWS ((size_t)1 << 20)

bool rows_grow(struct order *order, void *list, size_t count, size_t *capacity, size_t size)
{
    void **const at = list;
    if (count < *capacity)
        return true;
    const size_t wider = *capacity ? 2 * *capacity : 16;
    void *grown = realloc(*at, wider * size);
    if (!grown)
        return order_no_memory(order), false;
    *at = grown;
    *capacity = wider;
    return true;
}

/* ---- what an element waits for --------------------------------------------------------------- */

static bool wait_add(struct order *order, const struct row_wait *wait)
{
    struct order_rows *rows = order->rows;
    if (!rows_grow(order, &rows->waits, rows->wait_count, &rows->wait_capacity,
                   sizeof *rows->waits))
        return false;
    rows->waits[rows->wait_count++] = *wait;
    return true;
}

static bool wait_for_row(struct order *order, uint32_t row, enum row_after kind, uint32_t apart)
{
    return row == ROW_NONE ||
           wait_add(order, &(struct row_wait){.row = row, .kind = (uint8_t)kind, .apart = apart});
}

/* What has to have arrived at its rank before the slice may go. */
static bool wait_for_data(struct order *order, const struct moving *moving)
{
    const struct walk *walk = order->walk;
    const struct lane *lane = &walk->lanes[moving->lane];
    struct order_inbox *inbox = &order->inboxes[moving->place];
    for (size_t r = inbox->count; r-- > 0;) {
        const struct receive *receive = &inbox->list[r].receive;
        if (receive->step >= lane->cursor.step)
            continue;
        const uint64_t needed =
            mailroom_needed(receive, &lane->cursor, &lane->transfer, moving->slice, lane->slices);
        if (needed == 0)
            continue;
        const struct arrival *slice = &inbox->list[r].slices[needed - 1];
        const struct way *way = order->rows->rows[slice->row].way;
        if (!wait_for_row(order, slice->row, AFTER_END, apart_back(order, way->apart)))
            return false;
        if (needed == receive->slices && walk->plan->lanes == 1) /* what comes later need not */
            order_inbox_drop(order, inbox, r);
    }
    if (inbox->count > ORDER_MANY_RECEIVES)
        order->why = ORDER_WAITING;
    return !order->why;
}

static bool wait_to_begin(struct order *order, const struct moving *moving,
                          const struct row_lane *mine)
{
    const struct lane *lane = &order->walk->lanes[moving->lane];
    const uint32_t issued = mine->count;
    if (order->walk->job->accounting == ACCOUNTING_SERIAL)
        return (issued == 0 || wait_for_row(order, mine->arrivals[issued - 1], AFTER_END, 0)) &&
               wait_for_data(order, moving);
    const uint32_t lets_go =
        issued < lane->window ? ROW_NONE : mine->arrivals[issued - lane->window];
    return wait_for_row(order, mine->newest[0], AFTER_TURN, 0) &&
           wait_add(order, &(struct row_wait){.row = lets_go, .kind = AFTER_WINDOW}) &&
           wait_for_data(order, moving);
}

/* Who used a resource before. */
static bool wait_for_use(struct order *order, const struct way *way, const struct timing *timing,
                         uint16_t number, uint32_t row)
{
    const struct timed_use *use = &timing->uses[number];
    struct order_resource *resource = way->uses[number];
    if (!use->queues && use->busy_ps == 0)
        return true;
    const struct order_user user = {.lane = way->lane,
                                    .apart = way->apart,
                                    .slot = timing->slot,
                                    .use = number,
                                    .last_ps = use->busy_ps};
    const struct order_user last = resource->user;
    const uint32_t last_row = resource->row, last_apart = resource->apart;
    const uint32_t apart = use->end == END_SRC ? 0 : way->apart;
    resource->user = user;
    resource->row = row;
    resource->apart = apart;
    if (last.lane == UINT32_MAX || order_same_user(&last, &user))
        return true;
    struct row_wait wait = {.row = last_row == row ? ROW_NONE : last_row,
                            .kind = AFTER_USE,
                            .use = number,
                            .last_ps = last.last_ps,
                            .apart = unit_from(order, apart, last_apart)};
    if (wait.row == ROW_NONE) /* which of the two was last is not known: the shorter will do */
        wait.last_ps = last.last_ps < use->busy_ps ? last.last_ps : use->busy_ps;
    return wait_add(order, &wait);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool row_write(struct order *order, const struct moving *moving, uint8_t stage)
{
    struct order_rows *rows = order->rows;
    struct row_lane *mine = &rows->lanes[moving->lane];
    struct way *way = mine->way;
    const uint32_t number = (uint32_t)rows->row_count;
    if (rows->row_count == MOST_ROWS) {
        order->why = "nodes differ, and the plan has more than a million stages of slices";
        return false;
    }
    if (!rows_grow(order, &rows->rows, rows->row_count, &rows->row_capacity, sizeof *rows->rows))
        return false;
    struct row row = {.way = way,
                      .first_wait = (uint32_t)rows->wait_count,
                      .issued = mine->count,
                      .window = order->walk->lanes[moving->lane].window,
                      .left = order->width,
                      .order = order->walk->lanes[moving->lane].order | (mine->count & 0xffff),
                      .stage = stage,
                      .first = stage == 0 && mine->count == 0,
                      .later = moving->slice > 0,
                      .arrives = (size_t)stage + 1 == way->stage_count};
    if (!(stage == 0 ? wait_to_begin(order, moving, mine)
                     : wait_for_row(order, mine->newest[stage - 1], AFTER_END, 0)))
        return false;
    if (stage > 0 && !wait_for_row(order, mine->newest[stage], AFTER_STAGE, 0))
        return false;
    const struct timing *timing = way->timing[row.later];
    const struct timed_stage *timed = &timing->stages[stage];
    for (uint16_t i = 0; stage < timing->stage_count && i < timed->use_count; i++)
        if (!wait_for_use(order, way, timing, (uint16_t)(timed->first_use + i), number))
            return false;
    row.wait_count = (uint32_t)(rows->wait_count - row.first_wait);
    if (row.window > mine->window)
        mine->window = row.window;
    rows->rows[rows->row_count++] = row;
    mine->newest[stage] = number;
    order->walk->ledger->events++;
    return true;
}

static bool slice_arrives(struct order *order, const struct moving *moving)
{
    struct order_rows *rows = order->rows;
    struct row_lane *mine = &rows->lanes[moving->lane];
    struct order_receive *receive = order_receive_find(order, &order->walk->lanes[moving->lane]);
    const uint32_t number = (uint32_t)rows->row_count - 1;
    size_t capacity = mine->capacity;
    if (!rows_grow(order, &mine->arrivals, mine->count, &capacity, sizeof *mine->arrivals))
        return false;
    mine->capacity = (uint32_t)capacity;
    mine->arrivals[mine->count++] = number;
    receive->slices[moving->slice].row = number;
    return true;
}

/* As op_pass goes through them. */
bool order_rows_write(struct order *order, uint32_t count)
{
    struct walk *walk = order->walk;
    uint32_t slices = 0;
    size_t stages = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t at = order->moving[i].lane;
        struct way *way = order->rows->lanes[at].way;
        way->chunks += walk->lanes[at].transfer.count;
        way->slices[0]++;
        way->slices[1] += walk->lanes[at].slices - 1;
        walk->ledger->slices += walk->lanes[at].slices;
        if (walk->lanes[at].slices > slices)
            slices = walk->lanes[at].slices;
        if (way->stage_count > stages)
            stages = way->stage_count;
    }
    for (uint32_t slice = 0; slice < slices; slice++)
        for (uint8_t stage = 0; stage < stages; stage++)
            for (uint32_t i = 0; i < count; i++) {
                struct moving *moving = &order->moving[i];
                const struct way *way = order->rows->lanes[moving->lane].way;
                moving->slice = slice;
                if (slice >= walk->lanes[moving->lane].slices || stage >= way->stage_count)
                    continue;
                if (!row_write(order, moving, stage) ||
                    ((size_t)stage + 1 == way->stage_count && !slice_arrives(order, moving)))
                    return false;
            }
    return true;
}

enum status order_rows_way(struct order *order, uint32_t lane, uint32_t apart)
{
    struct row_lane *mine = &order->rows->lanes[lane];
    const struct way *before = mine->way;
    mine->way = way_find(order, lane, apart);
    mine->mixed = mine->mixed || (before && before != mine->way);
    return mine->way || order->why ? STATUS_OK : order->walk->error->status;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

enum status order_rows_init(struct order *order)
{
    struct walk *walk = order->walk;
    if (order->width == 1 || machine_kind_count(walk->machine) == 1)
        return STATUS_OK;
    struct order_rows *rows = order->rows = calloc(1, sizeof *order->rows);
    walk->odd_ps = calloc(walk->used_count + 1, sizeof *walk->odd_ps);
    if (!rows || !walk->odd_ps)
        return order_no_memory(order);
    rows->words = (order->width + 63) / 64;
    rows->free_flight = UINT32_MAX;
    rows->lanes = calloc(walk->lane_count + 1, sizeof *rows->lanes);
    if (!rows->lanes)
        return order_no_memory(order);
    for (size_t i = 0; i < walk->lane_count; i++)
        memset(rows->lanes[i].newest, 0xff, sizeof rows->lanes[i].newest);
    return ways_init(order);
}

/* Where all slices of a lane take one way, the first that was let go arrives first. */
static enum status settle_windows(struct order *order)
{
    struct order_rows *rows = order->rows;
    for (size_t i = 0; i < order->walk->lane_count; i++) {
        struct row_lane *lane = &rows->lanes[i];
        if (lane->mixed && order->walk->job->accounting == ACCOUNTING_PIPELINED)
            lane->last_ps = calloc((size_t)lane->window * order->width, sizeof *lane->last_ps);
        if (lane->mixed && order->walk->job->accounting == ACCOUNTING_PIPELINED && !lane->last_ps)
            return order_no_memory(order);
    }
    for (size_t r = 0; r < rows->row_count; r++)
        for (uint32_t w = 0; w < rows->rows[r].wait_count; w++) {
            const struct row *row = &rows->rows[r];
            const struct row_lane *lane = &rows->lanes[row->way->lane];
            struct row_wait *wait = &rows->waits[row->first_wait + w];
            if (wait->kind != AFTER_WINDOW)
                continue;
            if (!lane->mixed)
                wait->kind = AFTER_END;
            else
                wait->row = row->issued > 0 ? lane->arrivals[row->issued - 1] : ROW_NONE;
        }
    return STATUS_OK;
}

/* Which rows wait for each: those of row r are nexts[first_next of r .. first_next of r + 1 - 1].
 */
static enum status list_nexts(struct order *order)
{
    struct order_rows *rows = order->rows;
    if (!rows_grow(order, &rows->rows, rows->row_count, &rows->row_capacity, sizeof *rows->rows))
        return STATUS_NOMEM;
    rows->rows[rows->row_count] = (struct row){0}; /* after the last */
    rows->nexts = malloc((rows->wait_count + 1) * sizeof *rows->nexts);
    if (!rows->nexts)
        return order_no_memory(order);
    for (size_t i = 0; i < rows->wait_count; i++)
        if (rows->waits[i].row != ROW_NONE)
            rows->rows[rows->waits[i].row].first_next++;
    for (size_t r = 1; r <= rows->row_count; r++)
        rows->rows[r].first_next += rows->rows[r - 1].first_next;
    for (size_t r = rows->row_count; r-- > 0;) /* each place goes from its end to its beginning */
        for (uint32_t w = rows->rows[r].wait_count; w-- > 0;) {
            const struct row_wait *wait = &rows->waits[rows->rows[r].first_wait + w];
            if (wait->row != ROW_NONE)
                rows->nexts[--rows->rows[wait->row].first_next] = (uint32_t)r;
        }
    return STATUS_OK;
}

enum status order_rows_run(struct order *order)
{
    enum status status = settle_windows(order);
    if (!status)
        status = list_nexts(order);
    if (!status)
        status = ways_settle(order);
    if (!status && !order->why)
        status = rows_work_out(order);
    return status;
}

void order_rows_free(struct order *order)
{
    struct order_rows *rows = order->rows;
    if (!rows)
        return;
    for (size_t i = 0; i < rows->way_count; i++)
        way_free(rows->ways[i]);
    for (size_t i = 0; i < rows->row_count; i++) {
        free(rows->rows[i].done);
        free(rows->rows[i].begun);
        free(rows->rows[i].end_ps);
    }
    for (size_t i = 0; rows->lanes && i < order->walk->lane_count; i++) {
        free(rows->lanes[i].arrivals);
        meet_forget(&rows->lanes[i], order->width);
        free(rows->lanes[i].last_ps);
    }
    for (size_t i = 0; i < rows->spare_set_count; i++)
        free(rows->spare_sets[i]);
    free(rows->spare_sets);
    free(rows->ways);
    free(rows->rows);
    free(rows->waits);
    free(rows->nexts);
    free(rows->lanes);
    free(rows->ready);
    free(rows->dirty);
    free(rows->blocks);
    free(rows->units);
    free(rows->watch);
    free(rows->watched);
    free(rows->flights);
    free(rows->checks);
    free(rows->starved);
    free(rows);
}

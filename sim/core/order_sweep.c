/* order_sweep.c: rows are worked out as far as what they wait for is known. See order_rows.h.
 *
 * A row is looked at when something that it waits for has happened: sets of units say which of its
 * elements can be worked out now, and neighbours among these are one strip of vectors. Rows wait
 * for rows before them only, so one pass upwards works out all that can be.
 */
#include <stdlib.h>
#include <string.h>

#include "sim/core/order_rows.h"

/* ---- sets of units --------------------------------------------------------------------------- */

static uint64_t *set_take(struct order *order)
{
    struct order_rows *rows = order->rows;
    uint64_t *set = rows->spare_set_count > 0 ? rows->spare_sets[--rows->spare_set_count]
                                              : malloc(rows->words * sizeof *set);
    if (!set)
        return order_no_memory(order), NULL;
    memset(set, 0, rows->words * sizeof *set);
    return set;
}

static bool set_give(struct order *order, uint64_t **set)
{
    struct order_rows *rows = order->rows;
    if (!*set)
        return true;
    if (!rows_grow(order, &rows->spare_sets, rows->spare_set_count, &rows->spare_set_capacity,
                   sizeof *rows->spare_sets))
        return false;
    rows->spare_sets[rows->spare_set_count++] = *set;
    *set = NULL;
    return true;
}

/* Bit i of a word goes to where bit i ^ apart was. */
static uint64_t word_exchange(uint64_t word, uint32_t apart)
{
    static const uint64_t low[6] = {0x5555555555555555, 0x3333333333333333, 0x0f0f0f0f0f0f0f0f,
                                    0x00ff00ff00ff00ff, 0x0000ffff0000ffff, 0x00000000ffffffff};
    for (uint32_t b = 0; b < 6; b++)
        if (apart >> b & 1)
            word = (word & low[b]) << (1u << b) | (word >> (1u << b) & low[b]);
    return word;
}

/* The word of a set at bit `from`, its bits beyond the set's `width` from its beginning on. */
static uint64_t word_at(const uint64_t *set, uint32_t width, uint32_t from)
{
    uint64_t word = set[from / 64] >> from % 64;
    uint32_t have = 64 - from % 64;
    if (have > width - from)
        have = width - from;
    while (have < 64) { /* a narrow set goes round more than once */
        const uint32_t at = (from + have) % width;
        uint32_t more = 64 - at % 64;
        if (more > width - at)
            more = width - at;
        word |= set[at / 64] >> at % 64 << have;
        have += more;
    }
    return word;
}

/* Keep of the set those units whose partner, so far apart, is in the other. */
static void set_keep(const struct order *order, uint64_t *set, const uint64_t *other,
                     uint32_t apart)
{
    const size_t words = order->rows->words;
    if (apart == 0) {
        for (size_t w = 0; w < words; w++)
            set[w] &= other[w];
    } else if (order->walk->fold.kind == FOLD_XOR) {
        for (size_t w = 0; w < words; w++)
            set[w] &= word_exchange(other[w ^ apart / 64], apart % 64);
    } else {
        for (size_t w = 0; w < words; w++)
            set[w] &= word_at(other, order->width, unit_to(order, (uint32_t)(64 * w), apart));
    }
}

/* Those that can be worked out now, with their neighbours or alone; false: none. */
static bool row_ready(const struct order *order, const struct row *row, uint64_t *ready)
{
    const struct order_rows *rows = order->rows;
    memset(ready, 0xff, rows->words * sizeof *ready);
    if (order->width % 64)
        ready[rows->words - 1] = ((uint64_t)1 << order->width % 64) - 1;
    for (uint32_t i = 0; i < row->wait_count; i++) {
        const struct row_wait *wait = &rows->waits[row->first_wait + i];
        if (wait->row == ROW_NONE || rows->rows[wait->row].left == 0)
            continue;
        if (!rows->rows[wait->row].done)
            return false;
        set_keep(order, ready, rows->rows[wait->row].done, wait->apart);
    }
    uint64_t any = 0;
    for (size_t w = 0; w < rows->words; w++) {
        ready[w] &= ~row->way->meets_set[w] & (row->done ? ~row->done[w] : ~(uint64_t)0);
        any |= ready[w];
    }
    return any != 0;
}

/* The next stretch of units in the set from *at on; false: none is left. */
static bool set_stretch(const struct order *order, const uint64_t *set, uint32_t *at,
                        struct strip *ret_strip)
{
    const size_t words = order->rows->words;
    size_t w = *at / 64;
    if (w >= words)
        return false;
    uint64_t word = set[w] & ~(uint64_t)0 << *at % 64;
    while (word == 0)
        if (++w == words)
            return false;
        else
            word = set[w];
    ret_strip->from = (uint32_t)(64 * w) + (uint32_t)__builtin_ctzll(word);
    word = ~set[w] & ~(uint64_t)0 << ret_strip->from % 64;
    while (word == 0 && ++w < words)
        word = ~set[w];
    const uint32_t end = (uint32_t)(64 * w) + (word ? (uint32_t)__builtin_ctzll(word) : 0);
    ret_strip->end = end < order->width ? end : order->width;
    *at = ret_strip->end;
    return true;
}

/* ---- rows ------------------------------------------------------------------------------------ */

#define MOST_KEPT_B ((size_t)1 << 31)

bool row_open(struct order *order, struct row *row)
{
    struct order_rows *rows = order->rows;
    if (!row->end_ps && ++rows->vectors > MOST_KEPT_B / (order->width * sizeof(int64_t))) {
        order->why = "nodes differ, and gone through together they would take 2 GiB of memory";
        return false;
    }
    if (!row->end_ps)
        row->end_ps = order_vector_take(order);
    if (!row->end_ps)
        return order_no_memory(order), false;
    if (!row->done)
        row->done = set_take(order);
    if (row->done && !row->begun && row->way->single_count > 0)
        row->begun = set_take(order);
    return row->done && (row->begun || row->way->single_count == 0);
}

static bool wait_reads(const struct row_wait *wait)
{
    return wait->row != ROW_NONE && wait->kind == AFTER_END;
}

static void row_close(struct order *order, struct row *row)
{
    if (row->left == 0 && row->readers == 0 && row->end_ps) {
        order_vector_give(order, row->end_ps);
        row->end_ps = NULL;
        order->rows->vectors--;
    }
}

bool row_advance(struct order *order, struct row *row, uint32_t count)
{
    struct order_rows *rows = order->rows;
    row->left -= count;
    for (uint32_t i = row->first_next; i < row[1].first_next; i++)
        set_add(rows->dirty, rows->nexts[i]);
    const size_t word =
        row->first_next < row[1].first_next ? rows->nexts[row->first_next] / 64 : rows->dirty_words;
    if (word < rows->dirty_low)
        rows->dirty_low = word;
    if (row->left > 0)
        return true;
    rows->rows_left--;
    for (uint32_t i = 0; i < row->wait_count; i++) {
        const struct row_wait *wait = &rows->waits[row->first_wait + i];
        if (!wait_reads(wait))
            continue;
        rows->rows[wait->row].readers--;
        row_close(order, &rows->rows[wait->row]);
    }
    row_close(order, row);
    return set_give(order, &row->done) && set_give(order, &row->begun);
}

void row_start(const struct order *order, const struct row *row, struct strip strip)
{
    const struct order_rows *rows = order->rows;
    const uint32_t from = strip.from;
    if (row->stage == 0)
        memcpy(row->end_ps + from, order->lanes[row->way->lane].free_ps + from,
               (strip.end - from) * sizeof(int64_t));
    else
        memset(row->end_ps + from, 0, (strip.end - from) * sizeof(int64_t));
    for (uint32_t i = 0; i < row->wait_count; i++) {
        const struct row_wait *wait = &rows->waits[row->first_wait + i];
        struct stretch s = {.from = from};
        while (wait_reads(wait) && stretch_next(order, wait->apart, strip, &s))
            latest(row->end_ps + s.from, rows->rows[wait->row].end_ps + s.to, s.count);
        if (wait->kind == AFTER_WINDOW && row->issued >= row->window)
            latest(row->end_ps + from, row_lets_go(order, row) + from, strip.end - from);
    }
}

const int64_t *row_lets_go(const struct order *order, const struct row *row)
{
    const struct row_lane *lane = &order->rows->lanes[row->way->lane];
    return lane->last_ps + (row->issued - row->window) % lane->window * (size_t)order->width;
}

/* Keep the latest arrivals of a lane in order. */
static void note_arrivals(const struct order *order, const struct row *row, struct strip strip)
{
    const struct row_lane *lane = &order->rows->lanes[row->way->lane];
    const uint32_t window = lane->window, from = strip.from, count = strip.end - from;
    const size_t width = order->width;
    const int64_t *const before_ps = lane->last_ps + (row->issued + window - 1) % window * width;
    memcpy(lane->last_ps + row->issued % window * width + from, row->end_ps + from,
           count * sizeof(int64_t));
    if (vector_none_less(row->end_ps + from, before_ps + from, count))
        return;
    for (uint32_t unit = from; unit < strip.end; unit++) /* some have overtaken others */
        for (uint32_t i = 1, at = row->issued; i < window && at > 0; i++, at--) {
            int64_t *later_ps = &lane->last_ps[at % window * width + unit];
            int64_t *earlier_ps = &lane->last_ps[(at - 1) % window * width + unit];
            if (*earlier_ps <= *later_ps)
                break;
            const int64_t arrives_ps = *later_ps;
            *later_ps = *earlier_ps;
            *earlier_ps = arrives_ps;
        }
}

void row_ends(struct order *order, const struct row *row, struct strip strip)
{
    const uint32_t from = strip.from, count = strip.end - from;
    if (!row->arrives)
        return;
    if (order->rows->lanes[row->way->lane].last_ps && !row_keeps_own(order, row, from))
        note_arrivals(order, row, strip);
    if (order->walk->job->accounting == ACCOUNTING_SERIAL)
        memcpy(order->lanes[row->way->lane].free_ps + from, row->end_ps + from,
               count * sizeof(int64_t));
    struct ledger *ledger = order->walk->ledger;
    ledger->total_ps = vector_most(row->end_ps + from, ledger->total_ps, count);
}

/* What all uses of the stage that meet others have to look at. */
static void note_meets(struct order *order, const struct row *row, const struct timed_stage *stage)
{
    memset(order->meets, 0, stage->use_count * sizeof *order->meets);
    for (uint32_t i = 0; i < row->wait_count; i++) {
        const struct row_wait *wait = &order->rows->waits[row->first_wait + i];
        if (wait->kind != AFTER_USE)
            continue;
        order->meets[wait->use - stage->first_use] = true;
        order->meets_ps[wait->use - stage->first_use] = wait->last_ps;
    }
}

/* Take elements of a row through its stage. */
static bool row_pass(struct order *order, struct row *row, const struct timing *timing,
                     struct order_resource **uses, struct strip strip)
{
    struct moving *moving = &order->moving[row->way->place];
    row_start(order, row, strip);
    if (row->stage < timing->stage_count) {
        int64_t *const now_ps = moving->now_ps, *const next_ps = moving->next_ps;
        moving->lane = row->way->lane;
        moving->apart = row->way->apart;
        moving->timing = timing;
        moving->uses = uses;
        moving->now_ps = row->end_ps;
        if (row->stage == 0 && order->walk->job->accounting == ACCOUNTING_PIPELINED)
            moving->next_ps = order->lanes[moving->lane].free_ps;
        bool fits = true;
        for (uint32_t from = strip.from; from < strip.end && fits; from += STRIP) {
            const uint32_t end = from + STRIP < strip.end ? from + STRIP : strip.end;
            fits = order_pass(order, moving, row->stage, (struct strip){from, end});
        }
        moving->now_ps = now_ps;
        moving->next_ps = next_ps;
        if (!fits)
            return false;
    }
    row_ends(order, row, strip);
    return true;
}

static uint32_t set_count(const uint64_t *set, size_t words)
{
    uint32_t count = 0;
    for (size_t w = 0; w < words; w++)
        count += (uint32_t)__builtin_popcountll(set[w]);
    return count;
}

/* Work out those elements of a row that are in rows->ready. */
static bool row_work_out(struct order *order, struct row *row)
{
    struct order_rows *rows = order->rows;
    const struct way *way = row->way;
    uint64_t *const ready = rows->ready, *const together = rows->ready + rows->words;
    if (!row_open(order, row))
        return false;
    const struct timing *timing = way->timing[row->later];
    for (size_t w = 0; w < rows->words; w++)
        together[w] = ready[w] & ~way->apart_set[w];
    if (row->stage < timing->stage_count)
        note_meets(order, row, &timing->stages[row->stage]);
    struct strip strip;
    for (uint32_t at = 0; set_stretch(order, together, &at, &strip);)
        if (!row_pass(order, row, timing, way->uses, strip))
            return false;
    memset(order->meets, 0, sizeof order->meets); /* who is alone here meets nobody */
    for (size_t i = 0; i < way->single_count; i++) {
        const struct single *single = &way->singles[i];
        strip = (struct strip){single->unit, single->unit + 1};
        if (set_has(ready, single->unit) &&
            !row_pass(order, row, single->timing[row->later], single->uses, strip))
            return false;
    }
    for (size_t w = 0; w < rows->words; w++)
        row->done[w] |= ready[w];
    return row_advance(order, row, set_count(ready, rows->words));
}

bool row_work_out_one(struct order *order, struct row *row, uint32_t unit)
{
    memset(order->rows->ready, 0, order->rows->words * sizeof *order->rows->ready);
    set_add(order->rows->ready, unit);
    return row_work_out(order, row);
}

/* All that can be worked out without the queue. */
static bool sweep(struct order *order)
{
    struct order_rows *rows = order->rows;
    for (; rows->dirty_low < rows->dirty_words; rows->dirty_low++)
        while (rows->dirty[rows->dirty_low]) {
            const uint64_t word = rows->dirty[rows->dirty_low];
            const uint32_t row = (uint32_t)(64 * rows->dirty_low) + (uint32_t)__builtin_ctzll(word);
            rows->dirty[rows->dirty_low] = word & (word - 1);
            if (rows->rows[row].left == 0)
                continue;
            if (row_ready(order, &rows->rows[row], rows->ready) &&
                !row_work_out(order, &rows->rows[row]))
                return false;
            if (!meet_begin(order, row))
                return false;
        }
    return meet_check(order);
}

enum status rows_work_out(struct order *order)
{
    struct order_rows *rows = order->rows;
    struct walk *walk = order->walk;
    rows->rows_left = rows->row_count;
    rows->dirty_words = (rows->row_count + 63) / 64;
    rows->dirty = calloc(rows->dirty_words + 1, sizeof *rows->dirty);
    rows->ready = calloc(2 * rows->words, sizeof *rows->ready);
    rows->blocks = calloc(rows->dirty_words + 1, sizeof *rows->blocks);
    if (!rows->dirty || !rows->blocks || !rows->ready)
        return order_no_memory(order);
    for (size_t r = 0; r < rows->row_count; r++) {
        const struct row *row = &rows->rows[r];
        for (uint32_t i = 0; i < row->wait_count; i++)
            if (wait_reads(&rows->waits[row->first_wait + i]))
                rows->rows[rows->waits[row->first_wait + i].row].readers++;
        if (row->first)
            set_add(rows->dirty, (uint32_t)r);
    }
    int served = meet_init(order) ? 1 : -1;
    while (served > 0) {
        const bool dirty = rows->dirty_low < rows->dirty_words;
        served = dirty ? meet_catch_up(order) : 1;
        if (served > 0)
            served = meet_serve(order);
        if (served == 0 && dirty)
            served = sweep(order) ? 1 : -1;
        if (walk->ledger->total_ps > ENGINE_MAX_TIME_PS)
            return error_set(walk->error, STATUS_FAILED, "the run takes more than 53 days");
    }
    if (served == 0 && rows->rows_left > 0)
        order->why = ORDER_MEETS;
    return order->why || served == 0 ? STATUS_OK : walk->error->status;
}

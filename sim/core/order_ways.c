/* order_ways.c: which elements differ from their neighbours. See order_rows.h.
 *
 * Those whose transfer joins nodes of other kinds have timings of their own, with other stages or
 * resources perhaps. The units at their ends are watched: if several come to a resource there,
 * all who do go through the queue, those that are usual otherwise too.
 */
#include <stdlib.h>
#include <string.h>

#include "sim/core/order_rows.h"

enum status ways_init(struct order *order)
{
    struct order_rows *rows = order->rows;
    const struct walk *walk = order->walk;
    rows->units = calloc(order->width, sizeof *rows->units);
    rows->watch = calloc(order->width, sizeof *rows->watch);
    rows->watched = calloc(order->width, sizeof *rows->watched);
    if (!rows->units || !rows->watch || !rows->watched)
        return order_no_memory(order);
    for (uint32_t unit = 0; unit < order->width; unit++)
        for (uint32_t node = 0; node < walk->nodes; node++)
            if (machine_kind(walk->machine, unit * walk->nodes + node)) {
                rows->units[rows->unit_count++] = unit;
                break;
            }
    return STATUS_OK;
}

void way_free(struct way *way)
{
    for (size_t i = 0; i < way->single_count; i++)
        free(way->singles[i].uses);
    free(way->singles);
    free(way->uses);
    free(way->apart_set);
    free(way->meets_set);
    free(way);
}

/* ---- ways of their own ----------------------------------------------------------------------- */

/* The kinds of nodes that the way joins from a unit, as routes number them; 0: usual ones. */
static size_t kinds_of(const struct order *order, const struct way *way, uint32_t unit)
{
    const struct walk *walk = order->walk;
    const struct machine *machine = walk->machine;
    const uint32_t to = unit_to(order, unit, way->apart);
    return machine_kind(machine, unit * walk->nodes + way->place / walk->ports) *
               walk->job->routes->kinds +
           machine_kind(machine, to * walk->nodes + way->to / walk->ports);
}

/* The timing of the way between nodes of other kinds; NULL: walk->error says why. */
static const struct timing *own_timing(struct order *order, const struct timing *usual,
                                       size_t kinds)
{
    const size_t slot = usual->slot + kinds * order->walk->job->routes->per_kinds;
    return walk_timing(order->walk, slot, usual->slice_B, usual->posting);
}

static void watch(struct order_rows *rows, uint32_t unit)
{
    if (rows->watch[unit])
        return;
    rows->watched[rows->watched_count++] = unit;
    rows->watch[unit] = rows->watched_count;
}

static int compare_units(const void *a, const void *b)
{
    const uint32_t x = ((const struct single *)a)->unit, y = ((const struct single *)b)->unit;
    return (x > y) - (x < y);
}

const struct single *way_single(const struct way *way, uint32_t unit)
{
    const struct single key = {.unit = unit};
    return bsearch(&key, way->singles, way->single_count, sizeof key, compare_units);
}

/* An element that is to be passed alone; by its own timings, first and later. False: out of memory,
 * or order->why. */
static bool single_add(struct order *order, struct way *way, uint32_t unit,
                       const struct timing *const timing[2])
{
    struct single *grown = realloc(way->singles, (way->single_count + 1) * sizeof *way->singles);
    if (!grown)
        return order_no_memory(order), false;
    way->singles = grown;
    size_t at = way->single_count++;
    for (; at > 0 && grown[at - 1].unit > unit; at--)
        grown[at] = grown[at - 1];
    grown[at] = (struct single){.unit = unit, .timing = {timing[0], timing[1]}};
    set_add(way->apart_set, unit);
    if (timing[1]->stage_count > way->stage_count)
        way->stage_count = timing[1]->stage_count;
    struct single *single = &grown[at];
    if (timing[1] != way->timing[1])
        return order_uses(order, way->lane, timing, &single->uses);
    const size_t uses_size = (timing[1]->use_count + 1) * sizeof *single->uses;
    single->uses = malloc(uses_size); /* the lane may have gone on by now */
    if (!single->uses)
        return order_no_memory(order), false;
    memcpy(single->uses, way->uses, uses_size);
    return true;
}

/* The elements that join other nodes than usual ones. */
static bool own_ways(struct order *order, struct way *way)
{
    struct order_rows *rows = order->rows;
    for (uint32_t i = 0; i < rows->unit_count; i++) {
        const uint32_t units[2] = {rows->units[i], unit_from(order, rows->units[i], way->apart)};
        for (int k = 0; k < 2; k++) {
            const size_t kinds = kinds_of(order, way, units[k]);
            if (!kinds || set_has(way->apart_set, units[k]))
                continue;
            watch(rows, units[k]);
            watch(rows, unit_to(order, units[k], way->apart));
            const struct timing *timing[2];
            for (int later = 0; later < 2; later++) {
                timing[later] = own_timing(order, way->timing[later], kinds);
                if (!timing[later])
                    return false;
            }
            if (!single_add(order, way, units[k], timing))
                return false;
        }
    }
    return true;
}

static bool is_way(const struct way *way, const struct lane *lane, uint32_t apart, uint32_t to)
{
    return way->timing[1] == lane->timing && way->timing[0] == lane->first_timing &&
           way->apart == apart && way->to == to;
}

struct way *way_find(struct order *order, uint32_t index, uint32_t apart)
{
    struct order_rows *rows = order->rows;
    const struct walk *walk = order->walk;
    const struct lane *lane = &walk->lanes[index];
    const uint32_t to = lane_arrives(walk, lane)->to;
    struct way *way = rows->lanes[index].way;
    if (way && is_way(way, lane, apart, to))
        return way;
    if (!rows_grow(order, &rows->ways, rows->way_count, &rows->way_capacity, sizeof *rows->ways))
        return NULL;
    way = calloc(1, sizeof *way);
    if (!way)
        return order_no_memory(order), NULL;
    rows->ways[rows->way_count++] = way;
    *way = (struct way){.lane = index,
                        .place = index / walk->plan->lanes,
                        .apart = apart,
                        .to = to,
                        .timing = {lane->first_timing, lane->timing},
                        .stage_count = lane->timing->stage_count,
                        .apart_set = calloc(rows->words, sizeof(uint64_t)),
                        .meets_set = calloc(rows->words, sizeof(uint64_t))};
    if (!way->apart_set || !way->meets_set)
        return order_no_memory(order), NULL;
    if (!order_uses(order, index, way->timing, &way->uses) || !own_ways(order, way))
        return NULL;
    return way;
}

/* ---- who meets others ------------------------------------------------------------------------ */

struct meeting *way_meeting(const struct order *order, const struct order_resource *resource,
                            uint32_t unit)
{
    const uint32_t place = order->rows->watch[unit];
    struct meeting *meeting = place && resource->meetings ? &resource->meetings[place - 1] : NULL;
    return meeting && meeting->shared ? meeting : NULL;
}

/* Go through the uses of an element at watched units: note who comes there, or (`look`) say whether
 * somebody else does too. -1: out of memory. */
static int element_meets(struct order *order, const struct way *way, uint32_t unit, bool look)
{
    const struct order_rows *rows = order->rows;
    const struct single *single = set_has(way->apart_set, unit) ? way_single(way, unit) : NULL;
    const struct timing *const *timings = single ? single->timing : way->timing;
    const struct timing *timing = timings[1];
    struct order_resource *const *uses = single ? single->uses : way->uses;
    for (size_t i = 0; i < timing->use_count; i++) {
        const struct timed_use *use = &timing->uses[i];
        const uint32_t at = use->end == END_SRC ? unit : unit_to(order, unit, way->apart);
        const struct timed_use *first = &timings[0]->uses[i];
        if (!rows->watch[at] ||
            (!use->queues && use->busy_ps == 0 && !first->queues && first->busy_ps == 0))
            continue;
        if (look) {
            if (way_meeting(order, uses[i], at))
                return 1;
            continue;
        }
        if (!uses[i]->meetings)
            uses[i]->meetings = calloc(rows->watched_count, sizeof *uses[i]->meetings);
        if (!uses[i]->meetings)
            return order_no_memory(order), -1;
        struct meeting *meeting = &uses[i]->meetings[rows->watch[at] - 1];
        const struct order_user user = {
            .lane = way->lane, .apart = way->apart, .slot = timing->slot, .use = (uint16_t)i};
        if (!meeting->used)
            meeting->user = user;
        else if (!order_same_user(&meeting->user, &user))
            meeting->shared = true;
        meeting->used = true;
    }
    return 0;
}

/* Elements with an end in a watched unit. */
static bool ways_note(struct order *order)
{
    const struct order_rows *rows = order->rows;
    for (size_t w = 0; w < rows->way_count; w++)
        for (uint32_t i = 0; i < rows->watched_count; i++) {
            const struct way *way = rows->ways[w];
            const uint32_t unit = rows->watched[i], from = unit_from(order, unit, way->apart);
            if (element_meets(order, way, unit, false) < 0 ||
                (!rows->watch[from] && element_meets(order, way, from, false) < 0))
                return false;
        }
    return true;
}

static void way_note_meets(struct order *order, struct way *way)
{
    const struct order_rows *rows = order->rows;
    for (uint32_t i = 0; i < 2 * rows->watched_count; i++) {
        const uint32_t end = rows->watched[i / 2];
        const uint32_t unit = i % 2 ? unit_from(order, end, way->apart) : end;
        if (!set_has(way->meets_set, unit) && element_meets(order, way, unit, true))
            set_add(way->meets_set, unit);
    }
}

#define FEW_WAYS 8 /* of one lane */

/* Where some of a lane's slices go through the queue, let all do: then it is known in which order
 * things happen to the lane. */
static void lane_join(struct order *order, struct row_lane *lane)
{
    const struct order_rows *rows = order->rows;
    struct way *ways[FEW_WAYS];
    size_t count = 0;
    for (size_t i = 0; i < rows->way_count && lane->way; i++)
        if (rows->ways[i]->lane == lane->way->lane) {
            if (count == FEW_WAYS)
                return;
            ways[count++] = rows->ways[i];
        }
    for (size_t i = 1; i < count; i++)
        for (size_t w = 0; w < rows->words; w++)
            ways[0]->meets_set[w] |= ways[i]->meets_set[w];
    for (size_t i = 1; i < count; i++)
        memcpy(ways[i]->meets_set, ways[0]->meets_set, rows->words * sizeof(uint64_t));
    lane->joined = true;
}

#define MANY_MEET 64 /* elements of a row */

static bool way_mark_singles(struct order *order, struct way *way)
{
    uint32_t meet = 0;
    for (size_t w = 0; w < order->rows->words; w++)
        meet += (uint32_t)__builtin_popcountll(way->meets_set[w]);
    if (meet > MANY_MEET) { /* the queue of all is as fast then */
        order->why = "lanes meet at many nodes that differ";
        return false;
    }
    for (uint32_t unit = 0; unit < order->width; unit++)
        if (set_has(way->meets_set, unit) && !set_has(way->apart_set, unit) &&
            !single_add(order, way, unit, way->timing))
            return false;
    for (size_t i = 0; i < way->single_count; i++)
        way->singles[i].meets = set_has(way->meets_set, way->singles[i].unit);
    return true;
}

/* ---- what is counted ------------------------------------------------------------------------- */

bool order_rows_waited(struct order *order, const struct order_resource *resource, uint32_t unit,
                       int64_t busy_ps)
{
    int64_t **const all = order->walk->odd_ps;
    const size_t at = (size_t)(resource->used - order->walk->used);
    if (!all[at])
        all[at] = calloc(order->width, sizeof **all);
    if (!all[at])
        return order_no_memory(order), false;
    all[at][unit] += busy_ps;
    return true;
}

/* How long the way's slices keep the resources of an element busy, `times` so often. */
static bool element_busy(struct order *order, const struct way *way, uint32_t unit,
                         const struct timing *const timings[2], struct order_resource *const *uses,
                         int64_t times)
{
    for (int later = 0; later < 2; later++)
        for (size_t i = 0; i < timings[later]->use_count; i++) {
            const struct timed_use *use = &timings[later]->uses[i];
            const uint32_t at = use->end == END_SRC ? unit : unit_to(order, unit, way->apart);
            if (!order_rows_waited(order, uses[i], at,
                                   times * (int64_t)way->slices[later] * use->busy_ps))
                return false;
        }
    return true;
}

/* walk_prepare has counted each transfer once, as a usual one. */
static bool way_count(struct order *order, const struct way *way)
{
    struct walk *walk = order->walk;
    uint64_t usual = order->width;
    for (int later = 0; later < 2; later++)
        for (size_t i = 0; i < way->timing[later]->use_count; i++)
            way->uses[i]->used->busy_ps +=
                (int64_t)way->slices[later] * way->timing[later]->uses[i].busy_ps;
    for (size_t i = 0; i < way->single_count; i++) {
        const struct single *single = &way->singles[i];
        if (single->timing[1] == way->timing[1])
            continue;
        walk->slot_chunks[single->timing[1]->slot] += way->chunks;
        usual--;
        if (!element_busy(order, way, single->unit, way->timing, way->uses, -1) ||
            !element_busy(order, way, single->unit, single->timing, single->uses, 1))
            return false;
    }
    walk->slot_chunks[way->timing[1]->slot] += (usual - 1) * way->chunks;
    return true;
}

enum status ways_settle(struct order *order)
{
    struct order_rows *rows = order->rows;
    if (!ways_note(order))
        return STATUS_NOMEM;
    for (size_t w = 0; w < rows->way_count; w++)
        way_note_meets(order, rows->ways[w]);
    for (size_t i = 0; i < order->walk->lane_count; i++)
        lane_join(order, &rows->lanes[i]);
    for (size_t w = 0; w < rows->way_count; w++)
        if (!way_mark_singles(order, rows->ways[w]) || !way_count(order, rows->ways[w]))
            return order->why ? STATUS_OK : order->walk->error->status;
    return STATUS_OK;
}

/* order_odd.c: nodes that differ, in a run without a queue whose elements are all units of a plan
 * that is the same for all.
 *
 * What an element does follows from the kinds of the two nodes that its transfer joins. Most are
 * usual nodes and are passed together as ever; the others (they hold an odd node, or send to one)
 * are singles, passed one by one with a timing of their own, which may have other stages and other
 * resources. Elements meet at resources only: an element's resources at the sender are those of its
 * unit, at the receiver those of the unit that it sends to.
 *
 * Who used a resource last is one user for all units, but for units that singles come to. These are
 * watched from the time on that the first single comes there; elements that come to a watched unit
 * in the usual way are singles too. Where one node is slower its neighbours get ahead of it by many
 * steps, so that what comes here first may ask last. So a watched unit's resources keep a book of
 * all services. One that asks before others that stand there already is entered before them if it
 * is over when the next begins, which then changes nothing for these; else the walk is given up.
 *
 * Busy times are counted for all units alike, and what singles add to that, by unit, in
 * walk->odd_ps.
 */
#include <stdlib.h>
#include <string.h>

#include "sim/core/order_inside.h"

struct order_odd {
    uint32_t *units; /* that hold an odd node */
    uint32_t unit_count;
    uint32_t *watch;   /* by unit: 0, or 1 + its place in: */
    uint32_t *watched; /* units */
    uint32_t watched_count;
};

/* A service, and who was served. */
struct booking {
    int64_t asks_ps, begins_ps, ends_ps;
    struct order_user user;
};

/* Of one resource of a watched unit, in the order in which services were asked for. */
struct order_book {
    struct booking *list;
    size_t count, capacity;
    bool torn; /* what stood before the first has been forgotten */
};

#define MOST_BOOKINGS ((size_t)1 << 20)

/* The unit `apart` further on than `unit`, and the one before. */
static uint32_t unit_to(const struct order *order, uint32_t unit, uint32_t apart)
{
    return order->walk->fold.kind == FOLD_XOR ? unit ^ apart : (unit + apart) % order->width;
}

static uint32_t unit_from(const struct order *order, uint32_t unit, uint32_t apart)
{
    return order->walk->fold.kind == FOLD_XOR ? unit ^ apart
                                              : (unit + order->width - apart) % order->width;
}

enum status order_odd_init(struct order *order)
{
    struct walk *walk = order->walk;
    if (order->width == 1 || machine_kind_count(walk->machine) == 1)
        return STATUS_OK;
    struct order_odd *odd = order->odd = calloc(1, sizeof *odd);
    walk->odd_ps = calloc(walk->used_count + 1, sizeof *walk->odd_ps);
    if (!odd || !walk->odd_ps)
        return order_no_memory(order);
    odd->units = calloc(order->width, sizeof *odd->units);
    odd->watch = calloc(order->width, sizeof *odd->watch);
    odd->watched = calloc(order->width, sizeof *odd->watched);
    if (!odd->units || !odd->watch || !odd->watched)
        return order_no_memory(order);
    for (uint32_t unit = 0; unit < order->width; unit++)
        for (uint32_t node = 0; node < walk->nodes; node++)
            if (machine_kind(walk->machine, unit * walk->nodes + node)) {
                odd->units[odd->unit_count++] = unit;
                break;
            }
    return STATUS_OK;
}

void order_odd_free(struct order *order)
{
    if (!order->odd)
        return;
    free(order->odd->units);
    free(order->odd->watch);
    free(order->odd->watched);
    free(order->odd);
}

/* ---- which elements -------------------------------------------------------------------------- */

/* The kinds of nodes that a lane's transfer joins in a unit, as routes number them; 0: usual ones.
 */
static size_t kinds_of(const struct order *order, const struct moving *moving, uint32_t unit)
{
    const struct walk *walk = order->walk;
    const struct machine *machine = walk->machine;
    const uint32_t to = walk->lanes[moving->lane].transfer.to % walk->ranks;
    const uint32_t other = unit_to(order, unit, moving->apart);
    return machine_kind(machine, unit * walk->nodes + moving->place / walk->ports) *
               walk->job->routes->kinds +
           machine_kind(machine, other * walk->nodes + to / walk->ports);
}

static void watch(struct order_odd *odd, uint32_t unit)
{
    if (odd->watch[unit])
        return;
    odd->watched[odd->watched_count++] = unit;
    odd->watch[unit] = odd->watched_count;
}

/* Those that have a way of their own: at both its ends their units are watched. */
static void watch_ends(struct order *order, const struct moving *moving)
{
    struct order_odd *odd = order->odd;
    for (uint32_t i = 0; i < odd->unit_count; i++) {
        const uint32_t units[2] = {odd->units[i], unit_from(order, odd->units[i], moving->apart)};
        for (int k = 0; k < 2; k++)
            if (kinds_of(order, moving, units[k])) {
                watch(odd, units[k]);
                watch(odd, unit_to(order, units[k], moving->apart));
            }
    }
}

static int upwards(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The timing of the lane's transfer between nodes of other kinds; NULL: walk->error says why. */
static const struct timing *own_timing(struct order *order, const struct timing *usual,
                                       size_t kinds)
{
    const size_t slot = usual->slot + kinds * order->walk->job->routes->per_kinds;
    return walk_timing(order->walk, slot, usual->slice_B, usual->posting);
}

static bool blocks(const struct timing *timing)
{
    for (size_t i = 0; i < timing->stage_count; i++)
        if (timing->stages[i].blocking)
            return true;
    return false;
}

/* False: out of memory, walk->error or order->why. */
static bool single_make(struct order *order, const struct moving *moving,
                        struct order_single *single)
{
    const struct lane *lane = &order->walk->lanes[moving->lane];
    const size_t kinds = kinds_of(order, moving, single->unit);
    if (!kinds)
        return true;
    single->timing = own_timing(order, lane->timing, kinds);
    single->first_timing = single->timing ? own_timing(order, lane->first_timing, kinds) : NULL;
    if (!single->first_timing)
        return false;
    if (blocks(single->timing))
        order->why = "nodes differ, and threads wait for their stages";
    return !order->why && order_uses(order, moving->lane, single->timing, &single->uses);
}

static bool singles_make(struct order *order, const struct moving *moving)
{
    const struct order_odd *odd = order->odd;
    struct order_lane *mine = &order->lanes[moving->lane];
    const size_t most = 2 * (size_t)odd->watched_count;
    uint32_t *units = malloc((most + 1) * sizeof *units);
    struct order_single *singles = calloc(most + 1, sizeof *singles);
    for (size_t i = 0; i < mine->single_count; i++)
        free(mine->singles[i].uses);
    free(mine->singles);
    mine->singles = singles;
    mine->single_count = 0;
    bool fits = units && singles;
    for (uint32_t i = 0; i < odd->watched_count && fits; i++) {
        units[2 * i] = odd->watched[i];
        units[2 * i + 1] = unit_from(order, odd->watched[i], moving->apart);
    }
    if (fits)
        qsort(units, most, sizeof *units, upwards);
    else
        order_no_memory(order);
    for (size_t i = 0; i < most && fits; i++) {
        if (i > 0 && units[i] == units[i - 1])
            continue;
        struct order_single *single = &singles[mine->single_count++];
        single->unit = units[i];
        fits = single_make(order, moving, single);
    }
    free(units);
    return fits;
}

/* walk_prepare has counted one transfer, of the usual kind. */
static void count_transfer(struct order *order, const struct moving *moving)
{
    struct walk *walk = order->walk;
    const struct lane *lane = &walk->lanes[moving->lane];
    const struct order_lane *mine = &order->lanes[moving->lane];
    uint64_t usual = order->width;
    for (size_t i = 0; i < mine->single_count; i++)
        if (mine->singles[i].timing) {
            walk->slot_chunks[mine->singles[i].timing->slot] += lane->transfer.count;
            usual--;
        }
    walk->slot_chunks[lane->timing->slot] += (usual - 1) * lane->transfer.count;
}

enum status order_odd_ways(struct order *order, uint32_t count)
{
    struct walk *walk = order->walk;
    if (order->why || walk->fold_broken)
        return STATUS_OK;
    for (uint32_t i = 0; i < count; i++)
        watch_ends(order, &order->moving[i]);
    for (uint32_t i = 0; i < count; i++) {
        const struct moving *moving = &order->moving[i];
        const struct lane *lane = &walk->lanes[moving->lane];
        struct order_lane *mine = &order->lanes[moving->lane];
        if (mine->singles_of != lane->timing || mine->first != lane->first_timing ||
            mine->singles_to != lane->transfer.to || mine->watched != order->odd->watched_count) {
            mine->singles_of = NULL;
            if (blocks(lane->timing))
                order->why = "nodes differ, and threads wait for their stages";
            else if (!singles_make(order, moving) && !order->why)
                return walk->error->status;
            if (order->why)
                return STATUS_OK;
            mine->singles_of = lane->timing;
            mine->first = lane->first_timing;
            mine->singles_to = lane->transfer.to;
            mine->watched = order->odd->watched_count;
        }
        count_transfer(order, moving);
    }
    return STATUS_OK;
}

/* ---- what is counted ------------------------------------------------------------------------- */

static bool busy_add(struct order *order, const struct moving *moving, uint32_t unit,
                     const struct timing *timing, struct order_resource *const *uses, int64_t times)
{
    int64_t **const all = order->walk->odd_ps;
    for (size_t i = 0; i < timing->use_count; i++) {
        const struct timed_use *use = &timing->uses[i];
        const size_t at = (size_t)(uses[i]->used - order->walk->used);
        if (!all[at])
            all[at] = calloc(order->width, sizeof **all);
        if (!all[at])
            return order_no_memory(order), false;
        all[at][use->end == END_SRC ? unit : unit_to(order, unit, moving->apart)] +=
            times * use->busy_ps;
    }
    return true;
}

bool order_odd_busy(struct order *order, const struct moving *moving)
{
    const struct order_lane *mine = &order->lanes[moving->lane];
    const struct timing *usual = moving->timing;
    for (size_t i = 0; i < usual->use_count; i++)
        mine->uses[i]->used->busy_ps += usual->uses[i].busy_ps;
    for (size_t i = 0; i < mine->single_count; i++) {
        const struct order_single *single = &mine->singles[i];
        if (!single->timing)
            continue;
        const struct timing *own = moving->slice == 0 ? single->first_timing : single->timing;
        if (!busy_add(order, moving, single->unit, usual, mine->uses, -1) ||
            !busy_add(order, moving, single->unit, own, single->uses, 1))
            return false;
    }
    return true;
}

/* ---- stages ---------------------------------------------------------------------------------- */

size_t order_odd_stages(const struct order *order, const struct moving *moving)
{
    const struct order_lane *mine = &order->lanes[moving->lane];
    size_t most = moving->timing->stage_count;
    for (size_t i = 0; i < mine->single_count; i++)
        if (mine->singles[i].timing && mine->singles[i].timing->stage_count > most)
            most = mine->singles[i].timing->stage_count;
    return most;
}

/* Elements from .. end - 1, in the usual way. */
static bool pass_together(struct order *order, struct moving *moving, uint32_t stage, uint32_t from,
                          uint32_t end)
{
    while (from < end) {
        const uint32_t next = from + STRIP < end ? from + STRIP : end;
        if (!order_pass(order, moving, stage, (struct strip){from, next}))
            return false;
        from = next;
    }
    return true;
}

static struct order_user user_of(const struct moving *moving, const struct timed_use *use,
                                 uint16_t number)
{
    return (struct order_user){.lane = moving->lane,
                               .apart = moving->apart,
                               .slot = moving->timing->slot,
                               .use = number,
                               .last_ps = use->busy_ps};
}

static bool book_enter(struct order *order, struct order_book *book, size_t at,
                       const struct booking *booking)
{
    if (book->count == book->capacity) {
        size_t capacity = book->capacity ? 2 * book->capacity : 16;
        struct booking *grown = realloc(book->list, capacity * sizeof *grown);
        if (!grown)
            return order_no_memory(order), false;
        book->list = grown;
        book->capacity = capacity;
    }
    memmove(&book->list[at + 1], &book->list[at], (book->count - at) * sizeof *booking);
    book->list[at] = *booking;
    book->count++;
    return true;
}

/* The books of watched units, as many as are watched now: a new one begins with the last service.
 * NULL: out of memory. */
static struct order_book *books_of(struct order *order, struct order_resource *resource)
{
    const uint32_t count = order->odd->watched_count;
    if (resource->watched_count == count)
        return resource->watched;
    struct order_book *grown = realloc(resource->watched, count * sizeof *grown);
    if (!grown)
        return order_no_memory(order), NULL;
    resource->watched = grown;
    while (resource->watched_count < count) {
        const int64_t ends_ps = resource->free_ps[order->odd->watched[resource->watched_count]];
        const int64_t begins_ps = ends_ps - resource->user.last_ps;
        struct order_book *book = &grown[resource->watched_count++];
        *book = (struct order_book){.torn = resource->user.lane != UINT32_MAX};
        if (book->torn &&
            !book_enter(order, book, 0,
                        &(struct booking){begins_ps, begins_ps, ends_ps, resource->user}))
            return NULL;
    }
    return grown;
}

void order_odd_forget(struct order_resource *resource)
{
    for (uint32_t i = 0; i < resource->watched_count; i++)
        free(resource->watched[i].list);
    free(resource->watched);
}

/* Enter a service; *booking begins and ends when it says afterwards. */
static bool book_serve(struct order *order, struct order_book *book, struct booking *booking,
                       int64_t busy_ps)
{
    size_t at = book->count;
    while (at > 0 && book->list[at - 1].asks_ps > booking->asks_ps)
        at--;
    const struct booking *before = at > 0 ? &book->list[at - 1] : NULL;
    const struct booking *after = at < book->count ? &book->list[at] : NULL;
    if (before && before->ends_ps > booking->begins_ps)
        booking->begins_ps = before->ends_ps;
    booking->ends_ps = booking->begins_ps + busy_ps;
    const bool tie = before && before->asks_ps == booking->asks_ps &&
                     !order_same_user(&before->user, &booking->user);
    if (tie || (!before && book->torn) || book->count == MOST_BOOKINGS ||
        (after &&
         (booking->ends_ps > after->begins_ps || order_same_user(&after->user, &booking->user)))) {
        order->why = ORDER_MEETS;
        return false;
    }
    return book_enter(order, book, at, booking);
}

/* In the usual way: which resources were used by others before, and who uses them now. */
static bool usual_begin(struct order *order, const struct moving *moving, uint32_t stage)
{
    const struct timed_stage *timed = &moving->timing->stages[stage];
    for (uint16_t at = 0; at < timed->use_count; at++) {
        const uint16_t number = (uint16_t)(timed->first_use + at);
        const struct timed_use *use = &moving->timing->uses[number];
        struct order_resource *resource = moving->uses[number];
        if (!use->queues && use->busy_ps == 0)
            continue;
        const struct order_user user = user_of(moving, use, number);
        if (order->odd->watched_count && !books_of(order, resource))
            return false;
        order->meets[at] =
            !order_same_user(&resource->user, &user) && resource->user.lane != UINT32_MAX;
    }
    return true;
}

static void usual_end(const struct moving *moving, uint32_t stage)
{
    const struct timed_stage *timed = &moving->timing->stages[stage];
    for (uint16_t at = 0; at < timed->use_count; at++) {
        const uint16_t number = (uint16_t)(timed->first_use + at);
        const struct timed_use *use = &moving->timing->uses[number];
        if (use->queues || use->busy_ps > 0)
            moving->uses[number]->user = user_of(moving, use, number);
    }
}

int order_odd_use(struct order *order, struct moving *moving, uint16_t at, uint16_t number,
                  struct strip strip)
{
    const struct timed_use *use = &moving->timing->uses[number];
    struct order_resource *resource = moving->uses[number];
    const uint32_t apart = use->end == END_SRC ? 0 : moving->apart, i = strip.from;
    const uint32_t unit = unit_to(order, i, apart), place = order->odd->watch[unit];
    if (!place) {
        if (!order->meets[at] || order_asks_in_order(order, resource, moving, false, apart, strip,
                                                     resource->user.last_ps))
            return 0;
        order->why = ORDER_MEETS;
        return -1;
    }
    /* A watched unit is always come to alone. */
    struct order_book *books = books_of(order, resource);
    const int64_t head_ps = moving->head_ps[i], now_ps = moving->now_ps[i];
    struct booking booking = {.asks_ps = head_ps > now_ps ? head_ps : now_ps,
                              .begins_ps = head_ps,
                              .user = user_of(moving, use, number)};
    if (!books || !book_serve(order, &books[place - 1], &booking, use->busy_ps))
        return -1;
    const int64_t ends_ps = booking.ends_ps;
    if (ends_ps > resource->free_ps[unit])
        resource->free_ps[unit] = ends_ps;
    moving->head_ps[i] = booking.begins_ps + use->after_ps;
    if (ends_ps > moving->finish_ps[i])
        moving->finish_ps[i] = ends_ps;
    if (use->end == END_SRC && ends_ps - use->offset_ps > moving->next_ps[i])
        moving->next_ps[i] = ends_ps - use->offset_ps;
    return 1;
}

bool order_odd_stage(struct order *order, struct moving *moving, uint32_t stage)
{
    const struct order_lane *mine = &order->lanes[moving->lane];
    const struct timing *usual = moving->timing;
    const bool usually = stage < usual->stage_count;
    if (usually && !usual_begin(order, moving, stage))
        return false;
    bool fits = true;
    uint32_t from = 0;
    for (size_t i = 0; i <= mine->single_count && fits && usually; i++) {
        const uint32_t end = i < mine->single_count ? mine->singles[i].unit : order->width;
        fits = pass_together(order, moving, stage, from, end);
        if (fits && i < mine->single_count && !mine->singles[i].timing)
            fits = pass_together(order, moving, stage, end, end + 1);
        from = end + 1;
    }
    if (fits && usually)
        usual_end(moving, stage);
    for (size_t i = 0; i < mine->single_count && fits; i++) {
        const struct order_single *single = &mine->singles[i];
        if (!single->timing || stage >= single->timing->stage_count)
            continue;
        moving->timing = moving->slice == 0 ? single->first_timing : single->timing;
        moving->uses = single->uses;
        fits = order_pass(order, moving, stage, (struct strip){single->unit, single->unit + 1});
    }
    moving->timing = usual;
    moving->uses = mine->uses;
    return fits;
}

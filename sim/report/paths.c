/* paths.c: see paths.h. */
#include "sim/report/paths.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void paths_name(const struct routes *routes, size_t slot, char *buf, size_t size)
{
    const struct node_type *node = &routes->machine->node;
    struct endpoints ends = routes_endpoints(routes, slot);
    const char *from =
        ends.src.kind == ENDPOINT_SWITCH ? "switch" : node->devices[ends.src.device].name;
    const char *to =
        ends.dst.kind == ENDPOINT_SWITCH ? "switch" : node->devices[ends.dst.device].name;
    bool remote =
        !ends.same_node && ends.src.kind == ENDPOINT_DEVICE && ends.dst.kind == ENDPOINT_DEVICE;
    char rail[24] = "";
    if (routes->rails > 1 && !ends.same_node)
        snprintf(rail, sizeof rail, ", rail %u", ends.rail);
    char whose[2][80] = {"", ""};
    for (int end = END_SRC; end <= END_DST; end++) {
        const char *label =
            machine_of_kind(routes->machine, routes_kind(routes, slot, (enum route_end)end))->label;
        if (label)
            snprintf(whose[end], sizeof whose[end], "%s's ", label);
        else if (end == END_DST && remote)
            snprintf(whose[end], sizeof whose[end], "other node's ");
    }
    if (ends.src.kind == ENDPOINT_SWITCH)
        whose[END_SRC][0] = '\0';
    if (ends.dst.kind == ENDPOINT_SWITCH)
        whose[END_DST][0] = '\0';
    snprintf(buf, size, "%s%s -> %s%s%s", whose[END_SRC], from, whose[END_DST], to, rail);
}

/* Routes that say the same are told together. */
static bool same_story(const struct route *a, const struct route *b)
{
    if (a->taken != b->taken || a->verdict_count != b->verdict_count ||
        a->leg_count != b->leg_count)
        return false;
    for (size_t i = 0; i < a->verdict_count; i++)
        if (a->verdicts[i].what != b->verdicts[i].what ||
            strcmp(a->verdicts[i].sentence, b->verdicts[i].sentence) != 0)
            return false;
    for (size_t i = 0; i < a->leg_count; i++)
        if (a->legs[i].kind != b->legs[i].kind)
            return false;
    return true;
}

/* Peer paths inside a node are what gdr asks for there, under another name. */
static const char *taken_name(const struct route *route)
{
    if (route->taken != route->asked)
        return route->taken->title;
    for (size_t i = 0; i < route->leg_count; i++)
        if (route->legs[i].kind == LEG_NVLINK)
            return "NVLink";
    return route->taken->title;
}

/* How many reads the sender's NIC needs for its line rate; 0: the route is silent about that. */
static double reads_needed(const struct machine *machine, const struct route *route)
{
    size_t place = 0;
    for (size_t i = 0; i < machine->node.device_count; i++) {
        const struct device *nic = &machine->node.devices[i];
        const struct resource *own = &machine->node.resources[nic->resource];
        if (nic->kind != DEVICE_NIC || place++ != route->nic[0])
            continue;
        return ceil(param_get(&nic->params, PARAM_NIC_READS) * own[NIC_TX].rate_Bps /
                    own[NIC_READ_CREDITS].rate_Bps);
    }
    return 0;
}

static void write_verdict(struct text *text, const struct machine *machine,
                          const struct route *route, const struct verdict_item *item)
{
    const struct precondition_info *info = &precondition_table[item->what];
    bool vm = param_get(&machine->state, PARAM_STATE_VM) > 0;
    text_printf(text, "  %s: %s\n    see: %s\n", outcome_name(item->outcome), item->sentence,
                vm && info->see_in_vm ? info->see_in_vm : info->see);
    double reads = item->what == PRE_READ_CREDITS ? reads_needed(machine, route) : 0;
    if (reads > 0)
        text_printf(text,
                    "    fix: mlxconfig -d DEV s MAX_ACC_OUT_READ=%.0f and reset the NIC; "
                    "larger MRRS\n",
                    reads);
    else
        text_printf(text, "    fix: %s\n", vm && info->fix_in_vm ? info->fix_in_vm : info->fix);
}

static void write_path(struct text *text, const struct routes *routes, size_t slot)
{
    const struct route *route = routes->slot[slot];
    char name[256];
    size_t more = 0;
    paths_name(routes, slot, name, sizeof name);
    for (size_t other = slot + 1; other < routes->slot_count; other++)
        more += routes->slot[other] && same_story(route, routes->slot[other]);
    text_printf(text, "%s", name);
    if (more)
        text_printf(text, " and %zu more like it", more);
    bool hangs = route_worst(route) == OUTCOME_HANGS;
    text_printf(text, "\n  asked: %s\n  taken: %s", route->asked->title,
                hangs ? "none" : taken_name(route));
    if (hangs)
        text_printf(text, "   <-- it hangs");
    else if (route->taken != route->asked)
        text_printf(text, "   <-- not what was asked for");
    if (!hangs)
        text_printf(text, "\n  way:  ");
    for (size_t s = 0; s < route->stage_count; s++) {
        const struct route_stage *stage = &route->stages[s];
        for (size_t i = 0; i < stage->leg_count; i++)
            text_printf(text, "%s%s",
                        i   ? ", "
                        : s ? " | "
                            : " ",
                        route->legs[stage->first_leg + i].label);
    }
    text_printf(text, "\n");
    if (route->verdict_count == 0)
        text_printf(text, "  every precondition holds\n");
    for (size_t i = 0; i < route->verdict_count; i++)
        write_verdict(text, machine_of_kind(routes->machine, routes_kind(routes, slot, END_SRC)),
                      route, &route->verdicts[i]);
}

enum outcome paths_write(struct text *text, const struct routes *routes)
{
    enum outcome worst = OUTCOME_HOLDS;
    for (size_t slot = 0; slot < routes->slot_count; slot++) {
        const struct route *route = routes->slot[slot];
        if (!route)
            continue;
        bool told = false;
        for (size_t before = 0; before < slot; before++)
            told = told || (routes->slot[before] && same_story(route, routes->slot[before]));
        enum outcome outcome = route_worst(route);
        if (route->taken != route->asked && outcome < OUTCOME_BREAKS)
            outcome = OUTCOME_BREAKS;
        worst = outcome > worst ? outcome : worst;
        if (!told)
            write_path(text, routes, slot);
    }
    return worst;
}

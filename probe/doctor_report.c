/* doctor_report.c: what the doctor found, for a person. */
#include "probe/doctor.h"

static const struct {
    const char *name, *what, *otherwise;
} paths[DOCTOR_PATHS] = {
    [DOCTOR_P2P] = {"P2P", "GPU to GPU inside the node",
                    "copies between GPUs go through host memory, without an error"},
    [DOCTOR_RDMA] = {"RDMA", "the network adapter reads and writes GPU memory",
                     "NCCL and MPI go through host memory, without an error"},
    [DOCTOR_STORAGE] = {"Storage", "drives read and write GPU memory",
                        "cuFile reads into host memory and copies, without an error"},
    [DOCTOR_ASYNC] = {"Async", "the GPU triggers and completes the transfers",
                      "the CPU posts each transfer"},
    [DOCTOR_GDRCOPY] = {"GDRCopy", "the CPU reads and writes GPU memory through BAR1",
                        "small copies go through the copy engine, some 6 us each"},
};

static void write_item(const struct doctor_item *item, bool vm, FILE *to)
{
    static const char *const verdicts[] = {"unknown", "fails", "holds"};
    const struct doctor_words *words = &doctor_words[item->row];
    const char *see = vm && words->see_in_vm ? words->see_in_vm : words->see;
    const char *fix = vm && words->fix_in_vm ? words->fix_in_vm : words->fix;
    bool fails = item->holds == NO;
    fprintf(to, "  %-7s  %s%s\n", verdicts[item->holds + 1], words->name,
            !fails                         ? ""
            : item->row == DOCTOR_ACS      ? " (slower; some machines refuse it, or hang)"
            : item->effect == EFFECT_SLOWS ? " (slower)"
            : item->effect == EFFECT_NOTED ? " (worth knowing)"
                                           : "");
    for (size_t i = 0; i < item->sentence_count; i++)
        fprintf(to, "             %s\n", item->sentences[i]);
    if (item->more > 0)
        fprintf(to, "             and %zu more like it\n", item->more);
    if (item->holds == YES)
        return;
    fprintf(to, "             see: %s\n", see);
    if (fails)
        fprintf(to, "             fix: %s\n", fix);
}

static void write_in_a_run(const struct doctor_result *result, FILE *to)
{
    bool head = false;
    for (size_t i = 0; i < result->count; i++) {
        const struct doctor_words *words = &doctor_words[result->items[i].row];
        if (!result->items[i].in_a_run)
            continue;
        if (!head)
            fputs("  only a run shows\n", to);
        head = true;
        fprintf(to, "             %s: %s\n", words->name, words->see);
    }
}

/* What needs doing stands first: the lower, the sooner. */
static int place(const struct doctor_item *item)
{
    if (item->holds == NO)
        return item->effect == EFFECT_BREAKS ? 0 : item->effect == EFFECT_SLOWS ? 1 : 3;
    return item->holds == UNKNOWN ? 2 : 4;
}

static void write_path(const struct doctor *doctor, size_t path, bool quiet, FILE *to)
{
    const struct doctor_result *result = &doctor->paths[path];
    fprintf(to, "%s: %s\n  ", paths[path].name, paths[path].what);
    if (result->no_pair && result->holds == YES)
        fprintf(to, "Does not apply: there is one GPU, and no pair.\n");
    else if (result->holds == NO)
        fprintf(to, "The fast path cannot engage: %s.\n", paths[path].otherwise);
    else if (result->holds == UNKNOWN)
        fprintf(to, "Unknown: not all could be seen. If it does not engage, %s.\n",
                paths[path].otherwise);
    else
        fprintf(to, "Nothing found against it%s. Whether it engages, a run shows.\n",
                result->slower ? ", but it will be slower than it could be" : "");
    for (int at = 0; at < (quiet ? 4 : 5); at++)
        for (size_t i = 0; i < result->count; i++)
            if (!result->items[i].in_a_run && place(&result->items[i]) == at)
                write_item(&result->items[i], doctor->vm, to);
    if (!quiet)
        write_in_a_run(result, to);
}

void doctor_write(const struct doctor *doctor, bool quiet, FILE *to)
{
    for (size_t i = 0; i < DOCTOR_PATHS; i++) {
        if (i)
            fputc('\n', to);
        write_path(doctor, i, quiet, to);
    }
}

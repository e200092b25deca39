/* watch.h: what `gdprobe watch` knows at the end of a run, and telling it. */
#ifndef GDPROBE_WATCH_H
#define GDPROBE_WATCH_H

#include <sys/resource.h>

#include "probe/sampler.h"
#include "probe/snapshot.h"
#include "probe/verdict.h"

/* All counters at one moment. */
struct watch_mark {
    struct sampler_reading gpus;
    struct snapshot host;
    bool good;        /* the GPUs answered */
    double payload_B; /* that the table of nccl-tests had told of until then */
};
/* Until MARK_START the machine was idle, from MARK_BEGIN to MARK_END it was watched. */
enum { MARK_IDLE, MARK_START, MARK_BEGIN, MARK_END, MARKS };

struct watch {
    struct sampler sampler;
    struct perf perf;
    struct watch_mark marks[MARKS];
    struct nccl_log log;
    char command[512];
    double bytes;   /* --bytes; NAN: not given */
    bool cut;       /* the window is not the whole run: --from, --to */
    double seconds; /* of the whole run */
    int exit_code;  /* 128 + signal when it was killed */
    struct rusage usage;
    struct why gpus_lost; /* not empty: the counters of the GPUs ended before the window did */
};

/* D of verdict.h; NAN when neither --bytes nor a table told. */
double watch_payload(const struct watch *watch);
/* One row a counter, handed to take(). */
void watch_rows(const struct watch *watch, void (*take)(void *context, struct observation *row),
                void *context);
void watch_judge(const struct watch *watch, struct verdict *ret_verdict);
void watch_print(const struct watch *watch, const struct verdict *verdict, FILE *to);
/* facts_of: the machine whose facts are written too; NULL: none. */
bool watch_write(const struct watch *watch, const struct verdict *verdict, const char *settings,
                 const struct sys *facts_of, const char *name, struct why *ret_why);

#endif

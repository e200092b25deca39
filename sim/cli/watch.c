/* watch.c: how far a long run is, on stderr: on a terminal a line that is drawn anew, elsewhere one
 * line when it turns out that the run takes long. See cli.h. */
#include <stdio.h>
#include <unistd.h>

#include "sim/cli/cli.h"
#include "sim/study/blocks.h"

#define LONG_S 10.0 /* a run worth a warning */
#define SHOW_S 0.5

void cli_duration(double seconds, char *buffer, size_t size)
{
    if (seconds < 100)
        snprintf(buffer, size, "%.0f s", seconds);
    else if (seconds < 6000)
        snprintf(buffer, size, "%.0f min", seconds / 60);
    else
        snprintf(buffer, size, "%.1f h", seconds / 3600);
}

struct watched {
    bool running, warned, shown;
    double start_s, last_s, start_share;
    uint64_t start_events;
};

static void tell(void *context, const struct engine_job *job, double share, uint64_t events)
{
    struct watched *watched = context;
    const double now_s = blocks_clock_s();
    char left[32];
    if (share >= 1) {
        if (watched->shown)
            fputs("\r\033[K", stderr);
        *watched = (struct watched){0};
        return;
    }
    if (!watched->running) {
        *watched = (struct watched){.running = true,
                                    .start_s = now_s,
                                    .last_s = now_s,
                                    .start_share = share,
                                    .start_events = events};
        return;
    }
    const double seconds = now_s - watched->start_s, done = share - watched->start_share;
    if (seconds < SHOW_S || now_s - watched->last_s < SHOW_S || !(done > 0))
        return;
    watched->last_s = now_s;
    const double left_s = seconds * (1 - share) / done;
    const double rate = (double)(events - watched->start_events) / seconds;
    cli_duration(left_s, left, sizeof left);
    if (isatty(STDERR_FILENO)) {
        fprintf(stderr, "\r\033[K%s/%s, %.4g B: %.1f %%, %.3g events/s, %s left", job->plan->name,
                job->routes->mechanism->name, job->size_B, 100 * share, rate, left);
        fflush(stderr);
        watched->shown = true;
    } else if (!watched->warned && left_s > LONG_S) {
        fprintf(stderr,
                "gdsim: %s/%s, %.4g B, takes long: about %.2g events one by one, %.3g a second, %s "
                "left\n",
                job->plan->name, job->routes->mechanism->name, job->size_B, (double)events / share,
                rate, left);
        watched->warned = true;
    }
}

const struct engine_watch *cli_watch(void)
{
    static struct watched watched; /* commands that watch run one job at a time */
    static const struct engine_watch watch = {tell, &watched};
    return &watch;
}

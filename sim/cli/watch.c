/* watch.c: how far a long run is, on stderr: on a terminal a line that is drawn anew, elsewhere one
 * line when it turns out that the run takes long. See cli.h. */
#include <stdarg.h>
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

/* A run gets slower as more of it is under way, so the time that is left follows from the last
 * quarter to half of the time that has passed, not from all of it. */
struct moment {
    double s, share;
};

struct watched {
    bool running, warned, shown;
    double last_s;
    uint64_t start_events;
    struct moment start, window, next; /* window: what is looked back to; next: what will be */
};

static double left_s(struct watched *watched, double now_s, double share)
{
    if (now_s - watched->next.s >= (now_s - watched->start.s) / 4) {
        watched->window = watched->next;
        watched->next = (struct moment){now_s, share};
    }
    const double done = share - watched->window.share;
    return done > 0 ? (now_s - watched->window.s) * (1 - share) / done : 0;
}

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
        const struct moment now = {now_s, share};
        *watched = (struct watched){.running = true,
                                    .last_s = now_s,
                                    .start_events = events,
                                    .start = now,
                                    .window = now,
                                    .next = now};
        return;
    }
    const double seconds = now_s - watched->start.s;
    if (seconds < SHOW_S || now_s - watched->last_s < SHOW_S)
        return;
    watched->last_s = now_s;
    const double remaining_s = left_s(watched, now_s, share);
    const double rate = (double)(events - watched->start_events) / seconds;
    cli_duration(remaining_s, left, sizeof left);
    if (isatty(STDERR_FILENO)) {
        fprintf(stderr, "\r\033[K%s/%s, %.4g B: %.1f %%, %.3g events/s, %s left", job->plan->name,
                job->routes->mechanism->name, job->size_B, 100 * share, rate, left);
        fflush(stderr);
        watched->shown = true;
    } else if (!watched->warned && remaining_s > LONG_S) {
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

static double step_shown_s;

void cli_step(const char *format, ...)
{
    const double now_s = blocks_clock_s();
    if (!isatty(STDERR_FILENO) || now_s - step_shown_s < SHOW_S)
        return;
    va_list args;
    va_start(args, format);
    fputs("\r\033[K", stderr);
    vfprintf(stderr, format, args);
    fflush(stderr);
    va_end(args);
    step_shown_s = now_s;
}

void cli_step_end(void)
{
    if (step_shown_s > 0)
        fputs("\r\033[K", stderr);
    step_shown_s = 0;
}

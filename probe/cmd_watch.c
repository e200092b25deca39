/* cmd_watch.c: `gdprobe watch -- COMMAND`: run it, and read all counters around it. */
#define _DEFAULT_SOURCE /* wait4 */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "probe/clock.h"
#include "probe/cmd.h"
#include "probe/lines.h"
#include "probe/size.h"
#include "probe/watch.h"

enum {
    OPTION_BYTES = 256,
    OPTION_BASELINE,
    OPTION_PERIOD,
    OPTION_FROM,
    OPTION_TO,
    OPTION_LOG,
    OPTION_LIB_DIR,
    OPTION_NO_PERF,
    OPTION_NO_FACTS
};

struct options {
    double bytes, baseline_s, period_s;
    const char *from, *to, *log, *output, *sysroot;
    bool no_perf, no_facts;
    char **command;
};

static const struct argp_option option_table[] = {
    {"bytes", OPTION_BYTES, "SIZE", 0,
     "payload of each GPU in the window (default: from the table of nccl-tests)", 0},
    {"baseline", OPTION_BASELINE, "SECONDS", 0, "watch the idle machine first (default 1)", 0},
    {"period", OPTION_PERIOD, "MS", 0, "between two readings of the GPUs' counters (default 10)",
     0},
    {"from", OPTION_FROM, "TEXT", 0, "the window begins when a line of output has this text", 0},
    {"to", OPTION_TO, "TEXT", 0, "and ends when one has this (default: with the command)", 0},
    {"nccl-log", OPTION_LOG, "FILE", 0, "where NCCL_DEBUG_FILE wrote to, read at the end", 0},
    {"no-perf", OPTION_NO_PERF, NULL, 0, "do not try to count DRAM and IO", 0},
    {"no-facts", OPTION_NO_FACTS, NULL, 0, "leave the machine's facts out of FILE", 0},
    {"lib-dir", OPTION_LIB_DIR, "DIR", 0, "take vendors' libraries from there only", 0},
    {"sysroot", 'r', "DIR", 0, "read /proc and /sys of a captured tree (for tests)", 0},
    {"output", 'o', "FILE", 0, "write the observations there (README: format)", 0},
    {0},
};

static double number(const char *text, double most, struct argp_state *state)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !(value >= 0) || value > most)
        argp_error(state, "\"%s\" is no number from 0 to %g", text, most);
    return value;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct options *options = state->input;
    const char *end;
    switch (key) {
    case OPTION_BYTES:
        end = size_parse(arg, &options->bytes);
        if (!end || *end || options->bytes <= 0)
            argp_error(state, "--bytes: \"%s\" is no size", arg);
        return 0;
    case OPTION_BASELINE:
        options->baseline_s = number(arg, 3600, state);
        return 0;
    case OPTION_PERIOD:
        options->period_s = 1e-3 * number(arg, 1000, state);
        return 0;
    case OPTION_FROM:
        options->from = arg;
        return 0;
    case OPTION_TO:
        options->to = arg;
        return 0;
    case OPTION_LOG:
        options->log = arg;
        return 0;
    case OPTION_NO_FACTS:
        options->no_facts = true;
        return 0;
    case OPTION_NO_PERF:
        options->no_perf = true;
        return 0;
    case OPTION_LIB_DIR:
        if (setenv("GDPROBE_LIB_DIR", arg, 1) != 0)
            argp_error(state, "--lib-dir: no memory");
        return 0;
    case 'r':
        options->sysroot = arg;
        return 0;
    case 'o':
        options->output = arg;
        return 0;
    case ARGP_KEY_ARG:
        options->command = &state->argv[state->next - 1];
        state->next = state->argc; /* the rest is the command's */
        return 0;
    case ARGP_KEY_END:
        if (!options->command)
            argp_error(state, "which command?");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = option_table,
    .parser = parse_option,
    .args_doc = "-- COMMAND [ARGUMENT...]",
    .doc = "Run a command and say which way its bytes took: GPU, NIC, DRAM and CPU counters around "
           "it, against the idle machine."
           "\vThe command's output passes through; the report goes to standard error, and the exit "
           "code is the command's.\n"
           "Example: NCCL_DEBUG=INFO gdprobe watch -o run.csv -- ./all_reduce_perf -b 1G -e 1G -g "
           "2",
};

/* ---- marks ---------------------------------------------------------------------------------- */

struct run {
    struct options options;
    struct watch watch;
    struct sys sys;
    struct lines lines[2]; /* of the command's stdout and stderr */
    enum { BEFORE, INSIDE, AFTER } state;
};

static void take_mark(struct run *run, int which)
{
    struct watch *watch = &run->watch;
    struct watch_mark *mark = &watch->marks[which];
    struct why why = {""};
    mark->good = sampler_read(&watch->sampler, &mark->gpus, &why);
    if (!mark->good && !watch->sampler.machine.why.text[0])
        watch->gpus_lost = why;
    snapshot_take(&run->sys, &watch->perf, &mark->host);
    mark->payload_B = watch->log.payload_B;
}

static void take_line(void *context, const char *line)
{
    struct run *run = context;
    const struct options *options = &run->options;
    if (run->state == INSIDE && options->to && strstr(line, options->to)) {
        nccl_log_line(&run->watch.log, line);
        take_mark(run, MARK_END);
        run->state = AFTER;
        return;
    }
    if (run->state == BEFORE && options->from && strstr(line, options->from)) {
        take_mark(run, MARK_BEGIN);
        run->state = INSIDE;
    }
    nccl_log_line(&run->watch.log, line);
}

/* ---- the command ----------------------------------------------------------------------------- */

static volatile sig_atomic_t stop_signal;

static void remember(int signal)
{
    stop_signal = signal;
}

static void wake(int signal)
{
    (void)signal;
}

/* The terminal sends SIGINT to the command too; SIGTERM is handed on. Handlers, unlike SIG_IGN, do
 * not pass to the command. SIGCHLD only ends the waiting. */
static void handle_signals(void)
{
    struct sigaction action = {.sa_handler = remember};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    action.sa_handler = wake;
    action.sa_flags = (int)SA_NOCLDSTOP;
    sigaction(SIGCHLD, &action, NULL);
}

/* Pass on a piece of output and look at it; false at the end of the stream. */
static bool pass(struct run *run, int stream, int from)
{
    char buffer[16384];
    ssize_t length = read(from, buffer, sizeof buffer);
    if (length < 0 && errno == EINTR)
        return true;
    if (length <= 0)
        return false;
    for (ssize_t done = 0; done < length;) {
        ssize_t n = write(stream + 1, buffer + done, (size_t)(length - done));
        if (n < 0 && errno != EINTR)
            break; /* nobody reads our output: still watch */
        done += n > 0 ? n : 0;
    }
    lines_feed(&run->lines[stream], buffer, (size_t)length, take_line, run);
    return true;
}

/* Pass output on until the command has ended and said all; a child of it that lives on may hold
 * its output open: then stop when it has been silent for a while. */
static int follow(struct run *run, pid_t pid, int outputs[2])
{
    int status = 0;
    bool ended = false, open[2] = {true, true};
    while (!ended || open[0] || open[1]) {
        struct pollfd ready[2];
        for (int i = 0; i < 2; i++)
            ready[i] = (struct pollfd){.fd = open[i] ? outputs[i] : -1, .events = POLLIN};
        int n = poll(ready, 2, ended ? 200 : 20);
        if (stop_signal == SIGTERM) {
            kill(pid, SIGTERM);
            stop_signal = 0;
        }
        for (int i = 0; i < 2; i++)
            if (n > 0 && ready[i].revents && !pass(run, i, outputs[i]))
                open[i] = false;
        if (ended && n == 0)
            break;
        if (!ended && wait4(pid, &status, WNOHANG, &run->watch.usage) == pid) {
            ended = true;
            if (run->state == INSIDE && !run->options.to)
                take_mark(run, MARK_END);
        }
    }
    for (int i = 0; i < 2; i++)
        lines_end(&run->lines[i], take_line, run);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void become(char **command, int pipes[3][2])
{
    dup2(pipes[0][1], STDOUT_FILENO);
    dup2(pipes[1][1], STDERR_FILENO);
    execvp(command[0], command);
    int code = errno;
    if (write(pipes[2][1], &code, sizeof code) != (ssize_t)sizeof code)
        _exit(126);
    _exit(127);
}

/* Start the command and follow it to its end; false when it could not be started. */
static bool run_command(struct run *run)
{
    char **command = run->options.command;
    int pipes[3][2], outputs[2], failure = 0; /* stdout, stderr, and why it could not be started */
    for (int i = 0; i < 3; i++) {
        if (pipe(pipes[i]) != 0) {
            fprintf(stderr, "gdprobe: no pipe: %s\n", strerror(errno));
            return false;
        }
        for (int k = 0; k < 2; k++)
            fcntl(pipes[i][k], F_SETFD, FD_CLOEXEC);
    }
    fflush(NULL);
    double begin_s = clock_s();
    pid_t pid = fork();
    if (pid == 0)
        become(command, pipes);
    for (int i = 0; i < 3; i++)
        close(pipes[i][1]);
    ssize_t told;
    do /* a signal, the child's end among them, may come first */
        told = pid > 0 ? read(pipes[2][0], &failure, sizeof failure) : -1;
    while (pid > 0 && told < 0 && errno == EINTR);
    bool started = pid > 0 && told != sizeof failure;
    if (started) {
        outputs[0] = pipes[0][0];
        outputs[1] = pipes[1][0];
        run->watch.exit_code = follow(run, pid, outputs);
        run->watch.seconds = clock_s() - begin_s;
    } else {
        fprintf(stderr, "gdprobe: %s: %s\n", command[0], strerror(pid > 0 ? failure : errno));
        if (pid > 0)
            waitpid(pid, NULL, 0);
    }
    for (int i = 0; i < 3; i++)
        close(pipes[i][0]);
    return started;
}

/* ---- the run -------------------------------------------------------------------------------- */

static bool read_log(struct run *run)
{
    char buffer[16384];
    size_t length;
    struct lines lines = {.filled = 0};
    FILE *file = run->options.log ? fopen(run->options.log, "r") : NULL;
    if (!file)
        return !run->options.log;
    run->state = AFTER; /* its lines are no marks */
    while ((length = fread(buffer, 1, sizeof buffer, file)) > 0)
        lines_feed(&lines, buffer, length, take_line, run);
    lines_end(&lines, take_line, run);
    fclose(file);
    return true;
}

static void join(char *const *words, char *buffer, size_t size)
{
    size_t length = 0;
    buffer[0] = '\0';
    for (size_t i = 0; words[i] && length < size; i++)
        length += (size_t)snprintf(buffer + length, size - length, "%s%s", i ? " " : "", words[i]);
}

static void settings_text(const struct options *options, char *buffer, size_t size)
{
    int length = snprintf(buffer, size, "baseline %g s, period %g ms", options->baseline_s,
                          1e3 * options->period_s);
    if (options->from)
        length +=
            snprintf(buffer + length, size - (size_t)length, ", from \"%.60s\"", options->from);
    if (options->to)
        snprintf(buffer + length, size - (size_t)length, ", to \"%.60s\"", options->to);
}

static int report(struct run *run)
{
    struct watch *watch = &run->watch;
    struct verdict verdict;
    struct why why = {""};
    char settings[256];
    if (run->state == BEFORE && run->options.from) {
        fprintf(stderr, "gdprobe: no line of the output had \"%s\": nothing was watched\n",
                run->options.from);
        return EXIT_FOUND;
    }
    if (run->state == INSIDE && run->options.to) {
        fprintf(stderr, "gdprobe: no line of the output had \"%s\": watched to the end\n",
                run->options.to);
        take_mark(run, MARK_END);
    }
    if (!run->options.to) /* what the command said last came after its end */
        watch->marks[MARK_END].payload_B = watch->log.payload_B;
    watch_judge(watch, &verdict);
    watch_print(watch, &verdict, stderr);
    settings_text(&run->options, settings, sizeof settings);
    if (run->options.output &&
        !watch_write(watch, &verdict, settings, run->options.no_facts ? NULL : &run->sys,
                     run->options.output, &why)) {
        fprintf(stderr, "gdprobe: %s\n", why.text);
        return EXIT_FOUND;
    }
    return watch->exit_code;
}

int cmd_watch(int argc, char **argv)
{
    static struct run run;
    struct options *options = &run.options;
    struct watch *watch = &run.watch;
    struct why why = {""};
    *options = (struct options){.bytes = (double)NAN, .baseline_s = 1, .period_s = 0.01};
    argp_err_exit_status = EXIT_BAD_INPUT;
    argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, options);
    watch->bytes = options->bytes;
    watch->cut = options->from || options->to;
    join(options->command, watch->command, sizeof watch->command);
    if (!sys_open(&run.sys, options->sysroot, &why)) {
        fprintf(stderr, "gdprobe: %s\n", why.text);
        return EXIT_BAD_INPUT;
    }
    sampler_start(&watch->sampler, options->period_s, 20);
    if (options->no_perf)
        why_set(&watch->perf.why, "--no-perf");
    else
        perf_find(&run.sys, &watch->perf);
    perf_open(&watch->perf);
    handle_signals();
    take_mark(&run, MARK_IDLE);
    for (double end_s = clock_s() + options->baseline_s, left = options->baseline_s; left > 0;
         left = stop_signal ? 0 : end_s - clock_s())
        nanosleep(&(struct timespec){.tv_sec = (time_t)left,
                                     .tv_nsec = (long)(1e9 * (left - (double)(time_t)left))},
                  NULL);
    take_mark(&run, MARK_START);
    watch->marks[MARK_BEGIN] = watch->marks[MARK_START];
    run.state = options->from ? BEFORE : INSIDE;
    int code = stop_signal ? 128 + stop_signal : 127;
    if (!stop_signal && run_command(&run)) {
        if (!read_log(&run))
            fprintf(stderr, "gdprobe: %s: %s\n", options->log, strerror(errno));
        code = report(&run);
    }
    perf_close(&watch->perf);
    sampler_stop(&watch->sampler);
    return code;
}

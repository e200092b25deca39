/* child.c: see child.h. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "probe/child.h"
#include "probe/clock.h"

void child_send(const struct child *child, const void *record)
{
    const char *at = record;
    size_t left = child->record_bytes;
    while (left > 0) {
        ssize_t n = write(child->pipe, at, left);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            _exit(1); /* the parent is gone */
        at += n;
        left -= (size_t)n;
    }
}

/* Read records until the child closes its end; false when none came for timeout_s. */
static bool collect(int fd, double timeout_s, size_t record_bytes,
                    void (*take)(void *, const void *), void *context, char *record)
{
    size_t filled = 0;
    double deadline = clock_s() + timeout_s;
    for (;;) {
        double left = deadline - clock_s();
        if (left <= 0)
            return false;
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        int n = poll(&ready, 1, left > 1e6 ? 1000000000 : (int)(left * 1e3) + 1);
        if (n <= 0)
            continue; /* time or EINTR: look at the clock */
        ssize_t got = read(fd, record + filled, record_bytes - filled);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return true;
        filled += (size_t)got;
        if (filled < record_bytes)
            continue;
        take(context, record);
        filled = 0;
        deadline = clock_s() + timeout_s;
    }
}

#define UNKILLABLE " and cannot be killed: it hangs inside the kernel"

/* A child that hangs inside the kernel cannot be reaped even after SIGKILL: wait a while only. */
static bool reap(pid_t pid, double patience_s, int *ret_status)
{
    for (double deadline = clock_s() + patience_s; clock_s() < deadline;) {
        pid_t done = waitpid(pid, ret_status, WNOHANG);
        if (done == pid)
            return true;
        if (done < 0 && errno != EINTR)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    return false;
}

static bool judge(int status, struct why *ret_why)
{
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    if (WIFSIGNALED(status))
        why_set(ret_why, "was killed by signal %d (%s)", WTERMSIG(status),
                strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) == 1)
        why_set(ret_why, "failed");
    else
        why_set(ret_why, "ended with exit code %d", WEXITSTATUS(status));
    return false;
}

void child_follow_parent(void)
{
    pid_t parent = getppid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1); /* it died in between */
}

bool child_end(pid_t pid, double timeout_s, struct why *ret_why)
{
    int status = 0;
    if (reap(pid, timeout_s, &status))
        return judge(status, ret_why);
    kill(pid, SIGKILL);
    why_set(ret_why, "did not end within %g s%s", timeout_s,
            reap(pid, 1, &status) ? "" : UNKILLABLE);
    return false;
}

bool child_run(bool (*work)(const struct child *child, void *input), void *input, double timeout_s,
               size_t record_bytes, void (*take)(void *context, const void *record), void *context,
               struct why *ret_why)
{
    int ends[2];
    char *record = malloc(record_bytes);
    if (!record || pipe(ends) != 0) {
        free(record);
        why_set(ret_why, "no pipe: %s", strerror(errno));
        return false;
    }
    fflush(NULL); /* or the child would print what is buffered here a second time */
    pid_t pid = fork();
    if (pid < 0) {
        why_set(ret_why, "no child process: %s", strerror(errno));
        close(ends[0]);
        close(ends[1]);
        free(record);
        return false;
    }
    if (pid == 0) {
        close(ends[0]);
        child_follow_parent();
        struct child child = {.pipe = ends[1], .record_bytes = record_bytes};
        _exit(work(&child, input) ? 0 : 1);
    }
    close(ends[1]);
    bool answered = collect(ends[0], timeout_s, record_bytes, take, context, record);
    close(ends[0]);
    free(record);
    if (answered)
        return child_end(pid, timeout_s, ret_why);
    kill(pid, SIGKILL);
    int status;
    why_set(ret_why, "did not answer within %g s%s", timeout_s,
            reap(pid, 1, &status) ? "" : UNKILLABLE);
    return false;
}

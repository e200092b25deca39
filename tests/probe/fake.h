/* fake.h: what the pretended libraries and the pretended traffic share.
 *
 * The counters lie in a file that all map, named by GDPROBE_FAKE_STATE; without it each process has
 * its own. GDPROBE_FAKE_GPUS is how many GPUs there are (2). GDPROBE_FAKE_FAIL is "hang:FUNCTION",
 * "kill:FUNCTION" or "error:FUNCTION": what that function of a library does when it is called.
 */
#ifndef TESTS_PROBE_FAKE_H
#define TESTS_PROBE_FAKE_H

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FAKE_GPUS = 4, FAKE_ERROR = 999 };

struct fake_state {
    uint64_t pcie_tx[FAKE_GPUS], pcie_rx[FAKE_GPUS];     /* bytes; NVML shows 32 bits of them */
    uint64_t nvlink_tx[FAKE_GPUS], nvlink_rx[FAKE_GPUS]; /* bytes */
    uint64_t reads;                                      /* rounds of NVML readings */
    uint64_t clock_us;                                   /* NVML's clock: 10 ms a round */
};

static inline struct fake_state *fake_state(void)
{
    static struct fake_state own, *state;
    const char *name = getenv("GDPROBE_FAKE_STATE");
    if (state)
        return state;
    state = &own;
    int fd = name ? open(name, O_RDWR | O_CREAT, 0600) : -1;
    if (fd >= 0 && ftruncate(fd, sizeof own) == 0) {
        void *map = mmap(NULL, sizeof own, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (map != MAP_FAILED)
            state = map;
        close(fd);
    }
    return state;
}

static inline void fake_add(uint64_t *counter, uint64_t bytes)
{
    __atomic_add_fetch(counter, bytes, __ATOMIC_SEQ_CST);
}

static inline uint64_t fake_get(uint64_t *counter)
{
    return __atomic_load_n(counter, __ATOMIC_SEQ_CST);
}

static inline unsigned fake_gpus(void)
{
    const char *text = getenv("GDPROBE_FAKE_GPUS");
    unsigned count = text ? (unsigned)atoi(text) : 2;
    return count < FAKE_GPUS ? count : FAKE_GPUS;
}

/* The error that a function returns, having done what GDPROBE_FAKE_FAIL wants of it. */
static inline int fake_fail(const char *function)
{
    const char *text = getenv("GDPROBE_FAKE_FAIL");
    const char *name = text ? strchr(text, ':') : NULL;
    if (!name || strcmp(name + 1, function) != 0)
        return 0;
    if (strncmp(text, "kill:", 5) == 0)
        raise(SIGKILL);
    while (strncmp(text, "hang:", 5) == 0)
        pause();
    return FAKE_ERROR;
}

#endif

/* traffic.c: a program to be watched that moves pretended bytes (fake.h).
 *
 *   traffic [COUNTER:GPU=BYTES | gap=MILLISECONDS]...
 *
 * COUNTER is pcie_tx, pcie_rx, nvlink_tx or nvlink_rx. Before the first step, after the last one
 * and after every 2^31 B it waits until the counters have been read, so that no wrap is ever missed
 * because the machine is busy; gap=MS makes NVML's clock jump, so that one may have been.
 */
#include <time.h>

#include "tests/probe/fake.h"

/* Until two whole rounds have passed; gives up after ten seconds. */
static void wait_for_readings(struct fake_state *state)
{
    uint64_t until = fake_get(&state->reads) + 2;
    for (int i = 0; i < 10000 && fake_get(&state->reads) < until; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

int main(int argc, char **argv)
{
    struct fake_state *state = fake_state();
    wait_for_readings(state);
    for (int i = 1; i < argc; i++) {
        static const char *const names[] = {"pcie_tx", "pcie_rx", "nvlink_tx", "nvlink_rx"};
        uint64_t *counters[] = {state->pcie_tx, state->pcie_rx, state->nvlink_tx, state->nvlink_rx};
        char name[16];
        unsigned gpu;
        unsigned long long bytes, ms;
        if (sscanf(argv[i], "gap=%llu", &ms) == 1) {
            fake_add(&state->clock_us, 1000 * ms);
            continue;
        }
        if (sscanf(argv[i], "%15[a-z_]:%u=%llu", name, &gpu, &bytes) != 3 || gpu >= FAKE_GPUS)
            return 2;
        for (int k = 0; k < 4; k++)
            while (strcmp(names[k], name) == 0 && bytes > 0) {
                uint64_t step = bytes < (UINT64_C(1) << 31) ? bytes : UINT64_C(1) << 31;
                fake_add(&counters[k][gpu], step);
                bytes -= step;
                if (bytes > 0 && k < 2) /* those of NVLink do not wrap */
                    wait_for_readings(state);
            }
    }
    wait_for_readings(state);
    return 0;
}

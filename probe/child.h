/* child.h: work that may hang or die, in a process of its own.
 *
 * A call into a vendor's library can hang for ever or take the process with it. So such work runs
 * in a forked child, which hands back records of one fixed size through a pipe, each as it is
 * finished: what was handed back before a hang or a crash is kept.
 */
#ifndef GDPROBE_CHILD_H
#define GDPROBE_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "probe/sys.h"

/* Given to the work; child_send writes one record, at once. */
struct child {
    int pipe;
    size_t record_bytes;
};
void child_send(const struct child *child, const void *record);

/* Run work(child, input) in a child, for at most timeout_s seconds, and hand each record that it
 * sends to take(context, record). The child exits with what `work` returns.
 * True when it ended with true; else false and a reason: "did not answer within 20 s", "was killed
 * by signal 11 (Segmentation fault)", or "failed" when it only returned false. A timeout counts
 * from the last record: as long as records come, the child is alive. */
bool child_run(bool (*work)(const struct child *child, void *input), void *input, double timeout_s,
               size_t record_bytes, void (*take)(void *context, const void *record), void *context,
               struct why *ret_why);

/* In a child: end when the parent dies, so that nothing keeps a GPU busy that nobody waits for. */
void child_follow_parent(void);

/* Wait for the end of a child, for at most timeout_s, then kill it. */
bool child_end(pid_t pid, double timeout_s, struct why *ret_why);

#endif

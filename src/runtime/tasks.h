/* Files of /proc/self/task/TID: what the kernel says about a thread of this process.
 *
 * Context: signal handlers too; a descriptor is open during a call. One thread at a time: the
 * monitor of shadows, or who enters a sandbox, when there is no monitor any more.
 * Ownership: the text stays until the next call. */
#ifndef PENUMBRA_RUNTIME_TASKS_H
#define PENUMBRA_RUNTIME_TASKS_H

#include <stdbool.h>
#include <stdint.h>

enum { TASK_TEXT = 4096 };

/* What was read last, with a zero behind it. There is little room on the stacks of signal
 * handlers. */
extern char task_text[TASK_TEXT];

/* The file `name` of the thread to task_text. Its length, or negative errno. */
long task_read_as(int32_t tid, const char *name);
/* The number at `at`, with digits as in lower-case hexadecimal, and what follows it. */
const char *task_number(const char *at, unsigned base, uint64_t *number);

/* The thread blocks the signal, or nobody knows. */
bool task_blocks_as(int32_t tid, int signal);

#endif

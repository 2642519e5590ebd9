/* System calls that another signal interrupts at the moment of a sample.
 *
 * A sample is never the reason that a system call ends. But when a signal of the program ends one,
 * a sample may be due on the same way back to user mode, and the kernel delivers it first: so the
 * decision whether to restart the call, and the mask of sigsuspend() and its like, are applied to
 * our handler instead of the program's. Unnoticed, read() would go on waiting after the program's
 * alarm, and sigsuspend() would return before the program's handler has run.
 *
 * Context: our signal handler, all signals blocked. */
#ifndef PENUMBRA_RUNTIME_TRIGGER_INTERRUPTED_H
#define PENUMBRA_RUNTIME_TRIGGER_INTERRUPTED_H

#include <stdbool.h>
#include <ucontext.h>

/* Makes the context that our handler returns to the one that the program's pending signal would
 * have left. Two comparisons when there is nothing to do. */
void interrupted_repair_as(ucontext_t *u);

/* If the context is about to restart a system call that a handler without SA_RESTART interrupts:
 * lets the call fail with EINTR. */
void interrupted_end_as(ucontext_t *u);

/* For a signal that is ours alone, and that was meant for another call: one that has failed with
 * EINTR for it is made again. */
void interrupted_again_as(ucontext_t *u);

#endif

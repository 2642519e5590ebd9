/* Processes in a sandbox, looked after from outside: the triggers of threads that were made there,
 * and the CPU time of all.
 *
 *     record_sandbox.c (rounds, processes) ──> record_sandbox_thread.c (a thread's event, its account)
 *
 * A thread says in its record that it wants a trigger (enum spool_outside); its event is the one
 * that it would have made itself. Where a filter lets futex through we are woken; else we look
 * every millisecond while threads are made, every ten otherwise.
 *
 * Context: the main thread starts and stops; a thread of its own does the rest.
 * Ownership: the spool must outlive it. */
#ifndef PENUMBRA_COLLECTOR_RECORD_SANDBOX_H
#define PENUMBRA_COLLECTOR_RECORD_SANDBOX_H

#include <stdbool.h>

#include "base/err.h"
#include "sigsafe/spool.h"

struct sandbox_rounds;

struct record_sandbox {
    struct sandbox_rounds *rounds; /* NULL: not started */
};

bool record_sandbox_start(struct record_sandbox *r, const struct spool *s, struct err *e);
/* No event is left. Comes before the recording is said to have stopped: who waits for an answer
 * then needs none. */
void record_sandbox_stop(struct record_sandbox *r);

#endif

/* Wall time of threads that wait, by looking at them from outside (docs/triggers.md): where perf
 * events are refused.
 *
 *     rounds (outside.c) ──> processes (outside_process.c) ──> threads (outside_look.c)
 *                              images: struct unwind_index       schedstat, syscall, stack
 *                                                                ──> a tree in the spool
 *
 * What a thread runs is sampled inside, by its CPU timer, into another record of the same thread.
 *
 * Context: the main thread starts and stops; a thread of its own does the rest.
 * Ownership: the spool must outlive it. */
#ifndef PENUMBRA_COLLECTOR_OUTSIDE_H
#define PENUMBRA_COLLECTOR_OUTSIDE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "collector/record_spool.h"

struct outside_rounds;

struct outside {
    pthread_t thread;
    bool started;
    uint32_t stop; /* atomic futex word; 1: it is to end */
    struct outside_rounds *rounds;
};

/* Whether this kernel tells what is needed. */
bool outside_is_possible(void);
/* A descriptor for each thread of the program, if that may be. */
void outside_descriptors_allow(void);
bool outside_start(struct outside *o, const struct record_spool *spool, struct err *e);
/* Looks once more, and ends. What was not seen is added to the notes, by reason. */
void outside_stop(struct outside *o, struct buf *notes);

#endif

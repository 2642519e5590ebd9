/* Using the code cache anew: all translations are dropped, and their memory is used again. Where
 * code changes over and over, what is dropped one by one would fill the cache.
 *
 *      wanted: nothing is found any more, every link leads to the dispatcher
 *        │
 *        │   each thread comes by, and waits; who is in a system call, or has gone native, knows no translation
 *        v
 *      done by the last that comes, with all others quiet
 *
 * Context: the dispatcher. Only of whole runs: bursts end, shadows end, and both have little code
 * of their own.
 * Ownership: none. */
#ifndef PENUMBRA_ENGINE_RESET_H
#define PENUMBRA_ENGINE_RESET_H

#include "engine/state.h"

/* Right after the engine has been made: what is in the cache now stays. */
void reset_prepare(struct engine *e);

static inline bool reset_possible(const struct engine *e)
{
    return !e->config.budget && !e->config.shared;
}

/* Under the lock: notes that a block has been made again, because its code had changed. */
void reset_note_remade_as(struct engine *e);
/* Under the lock: if the cache is nearly full. */
void reset_consider_as(struct engine *e);
void reset_want_as(struct engine *e);

/* Where the dispatcher begins: the thread is no longer quiet. If a reset is wanted, it waits until
 * it has been done, without the lock: then no exit and no block that the thread came with means
 * anything, and true is returned. */
bool reset_pass_as(struct engine_thread *t);
/* The thread knows no translation until it passes again. */
static inline void reset_quiet(struct engine_thread *t, bool quiet)
{
    __atomic_store_n(&t->quiet, quiet, __ATOMIC_SEQ_CST);
}

#endif

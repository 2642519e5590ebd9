/* Running functions of the test program under the engine, in-process, beside native calls.
 *
 * Context: ordinary code. Ownership: a rig is made and freed by the test. */
#ifndef PENUMBRA_TESTS_ENGINE_RUN_H
#define PENUMBRA_TESTS_ENGINE_RUN_H

#include "engine/engine.h"

struct rig {
    struct engine *engine;
    struct engine_thread *thread;
    uint8_t *stack;      /* for the code under test */
    enum trust trust;    /* answer for all addresses */
    uint64_t code_lo, code_hi; /* ... but for these; code_lo == code_hi: none */
    enum trust code_trust;     /* the answer for them */
    uint64_t asked;            /* how often about them */
    uint64_t calls;      /* system calls seen */
};

/* Fails the test when it cannot be made. */
void rig_make(struct rig *r, const struct engine_config *config);
void rig_free(struct rig *r);
/* Another thread of the same engine; undone by rig_unshare. */
void rig_share(struct rig *r, const struct rig *of);
void rig_unshare(struct rig *r);

/* What fn(a, b, c, d) returns under the engine; r->thread->stop says how it ended. */
uint64_t rig_call(struct rig *r, const void *fn, uint64_t a, uint64_t b, uint64_t c, uint64_t d);

/* Sets the thread up for such a call, without running it. */
void rig_prepare(struct rig *r, const void *fn, uint64_t a, uint64_t b, uint64_t c, uint64_t d);

#endif

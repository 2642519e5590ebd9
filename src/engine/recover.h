/* Whose state is this? From an interrupted context to the program's registers (docs/engine.md).
 *
 * Context: signal handlers of the thread concerned. No lock is taken.
 * Ownership: nothing is kept. */
#ifndef PENUMBRA_ENGINE_RECOVER_H
#define PENUMBRA_ENGINE_RECOVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/ucontext.h>

#include "engine/thread.h"

enum engine_place {
    PLACE_NATIVE,   /* not the engine's code: the context is the program's as it is */
    PLACE_BOUNDARY, /* before an instruction of the program: gregs are the program's now */
    PLACE_CORE,     /* at the rewritten copy of an instruction, not yet executed: same */
    PLACE_BETWEEN,  /* neither: step on, or wait for the dispatcher; gregs are unchanged */
    PLACE_INSIDE,   /* the engine's own code: it will look at t->pending before the program goes on;
                       gregs are unchanged. Set t->pending and return */
    /* at the system call on the program's behalf, not (or no longer) executed: gregs are the
     * program's, rip at its `syscall` */
    PLACE_SYSCALL,
    PLACE_SYSCALL_DONE, /* just behind it: gregs are the program's, rip behind its `syscall` */
};

/* What the registers in gregs mean to the program. For BOUNDARY, CORE and SYSCALL*, gregs become
 * the program's (rip, spilled and stolen registers); engine_redirect_as continues from there. int3
 * and int1 trap behind themselves, where hooks or a transfer may follow: for their traps, pass
 * gregs with rip less by one, and add it again where the place is not BETWEEN. */
enum engine_place engine_recover_as(struct engine_thread *t, greg_t *gregs);

/* The program's registers, rip and flags: from the thread area to a context, ... */
void engine_registers_put(const struct engine_thread *t, greg_t *gregs);
/* ... and from a context, whose registers are the program's, to the thread area. */
void engine_registers_take(struct engine_thread *t, const greg_t *gregs);

/* How many instructions of the block that a fault's context lies in come before it, and how many
 * the block has: a budget was counted down by all of them (by none in a tail: total is 0). In a
 * late block, which counts one by one, 0 of 1. A loose budget is put where it belongs, t->budget.
 * False: not in a block. */
struct engine_progress {
    uint32_t done, total;
};
bool engine_progress_as(struct engine_thread *t, const greg_t *gregs, struct engine_progress *out);

#endif

/* Signals of a whole process under the engine.
 *
 *   kernel ──> whole_signal_entry (whole_entry.S): all signals blocked, engine stack
 *                  │
 *                  v
 *              where was the thread?
 *                  ├ at an instruction of the program: the frame gets the program's registers, and the
 *                  │   program's handler starts under translation on that frame
 *                  ├ between two (hooks, lookups): the signal waits, the processor steps on with the
 *                  │   trap flag until it is
 *                  ├ in the engine: the signal waits until the program's state is complete
 *                  └ native (a thread that has left the engine): the program's handler, natively
 *
 * A signal that waits is blocked and sent again at once, to the thread itself, with its own
 * siginfo: it comes back when the mask is the program's. Real-time signals of the same number that
 * came meanwhile are queued behind it again.
 *
 * SIGTRAP is always ours: it ends each step. What the program set for it is acted out.
 *
 * Context: _as functions: the dispatcher or signal handler of the thread concerned.
 * Ownership: the table belongs to the process (or to a vfork child's thread). */
#ifndef PENUMBRA_RUNTIME_CARRIER_EXACT_WHOLE_SIGNAL_H
#define PENUMBRA_RUNTIME_CARRIER_EXACT_WHOLE_SIGNAL_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "engine/engine.h"

enum { WHOLE_SIGNALS = 65 };

/* The kernel's struct sigaction. */
struct whole_action {
    uint64_t handler, flags, restorer, mask;
};

/* What the program set, by signal. Of a signal without a handler the last handler stays here: one
 * that was on its way when the action changed still goes to it. */
struct whole_actions {
    struct whole_action of[WHOLE_SIGNALS];
};

struct whole_signals {
    bool put_off;               /* one was, since the last system call */
    bool stepping;              /* by trap flag, to the next boundary */
    bool fresh;                 /* back from a handler, no instruction of the program has run yet */
    bool native;                /* one instruction of the program, natively, by trap flag */
    bool native_arrived;        /* the next trap is behind it */
    bool nested;                /* the signal that comes next was interrupted at its entry: */
    bool handling;              /* in whole_signal_arrived_as */
    bool trap_waits;            /* a SIGTRAP that was sent while stepping: `trap` */
    uint64_t nested_mask;       /* the mask that was made for its handler */
    uint64_t nested_held;       /* those that were put off for it */
    uint64_t step_flags;        /* of the program, to set again there */
    uint64_t step_mask;         /* the mask to restore there */
    uint64_t resume_rip;        /* where the program's rt_sigreturn goes */
    siginfo_t trap;
};

/* Takes over all handlers that are set; from now on handlers run under the engine. */
void whole_signals_take_as(void);
/* SIGTRAP's action is the kernel's again: sets ours. */
void whole_signals_retake_as(void);

/* In a child whose handlers the kernel reset (CLONE_CLEAR_SIGHAND): what it ignores stays so, and
 * no action has flags or a mask. The kernel tells those of signals that are not SIGTRAP. */
void whole_signals_cleared_as(struct whole_actions *actions);

/* The system calls, with the registers in t. */
long whole_sigaction_as(struct engine_thread *t);
long whole_sigaltstack_as(struct engine_thread *t);
/* The memory at [lo, hi) has changed: t's alternate stack may not be there any more. */
void whole_alternate_look_as(struct engine_thread *t, uint64_t lo, uint64_t hi);
_Noreturn void whole_sigreturn_as(struct engine_thread *t);
/* Before an exec: an ignored SIGTRAP is inherited. After one that failed: as it was. */
void whole_exec_begin_as(struct engine_thread *t);
void whole_exec_failed_as(struct engine_thread *t);

/* All asynchronous signals are blocked until translated code goes on, which then has `mask`. */
uint64_t whole_block_as(void);
void whole_mask_as(struct engine_thread *t, uint64_t mask);

/* The next instruction of the program is about to run natively (ENGINE_LEAVE, GS still the area's):
 * it will fault, or trap behind itself; then the thread is back under the engine. */
void whole_native_step_as(struct engine_thread *t);

/* From whole_entry.S, on the engine's stack. mask: as the kernel set it for the handler. Returns to
 * let the interrupted context go on as it is now. */
void whole_signal_arrived_as(int number, siginfo_t *info, ucontext_t *u, uint64_t mask,
                             struct engine_thread *t);
/* From whole_entry.S, natively: the program's handler for the signal. */
uint64_t whole_signal_handler_as(int number);
/* From whole_entry.S: the program's context after its rt_sigreturn is in t, but for rip. */
_Noreturn void whole_resumed_as(struct engine_thread *t);

#endif

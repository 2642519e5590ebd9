/* The carrier `burst`: at a trigger the interrupted thread goes on under the engine, at its own
 * instruction, for as many instructions as were asked for; then natively again, from exactly there.
 *
 *      trigger ──> handler ──return──> translated code ──> leave ──rt_sigreturn──> native code
 *                    │ prepares frame                       │ fills in registers
 *                    v                                      v and vector state
 *      area of the engine's thread:   [ ucontext | xsave area ]          one frame a thread
 *
 * While a burst runs, all signals are blocked in its thread but for the synchronous faults; their
 * handler (interpose/faults.h) ends the burst before the instruction that faulted, which then
 * faults again natively. A system call ends a burst before it. docs/engine.md, "Burst".
 *
 * Context: _as functions: signal handlers of the thread concerned, unless said otherwise.
 * Ownership: one engine a process, made at the first trigger; one thread area a sampled thread,
 * given back by burst_thread_end_as. */
#ifndef PENUMBRA_RUNTIME_CARRIER_BURST_BURST_H
#define PENUMBRA_RUNTIME_CARRIER_BURST_BURST_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "runtime/runtime.h"

struct engine_thread;

/* What the carrier `burst` keeps about a thread. */
struct rt_burst {
    struct engine_thread *engine; /* NULL: not made yet */
    uint64_t mask;   /* the program's, while a burst runs */
    uint64_t begun;  /* time stamp counter at the handler's entry */
    uint64_t translated;   /* dispatches of the thread that made code, before it */
    uint64_t counted_from; /* time stamp counter: what went before is in the thread's cost */
    uint64_t length; /* instructions asked for */
    uint64_t random; /* xorshift state */
    /* for far skips, and up to how far this burst's may go (carrier/burst/burst_draw.h) */
    int64_t credit;
    uint32_t reach;
    /* In parts of a trigger: from one burst to the next (0: there was none yet), and since the last
     * one. Of the bursts by which that will be decided anew: how many, the CPU time before and in
     * them. */
    uint64_t interval, waited;
    uint32_t window_bursts;
    uint64_t window_cpu_ns, window_ns;
    bool active;     /* a burst runs */
    bool native;     /* ... and the processor executes one instruction of it (burst_native.h) */
    bool refused;    /* there was no memory for `engine` */
};

/* Signals for faults (SIGSEGV, SIGBUS, SIGFPE, SIGILL) that somebody has sent during a burst, for
 * after it: of each one, as in the kernel. */
struct rt_sent {
    uint32_t count;
    siginfo_t signals[4];
};

/* A trigger's handler, about to return to the interrupted context u: makes it begin a burst, or
 * counts why not. ticks: the time stamp counter at the handler's entry. */
void burst_take_as(struct rt_thread *t, ucontext_t *u, uint64_t ticks);

/* A signal that the kernel raises for faults has arrived. True: it came in a burst, or was sent to
 * one: the burst is over, or the signal is put off; the handler returns. False: it is the
 * program's. */
bool burst_fault_as(int signal, siginfo_t *info, ucontext_t *u);

/* A SIGTRAP that is no sample has arrived. True: it came behind an instruction that a burst has
 * executed natively, and the burst goes on, or is over. False: it is the program's. */
bool burst_trap_as(const siginfo_t *info, ucontext_t *u);

/* The thread of t, natively executing, is not sampled any more. Any context. */
void burst_thread_end_as(struct rt_thread *t);

/* A burst runs in the thread, which may be any. */
bool burst_is_active_as(const struct rt_thread *t);

/* Ordinary code: libraries have gone, and what was translated of them is not to be entered
 * again. */
void burst_images_changed(void);
/* Ordinary code: the program may write to [lo, hi) from now on, or it is other memory; what was
 * translated of it is forgotten. */
void burst_memory_changed(uint64_t lo, uint64_t hi);
/* The same of all that has changed since the last time, for a shadow's sake. False: it is not
 * known. */
bool burst_look_as(void);
/* In a shadow, which is not to wait for the lock of an engine that threads of the program were
 * in. */
void burst_shadow_begins_as(void);
/* In a fork child: nothing is left of the parent's engine. */
void burst_forget(void);

#endif

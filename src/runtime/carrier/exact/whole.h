/* A whole process under the engine: all its threads, its signals, its system calls.
 *
 * The program's view of signals is the kernel's own. Frames, masks, alternate stacks, queues and
 * restarts are the kernel's work; only the address of each handler is replaced (whole_signal.h),
 * and the state in each frame is made the program's. System calls run as they are, but for those
 * that make threads, change code, or concern signals (whole_syscall.h).
 *
 *     engine_thread.carrier ──> struct whole_thread ──> actions   (shared by the threads of a process;
 *            ^                          │                          a vfork child has its own)
 *            └──────────── t ───────────┘
 *
 * Context: _as functions: the dispatcher and signal handlers of the thread concerned, on its engine
 * stack, unless said otherwise. No libc.
 * Ownership: a whole_thread and its area live from before the thread's first instruction until
 * another thread of the process finds it ended. */
#ifndef PENUMBRA_RUNTIME_CARRIER_EXACT_WHOLE_H
#define PENUMBRA_RUNTIME_CARRIER_EXACT_WHOLE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/engine.h"
#include "runtime/carrier/exact/whole_signal.h"
#include "runtime/carrier/exact/whole_syscall.h"

/* What the owner of the run wants to know. All are called in the dispatcher of the thread that they
 * are about, signals put off. */
struct whole_events {
    /* Before the thread's first instruction. False: it runs natively. */
    bool (*thread_begin)(struct engine_thread *t);
    void (*thread_end)(struct engine_thread *t);
    /* In a forked child, whose only thread this is, before its first instruction: must call
     * engine_fork_child_as. False: it runs natively. */
    bool (*fork_child)(struct engine_thread *t);
    /* The instruction at t->rip cannot be translated: it will be executed natively, and the thread
     * comes back behind it. */
    void (*alone)(struct engine_thread *t);
    /* The thread goes native for good. */
    void (*left)(struct engine_thread *t, enum stop_reason why);
};

struct whole_thread {
    struct engine_thread *t;
    struct whole_actions *actions;
    struct whole_signals signals;
    void *carrier;        /* the owner of the run's own */
    uint32_t owner;       /* its place in the list of areas (whole.c) */
    uint32_t ended;       /* atomic: the thread makes no further use of its area */
    bool cleared;         /* its handlers are reset when it begins (whole_signal.h) */
    bool exec_ignores;    /* SIGTRAP was set to be ignored across an exec (whole_signal.h) */
    struct whole_thread *next;
    struct whole_actions own_actions; /* of a child that shares memory but not signal actions */
};

/* What struct engine_carrier needs, with whole_system_call_as, but for `trust`. */
enum engine_action whole_stopped_as(struct engine_thread *t, enum stop_reason why);

/* A thread has left, and goes on natively. */
bool whole_some_left_as(void);

/* The calling process, in its only thread: everything after this call's return is under the engine;
 * signal actions are taken over and glibc's restartable sequence is unregistered. False: natively,
 * as before. Ordinary code. rseq: of glibc's registration, or NULL. */
bool whole_begin(struct engine *e, const struct whole_events *events, void *rseq);

static inline struct whole_thread *whole_thread_as(struct engine_thread *t)
{
    return t->carrier;
}

#endif

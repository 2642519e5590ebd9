/* All threads of the program in one shadow (`--threads all`, or auto): it has a single thread of
 * the kernel, which runs them in turns, each as far as its wait for another one or the end of its
 * turn.
 *
 *      READY <──turn over, yield, wake, its time limit── running ──exit──> GONE
 *        │                                                │   ^
 *        └──────────── drawn by the seed ─────────────────┼───┘
 *      WAITS <─────── futex(wait), or for input ──────────┘
 *      ASLEEP  was in another system call at the fork: its registers are not known, it never runs
 *
 * What a thread has of its own is in its struct while it does not run; then it is in the processor,
 * in struct engine_thread, and in shadow_self (tid, mask, stack).
 *
 *      shadow_schedule.c  who runs, turns, switches
 *      shadow_threads.c   the system calls that are about threads
 *      shadow_vectors.c   vector and x87 state
 *
 * Context: a shadow. Only between instructions of the program: in the engine's callbacks.
 * Ownership: everything ends with the process. */
#ifndef PENUMBRA_RUNTIME_CARRIER_SHADOW_SHADOW_THREADS_H
#define PENUMBRA_RUNTIME_CARRIER_SHADOW_SHADOW_THREADS_H

#include "runtime/carrier/shadow/shadow_self.h"

enum shadow_thread_state { THREAD_READY, THREAD_WAITS, THREAD_ASLEEP, THREAD_GONE };

struct shadow_thread {
    enum shadow_thread_state state;
    int32_t tid;
    uint64_t gpr[16], rip, rflags, fs;
    uint64_t mask;
    stack_t stack;
    uint64_t child_tid, robust;
    const void *load;   /* vector state: where it is now */
    void *area;         /* and where it is saved to; NULL: not yet */
    int32_t call;       /* ASLEEP: in which system call, by number, or -1 */
    /* WAITS, or ASLEEP in futex; 0: for nothing that others here do. */
    uint64_t wait_at;
    uint32_t wait_bits;
    bool timed;         /* it also ends by itself */
    bool inherits;      /* whoever wakes it makes it the lock's owner */
    uint64_t ticket;    /* who came first */
    bool ran;
};

/* False: they cannot be rebuilt. Does nothing where a shadow has the interrupted thread alone. */
struct shadow_start;
bool shadow_threads_begin_as(const struct shadow_start *start);

/* Instructions until somebody else may run; `most` where there is nobody else. */
uint64_t shadow_threads_turn(uint64_t most);
/* A turn is over: t goes on with whoever is next. */
void shadow_threads_next_as(struct engine_thread *t);

/* A system call about threads; false: it is not, or it is nothing special here. */
bool shadow_threads_call_as(struct engine_thread *t);
bool shadow_threads_know(int32_t tid);
/* There is a thread left, if only one that waits. */
bool shadow_threads_any(void);
/* The shadow ends: what there is to count. */
void shadow_threads_figures(struct spool_shadows *record);

/* ---- between the files ---- */

struct shadow_thread *shadow_threads_current(void);
/* One more, as the running thread is; NULL: there is no room. */
struct shadow_thread *shadow_threads_add_as(struct engine_thread *t);
/* Somebody else could run now; ... */
bool shadow_threads_others_ready(void);
/* ... or would, once its time limit is over. */
bool shadow_threads_others_left(void);
/* The running thread's system call is answered, whenever it runs again, with `result`; then
 * somebody else runs. Its state has been set; if nobody can run the shadow ends with why, at this
 * call. */
void shadow_threads_leave_as(struct engine_thread *t, long result, enum shadow_end why);
/* Who has waited longest there, of those with some of the bits; NULL: nobody. */
struct shadow_thread *shadow_threads_waiter(uint64_t at, uint32_t bits);
void shadow_threads_wait(struct shadow_thread *thread, uint64_t at, uint32_t bits, bool timed);
void shadow_threads_wake(struct shadow_thread *thread);

#endif

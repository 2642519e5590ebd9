/* The engine: runs the program's own code under translation, from any register state, until it is
 * told to stop, at any instruction boundary. docs/engine.md has the design.
 *
 *     carrier ──engine_run_as / engine_start_as / engine_redirect_as──> translated code
 *        ^                                                                   │
 *        └── callbacks of struct engine_carrier <── dispatcher <─────────────┘
 *
 * One struct engine is one code cache with one set of tools; its threads share it.
 *
 * Context: _as functions may run in a signal handler and use no libc. Callbacks are called by the
 * dispatcher, on the engine's stack of the thread concerned, with the program's registers in
 * struct engine_thread; where it is said, under the engine's lock.
 * Ownership: whoever makes an engine or a thread frees it. Code is never freed before the
 * engine. */
#ifndef PENUMBRA_ENGINE_ENGINE_H
#define PENUMBRA_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/ucontext.h>

#include "engine/thread.h"
#include "engine/tool_set.h"
#include "engine/trust.h"
#include "sigsafe/reasons.h"

struct engine;

/* What the dispatcher does after a callback. */
enum engine_action {
    ENGINE_CONTINUE = 0,   /* translated code, at t->rip */
    /* only from system_call: execute it with the registers in t, then as above */
    ENGINE_RUN_SYSCALL = 1,
    ENGINE_LEAVE = 2,      /* native code, at t->rip, with the registers in t */
    ENGINE_RETURN = 3,     /* engine_run_as returns; the registers stay in t */
};

struct spool;
struct spool_counts;

struct engine_carrier {
    /* Under the engine's lock. */
    struct trust_range (*trust)(void *carrier, uint64_t address);
    /* The program is about to execute `syscall`; t->rip is already behind it. */
    enum engine_action (*system_call)(struct engine_thread *t);
    /* The engine cannot go on, or was told not to: before the instruction at t->rip. */
    enum engine_action (*stopped)(struct engine_thread *t, enum stop_reason why);
    /* t->pending was set. The callee clears it. At t->rip, before any instruction. NULL: it never
     * is. */
    enum engine_action (*signals)(struct engine_thread *t);
    /* The key of an address (sigsafe/key.h), under the engine's lock. NULL: no image is known. */
    uint64_t (*key)(void *carrier, uint64_t address);
    /* The return address of the procedure that the thread is in, with its registers in t, before
     * the instruction at pc; 0: not found. For called hooks; NULL: never found. */
    uint64_t (*caller)(struct engine_thread *t, uint64_t pc);
    /* The profiler's own image: tools do not see what is executed there. NULL: none. */
    const uint8_t *own_begin, *own_end;
};

struct engine_config {
    const struct engine_carrier *carrier;
    void *carrier_data;      /* for trust and key */
    struct tool_set tools;   /* count 0: none */
    /* Where counters are (sigsafe/spool_counts.h). NULL: in each thread's own memory. */
    const struct spool *spool;
    struct spool_counts *counts;
    uint64_t cache_size;     /* bytes of address space for code; 0: the engine's choice */
    bool budget;             /* code counts t->budget down and stops when it is used up */
    /* budget: where it is used up nothing stops, but code begins that has the tool's hooks; the
     * code before has none. Hooks before single instructions count the budget's rest down, and stop
     * the thread (hook_is_late, hook_stop_as) */
    bool late;
    /* budget: it lies in r15, which costs less, and is looked at only where a block may go on
     * downwards. Where the thread stops t->budget says by how much it is over. Without a tool, or
     * with one that is TOOL_LOOSE; of those that append it is counted when the ring is emptied */
    bool loose;
    /* calls and returns are paired from the start (engine/pairs.h), not only when there are many */
    bool paired;
    bool single_thread;      /* only one thread will ever run: allows patching in place */
    /* The engine, its code and its records are shared by the maker and all processes that it forks
     * afterwards, each of which may make one thread (engine_thread_share_as). None of these may
     * leave to native code. */
    bool shared;
    /* shared: the lock's owner seems to have died; what it was changing is of no use. Does not
     * return. */
    void (*lost)(void);
};

/* NULL: *why says what could not be had (STOP_NO_MEMORY, STOP_GS); STOP_UNSUPPORTED: the tools do
 * not go together (tool_set_fits). */
struct engine *engine_make_as(const struct engine_config *config, enum stop_reason *why);
void engine_free_as(struct engine *e);

/* A thread area, for the thread `tid`; NULL without memory, for counters too. Any thread may make
 * it for another; with tid 0, t->window.record->tid is to be set when it is known. */
struct engine_thread *engine_thread_make_as(struct engine *e, int32_t tid);
/* Of a shared engine: this process's only thread. Counters of ids that another process has given
 * out are mapped when they are first counted in: before, the window has no access
 * (engine_window_fault_as). window: whose counts it adds to, or NULL: a new one. */
struct engine_thread *engine_thread_share_as(struct engine *e, int32_t tid,
                                             struct spool_window *window);
/* Of a shared engine: the process ends. */
void engine_thread_finish_as(struct engine_thread *t);
/* Not while the thread runs translated code, nor on the area's own stack. */
void engine_thread_free_as(struct engine_thread *t);

/* Runs translated code from t->gpr, t->rip, t->rflags on the program's own stack (t->gpr[RSP])
 * until a callback answers ENGINE_RETURN; returns t->stop (enum stop_reason). GS is the engine's
 * meanwhile and restored then. ENGINE_LEAVE never comes back here. */
enum stop_reason engine_run_as(struct engine_thread *t);

/* The same without a way back: for a thread that is taken over for good. */
_Noreturn void engine_start_as(struct engine_thread *t);

/* In a signal handler, about to return: the interrupted context (whose registers are the program's)
 * goes on under the engine. Sets GS, fills t, and points the context at the dispatcher. Code for
 * rip that is there already is entered directly. */
void engine_redirect_as(struct engine_thread *t, greg_t *gregs);

/* The carrier takes the thread to native code itself: GS is given back, and nothing of the engine
 * runs in it from this call's return on. */
void engine_release_as(struct engine_thread *t);

/* Hands what has been appended to the tool (hook.h, `flush`). The engine does it by itself when the
 * ring is full, before system_call and before stopped; a carrier does it when the thread's run ends
 * in another way. Not while the thread runs translated code. */
void engine_flush_as(struct engine_thread *t, bool ends);

/* shared: a fault at `address` of t's counter window, where none are mapped yet: maps them. False:
 * it is another address, or there is no more room. */
bool engine_window_fault_as(struct engine_thread *t, uint64_t address);
/* The address belongs to what is shared. */
bool engine_holds_as(const struct engine *e, uint64_t address);

/* GS base of the calling thread. */
uint64_t engine_gs_as(const struct engine *e);

/* Code in [lo, hi) changed or went away: no translation of it is entered from now on. */
void engine_invalidate_as(struct engine *e, uint64_t lo, uint64_t hi);
/* Memory may have gone away, nobody says where; code there was TRUST_MAPPED at best. */
void engine_unmapped_as(struct engine *e);

/* The program looks at the frames of faults from now on: where an instruction may fault, its status
 * flags are kept, too, in code with hooks. What was made before is dropped. */
void engine_faults_seen_as(struct engine *e);

/* Every thread stops, for this reason, when it comes to the dispatcher next: before its next system
 * call at the latest. */
void engine_end_as(struct engine *e, enum stop_reason why);
/* STOP_COUNT: it has not been ended. */
enum stop_reason engine_ended_as(const struct engine *e);

/* Before one more thread or process is made in a whole run, each of which takes much storage at
 * once: waits until the collector has made some, if that can be soon. Not under the engine's
 * lock. */
void engine_room_wait_as(struct engine *e);
/* After an allocation that failed nevertheless: other threads have taken what there was. True: it
 * may be tried again. */
bool engine_room_again_as(struct engine *e);

/* Around fork, in the dispatcher: no other thread holds the lock in between. In the child, `t` is
 * the only thread left, `tid` its number and `counts` the child's own (NULL as in the
 * configuration). False: no memory for counters; the thread must leave. */
void engine_fork_before_as(struct engine *e);
void engine_fork_parent_as(struct engine *e);
bool engine_fork_child_as(struct engine *e, struct engine_thread *t, struct spool_counts *counts,
                          int32_t tid);

struct engine_figures {
    uint64_t blocks, instructions; /* translated */
    uint64_t code_bytes;           /* used of the cache */
    uint64_t indirect_entries, chained; /* lookup entries; those that share their index */
    uint64_t unlinked;             /* blocks dropped */
    uint64_t resets;               /* times that all were, and the cache was used anew */
    uint64_t slots;                /* of the table of blocks, those in use */
    bool paired;                   /* calls and returns, by now */
    uint64_t translate_ticks;      /* time stamp counter, in translation */
};
struct engine_figures engine_figures_as(const struct engine *e);

/* Adds to the distribution of what takes this long, in ticks of the time stamp counter. Nothing
 * where there is no spool. */
void engine_latency_as(const struct engine *e, enum latency_kind kind, uint64_t ticks);

#endif

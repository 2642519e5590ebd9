/* What a tool is. It looks at each block once, when its translation is made, and asks for hooks,
 * which are compiled into the translation.
 *
 *     HOOK_ENTRY ─> insn 0 ─HOOK_BEFORE 1─> insn 1 ─HOOK_AFTER 1─> ... end ─┬─HOOK_TAKEN─>
 *                                                                           └─HOOK_FALL──>
 *     indirect end: HOOK_INDIRECT, with the target that was computed
 *
 *     count    an inlined addition to a counter of the thread's
 *     append   an inlined store to the thread's ring, which is handed to the tool's `flush`
 *     call     a C function
 *
 * This page is all that most tools need; docs/new-tool.md makes one. Further headers:
 *
 *     tools/inline/   more inlined pieces: deciding whether a hook is called at all
 *     hook_run.h      about the run, for called hooks: callers, storage, the budget of a burst
 *     hook_line.h     assembly of the tool's own, and the time that an instruction takes
 *
 * Hooks change no flag and no register of the program. What they cost is decided by liveness: a
 * counter where the flags are dead is one instruction.
 *
 * Context: `block` is called by the dispatcher under the engine's lock, so for one block at a time.
 * It may not block, and uses what _as functions may use. Called hooks run in the thread concerned,
 * at any time, without a lock. Neither may touch vector registers.
 * Ownership: all pointers in struct hook_block are valid during the call only. */
#ifndef PENUMBRA_ENGINE_HOOK_H
#define PENUMBRA_ENGINE_HOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/thread.h"
#include "sigsafe/spool_counts.h"

struct tool_line; /* hook_line.h */
struct x86_insn;  /* x86/insn.h */

/* ---- blocks ---- */

enum block_end {
    END_FALL,        /* cut: goes on with the next instruction */
    END_JUMP,        /* jmp rel */
    END_BRANCH,      /* jcc, loop, jrcxz: `taken` or `next` */
    END_CALL,        /* call rel */
    END_JUMP_INDIRECT,
    END_CALL_INDIRECT,
    END_RETURN,
    END_SYSCALL,
    END_STOP,        /* the engine stops before the instruction at `next` */
};

struct hook_block {
    uint64_t pc;    /* of its first instruction */
    uint64_t next;  /* behind its last */
    uint64_t taken; /* target of a direct jump, branch or call; else 0 */
    uint32_t count; /* instructions, the last one included; 0 only with END_STOP */
    enum block_end end;
    uint32_t number; /* of the block: dense, from 1 */
    const struct x86_insn *insns;
    const uint8_t *const *code; /* the bytes of each, not where the program has them */
    bool gate;       /* tools/inline/gate.h */
    bool watch_gate; /* tools/inline/watch.h */
    bool observed;   /* what is behind either */
    uint64_t gated;
};

/* ---- hooks ---- */

struct hooks; /* what has been asked for */

enum hook_point {
    HOOK_ENTRY,    /* before the first instruction */
    HOOK_BEFORE,   /* before instruction `index` */
    HOOK_AFTER,    /* after instruction `index`, which is not the last */
    HOOK_TAKEN,    /* on the way to `taken`, of END_BRANCH, END_JUMP, END_CALL */
    HOOK_FALL,     /* on the way to `next`, of END_BRANCH, END_FALL */
    HOOK_INDIRECT, /* after the target of an indirect end is known, before it is reached */
};

/* A called hook: on the engine's stack, with the program's registers in t->gpr (hook_register).
 * `value`: the target, at HOOK_INDIRECT; else 0. rip is not filled; rsp is the program's: at
 * HOOK_TAKEN and HOOK_INDIRECT the return address of a call is pushed, that of a return popped. */
typedef void hook_function(struct engine_thread *t, uint64_t argument, uint64_t value);

/* Each returns false when the block has no room for more hooks; then the tools are asked again
 * about half of it. Hooks at the same point run in the order in which they were asked for. */
bool hook_count_as(struct hooks *h, enum hook_point point, uint32_t index, uint32_t counter,
                   uint32_t amount);
bool hook_call_as(struct hooks *h, enum hook_point point, uint32_t index, hook_function *function,
                  uint64_t argument);

/* For tools with TOOL_STEALS_R15. Stores the low `size` (4 or 8) bytes of a constant, or of a
 * register as it is at that point. */
bool hook_append_constant_as(struct hooks *h, enum hook_point point, uint32_t index, uint64_t value,
                             uint32_t size);
bool hook_append_register_as(struct hooks *h, enum hook_point point, uint32_t index,
                             enum engine_register reg, uint32_t size);
/* A call of a function that appends: hook_append_as, once, for at most HOOK_CALL_APPENDS bytes, a
 * multiple of 4. They are to be filled in. */
enum { HOOK_CALL_APPENDS = 192 };
bool hook_call_appending_as(struct hooks *h, enum hook_point point, uint32_t index,
                            hook_function *function, uint64_t argument);
void *hook_append_as(struct engine_thread *t, const struct tool *tool, uint32_t size);

/* The block shall not be translated: the tool has no room for it. The engine stops there. */
void hook_refuse_as(struct hooks *h);

/* ---- what is counted ---- */

/* The key (sigsafe/key.h) of an address in the program. */
uint64_t hook_key_as(const struct hooks *h, uint64_t address);
/* A counter for the thing; its id, or COUNTS_NONE when there is no more room: then the block is not
 * translated, and the engine stops there. */
uint32_t hook_counter_make_as(struct hooks *h, const struct spool_thing *thing);
/* An id without a counter, for tools that only name things: the thing's, if it is known. */
uint32_t hook_thing_make_as(struct hooks *h, const struct spool_thing *thing);
/* One of its own: for things with more to them than their record says. */
uint32_t hook_thing_new_as(struct hooks *h, const struct spool_thing *thing);

/* Memory that all who run the engine's code see, whatever their process, zero at first: struct
 * tool.common_size bytes of it, or fewer where the program's address space is limited. What `block`
 * has written there is seen by the hooks that it asked for. NULL: it ends before offset + size. */
void *hook_common_as(const struct hooks *h, uint64_t offset, uint64_t size);
void *hook_common(const struct engine_thread *t, uint32_t kind);

/* ---- the tool ---- */

/* struct tool.flags */
enum {
    /* it appends: r15 of translated code points into the thread's ring (ring.h) */
    TOOL_STEALS_R15 = 1,
    /* all that its hooks need is in their arguments, in counters, in the spool and in the thread:
     * code that one process has made may run in another (engine_config.shared) */
    TOOL_SHARED = 2,
    TOOL_TARGETS = 4,    /* uses tools/inline/target.h */
    /* uses tools/inline/lead.h or gate.h: its counters have a second word each */
    TOOL_LEADS = 8,
    /* can do with a budget that is not exact, though that takes r15 (hook_register). If it appends,
     * its flush says what was executed (hook_executed) */
    TOOL_LOOSE = 32,
    TOOL_OWN = 64,       /* is asked about the profiler's own code, too */
    /* what it observes in bursts belongs to the calling context of the sample, and is not taken for
     * more than a share of CPU time */
    TOOL_CONTEXT = 128,
    TOOL_WATCHES = 256,  /* uses tools/inline/watch.h: one tool of a set at most */
    /* looks at registers and flags that the program does not read any more: hooks of other tools
     * keep them */
    TOOL_DEAD = 512,
};

struct tool {
    uint32_t flags;
    const struct tool_line *line; /* NULL: none */
    uint64_t common_size;         /* hook_common_as */
    /* Asks for the hooks of one block that is about to be made. */
    void (*block)(const struct hook_block *block, struct hooks *h);
    /* A thread area is made (or used again), and given back; either may be NULL. False: no memory.
     * What the tool keeps for the thread is t->tools[its kind]. */
    bool (*thread_begin)(struct engine_thread *t);
    void (*thread_end)(struct engine_thread *t);
    /* What the thread has appended since the last time, in the order of execution, whole blocks:
     * when the ring is full, before each system call, and when the thread stops, is given back, or
     * ends. Then `ends` is set (there may be no records, and it may come twice): what it does next,
     * if anything, is somewhere else. A forked child begins with an empty ring. Called without the
     * lock, on the engine's stack or, where a fault ends a burst, on a signal handler's: little of
     * it is there. NULL: records are thrown away. */
    void (*flush)(struct engine_thread *t, const uint8_t *records, uint64_t size, bool ends);
    /* A burst begins at t->rip: after `skip` instructions, `length` more are to be observed. It
     * ends, before the instruction at t->rip, whether they all were executed or not. Either may be
     * NULL: a tool that observes whatever is executed. */
    void (*burst_begin)(struct engine_thread *t, uint32_t skip, uint64_t length);
    void (*burst_end)(struct engine_thread *t);
    /* Of whole runs: a handler of the program is about to begin, at t->rip, its return address at
     * t->gpr[ENGINE_RSP]; it interrupts the program before the instruction at pc. In the signal
     * handler of the thread, on the engine's stack, without the lock. May be NULL. */
    void (*interrupted)(struct engine_thread *t, uint64_t pc);
};

/* ---- in called hooks ---- */

/* The program's register: where r15 is stolen it is not in t->gpr. */
uint64_t hook_register(const struct engine_thread *t, unsigned reg);
/* The thread's counter, as translated code adds to it. */
static inline uint64_t *hook_counter(struct engine_thread *t, uint32_t counter)
{
    return (uint64_t *)(void *)((uint8_t *)t + ENGINE_T_SIZE + (uint64_t)counter * t->counter_size);
}

#endif

/* The inside of struct engine, for the engine's own files.
 *
 * Context: fields are read and written under the lock, but for those that never change after
 * engine_make_as and those that are marked atomic. */
#ifndef PENUMBRA_ENGINE_STATE_H
#define PENUMBRA_ENGINE_STATE_H

#include "engine/block.h"
#include "engine/cache.h"
#include "engine/engine.h"
#include "engine/hook.h"
#include "engine/hook_line.h"
#include "engine/liveness.h"
#include "engine/ring.h"
#include "x86/emit.h"
#include "x86/insn.h"

enum {
    BLOCK_INSNS = 64,       /* most instructions of a block */
    INSN_MOST = 15,         /* bytes */
    ENGINE_TRUSTED = 8,     /* mappings of which it is known that they may be trusted */
    LOOKUP_SIZE = 1 << 16,
    ENGINE_RANGES = 256,    /* code ranges that are remembered one by one */
    TRANSLATE_AHEAD = 4,    /* blocks made at once, one behind the other */
    AHEAD_RETURNS = 4,      /* and so many times again, where calls return to */
    BRIEF = 256,            /* for fewer instructions, hardly more is made than they come to */
    HOOK_LISTS = 4 + 2 * BLOCK_INSNS,
    ENGINE_LEAVES = 3 << 20, /* bytes for them */
    TRANSLATE_ROOM = 60 << 10, /* most bytes of code of one block, cold part included */
};

_Static_assert(BLOCK_INSNS <= 64, "hooks.timed has a bit for each");

struct hook_inline; /* inline.h */

/* What the tool asked for in the block that is being translated. */
struct hook {
    uint64_t value;    /* counter, constant, register or function */
    const struct hook_inline *piece; /* of inlined code, if it is one */
    uint64_t argument; /* amount, or the function's */
    uint16_t next;     /* at the same point; number + 1 */
    uint8_t kind, size;
    uint8_t member;    /* of the tool set: whose it is */
};

struct hooks {
    struct engine *engine;
    uint32_t count;
    uint32_t member;   /* of the tool set: who is asked */
    uint32_t appended; /* bytes, by all hooks together */
    uint32_t room; /* bytes, of the code of all hooks */
    bool full;     /* a counter could not be had */
    bool crowded;  /* there was no room for a hook */
    bool inside; /* there are hooks before or after single instructions */
    bool beyond; /* there are hooks at other points than the entry */
    bool gated;  /* another copy of the block may append, which does not look (ring.h) */
    uint64_t timed; /* bit i: instruction i is timed */
    uint16_t first[HOOK_LISTS], last[HOOK_LISTS]; /* by point: number + 1 */
    struct hook hooks[HOOKS_MOST];
};

/* Places in the cache that all translations use. */
struct glue {
    uint32_t exit;   /* leaves by the exit whose number is in the thread */
    uint32_t lookup; /* the lookup's end: rcx is the target */
    uint32_t hook, hook_indirect;
    uint32_t returned; /* a return whose call is not known; the lookup's slots are filled */
    uint32_t line[TOOL_SET_MOST][TOOL_LINES]; /* each tool's own code: its entries */
    uint32_t search;   /* the lookup of rcx; the same */
};

struct engine {
    struct cache cache;
    struct blocks blocks;
    struct area table_area;
    struct area common;         /* struct tool.common_size, one behind the other: */
    uint64_t common_at[TOOL_SET_MOST + 1];
    uint64_t *table; /* LOOKUP_SIZE code addresses, atomic, by the target's low 16 bits */
    struct glue glue;
    struct engine_config config;
    /* the last answers: a question is three system calls */
    struct trust_range trusted[ENGINE_TRUSTED];
    uint32_t trusted_next;
    /* atomic enum stop_reason: what engine_end_as said; STOP_COUNT: nothing */
    uint32_t ended;
    struct { uint64_t lo, hi; } ranges[ENGINE_RANGES]; /* where translated code came from */
    uint32_t range_count;
    uint32_t lock;              /* 0 free, 1 taken, 2 taken and waited for */
    uint32_t thread_count;
    struct engine_thread *threads, *pool; /* running; free to be used again */
    uint64_t counter_space;     /* bytes of each thread's counter window */
    uint32_t counter_size;      /* bytes of a counter */
    uint32_t sites;             /* indirect ends whose targets are counted (target.c) */
    uint32_t counters;          /* ids given out, without a spool */
    uint32_t window_ids;        /* with one: all threads' windows cover the ids below */
    uint32_t storage_waits;     /* so often was the collector waited for */
    uint32_t reset_wanted;      /* atomic, a futex word (reset.h) */
    uint32_t hot_kept, cold_kept; /* cache offsets: what a reset leaves */
    uint32_t remade;            /* blocks made again, since the last reset */
    struct area leaves;         /* each thread's way to native code */
    uint32_t leaves_used;       /* atomic */
    struct area known_things;   /* hook.c */
    uint32_t flags;             /* of the tools (hook.h): those that one has */
    uint32_t appenders, first_appender; /* members of the set */
    bool hooks_any;             /* a tool has hooks */
    bool rings;                 /* a tool appends: each thread has a ring */
    /* r15 of translated code points into it, or is what is left of a loose budget */
    bool steals;
    bool faults_seen;  /* engine_faults_seen_as */
    bool pairable, paired; /* calls and returns can be, are paired (pairs.h) */
    bool transactions; /* the processor has xbegin, or aborts it always */
    bool fsgsbase;  /* GS can be set by an instruction */
    uint64_t tick_ns; /* nanoseconds a tick, times 2^32; 0: not known */
    struct engine_figures figures;

    /* The block that is being translated. */
    struct x86_insn insns[BLOCK_INSNS];
    /* one behind the other; in `copied` if it may change meanwhile */
    const uint8_t *code[BLOCK_INSNS];
    uint8_t copied[BLOCK_INSNS * INSN_MOST + INSN_MOST];
    struct live live[BLOCK_INSNS + 1];
    struct hooks hooks;
};

/* The program's code, and tables by its addresses, are cold in the caches: what will be wanted is
 * asked for early. Nothing is read: the address may be any. */
static inline void code_prefetch(uint64_t pc)
{
    __builtin_prefetch((const void *)(uintptr_t)pc);
}

/* How many a window has room for. */
static inline uint32_t engine_counters(const struct engine *e)
{
    return (uint32_t)(e->counter_space / e->counter_size);
}

static inline bool engine_is_own(const struct engine *e, uint64_t address)
{
    const struct engine_carrier *c = e->config.carrier;
    return address >= (uint64_t)(uintptr_t)c->own_begin &&
           address < (uint64_t)(uintptr_t)c->own_end;
}

/* How its areas are mapped. */
static inline unsigned engine_sharing(const struct engine *e)
{
    return e->config.shared ? AREA_SHARED : AREA_PLAIN;
}

/* Where a loose budget is counted: by each block in r15, or by the tool when its ring is emptied
 * (hook_executed). */
static inline bool loose_in_r15(const struct engine *e)
{
    return e->config.loose && !e->rings;
}

static inline bool loose_in_ring(const struct engine *e)
{
    return e->config.loose && e->rings;
}

/* r15 has come from translated code: the program's is where it was put. */
static inline uint64_t stolen_arrive(struct engine_thread *t, uint64_t r15)
{
    t->ring = r15;
    if (loose_in_r15(t->engine))
        t->budget = (int64_t)r15;
    return t->stolen;
}

/* What r15 is to be in translated code, where the program's is this. */
static inline uint64_t stolen_leave(struct engine_thread *t, uint64_t r15)
{
    t->stolen = r15;
    if (loose_in_ring(t->engine))
        ring_begin(t);
    if (loose_in_r15(t->engine))
        t->ring = (uint64_t)t->budget;
    return t->ring;
}

void engine_lock_as(struct engine *e);
bool engine_lock_try_as(struct engine *e);
void engine_unlock_as(struct engine *e);

/* The memory of an area, its ring included. */
void engine_area_unmap_as(struct engine_thread *t);
/* Counters for all ids that have been given out, from now on with those of the other threads. Under
 * the lock. False: no memory for them. */
bool engine_window_make_as(struct engine *e, struct engine_thread *t, int32_t tid);
/* hook.c: memory for things that have been given ids. */
bool hook_things_map_as(struct engine *e);
/* hook_wait_as, hook_waited (hook.h). */
bool engine_storage_wait_as(struct engine *e);
void engine_storage_waited(struct engine *e);

/* GS base of the calling thread. */
void engine_gs_set_as(const struct engine *e, uint64_t base);

/* switch.S */
void engine_exit(void);
void engine_lookup_miss(void);
void engine_hook(void);
void engine_hook_indirect(void);
void engine_redirected(void);
void engine_run(struct engine_thread *t);
_Noreturn void engine_start(struct engine_thread *t);
extern const char engine_text_begin[], engine_text_end[];
extern const char engine_window_begin[], engine_window_end[];
extern const char engine_syscall_begin[], engine_syscall_insn[], engine_syscall_done[],
    engine_syscall_end[];
extern const char engine_leave_begin[], engine_leave_end[];
extern const char engine_hook_window_begin[], engine_hook_window_end[];

#endif

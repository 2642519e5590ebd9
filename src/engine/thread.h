/* One thread's half of the engine: the area at its GS base.
 *
 *      mapping:  [ targets ][ returns ][ guard page ][ engine stack ][ struct engine_thread ][ counter window ]
 *                  1 MB, 0    64 kB                    64 kB         ^ GS base               ^ + 4096
 *
 * While translated code runs, the program's registers are in the processor. Everywhere else on the
 * engine's side (dispatcher, carrier callbacks, hooks that are called) they are in gpr, rip,
 * rflags, and the carrier may change them there. Vector, x87 and mask registers always stay in the
 * processor: nothing of the engine touches them.
 *
 * Context: the owning thread, and its signal handlers.
 * Ownership: made and freed by engine_thread_make_as and engine_thread_free_as (engine.h). */
#ifndef PENUMBRA_ENGINE_THREAD_H
#define PENUMBRA_ENGINE_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/thread_layout.h"
#include "engine/tool_set.h"
#include "sigsafe/spool_counts.h"

enum engine_register {
    ENGINE_RAX, ENGINE_RCX, ENGINE_RDX, ENGINE_RBX, ENGINE_RSP, ENGINE_RBP, ENGINE_RSI, ENGINE_RDI,
    ENGINE_R8, ENGINE_R9, ENGINE_R10, ENGINE_R11, ENGINE_R12, ENGINE_R13, ENGINE_R14, ENGINE_R15,
};

/* Who is running in this thread: what a signal handler asks first. */
enum engine_state {
    ENGINE_NATIVE = 0, /* the program, natively */
    ENGINE_CACHE = 1,  /* translated code, or the few instructions of switch.S around it */
    /* the engine's own C code, on the engine's stack; program state in gpr ... */
    ENGINE_INSIDE = 2,
};

struct engine;

struct engine_thread {
    uint64_t gpr[16];
    uint64_t rip;    /* the next instruction of the program */
    uint64_t rflags;
    uint64_t slot_rcx, slot_r11, slot_a, slot_b, slot_hook, slot_link;
    uint64_t stolen;
    uint32_t exit;
    uint32_t state;         /* enum engine_state; a signal handler of the same thread reads it */
    struct engine_thread *self;
    uint64_t stack_top;
    uint64_t next;
    uint32_t pending;       /* set by the carrier's signal handler: its `signals` is called before
                               translated code is entered again */
    uint32_t hook_action;   /* enum engine_action, set by a called hook that stops the thread */
    int64_t budget;         /* instructions left; only code made with a budget looks at it */
    uint64_t exit_entry, lookup_entry, hook_entry;
    uint64_t host_rsp, host_gs;
    uint64_t leave;
    uint64_t ring;
    /* The program's alternate signal stack, kept by the carrier. While the program runs on it,
     * signals are blocked before the stack pointer leaves it: the kernel would begin a new frame at
     * its start. The mask is restored when the stack pointer is back. */
    uint64_t alt_lo, alt_size;
    uint64_t mask;
    uint32_t mask_changed;
    uint64_t hook_indirect_entry;
    /* ticks that the instruction took that was timed last; for called hooks */
    uint64_t time;
    uint64_t time_end, time_rax, time_rdx;
    uint32_t site;
    uint32_t reserved2;
    uint64_t reserved3;
    uint64_t mask_before;
    void *lines[ENGINE_T_LINES]; /* tools': as they say (tools/lines.h) */
    /* the tool's: returns are watched from above ~floor (tools/inline/watch.h) */
    uint64_t floor;
    uint8_t watch[256];     /* the tool's: which memory is watched (the same) */
    int64_t alarm;          /* the tool's: what is left of it (the same) */
    bool watching;          /* the tool's: atomic: gated blocks are observed (the same) */

    /* From here on only C code looks. */
    struct engine *engine;
    uint64_t ring_base;     /* ring.h; 0: none */
    uint64_t ring_from;     /* where it is filled from */
    uint64_t stop_at;       /* the engine stops before this address; 0: none */
    uint32_t stop;          /* enum stop_reason: why it stopped last */
    /* atomic, 1: it knows no translation, and comes by the dispatcher before it does (reset.h) */
    uint32_t quiet;
    /* times that it began to run: what comes between two runs was not seen */
    uint32_t runs;
    uint32_t number;        /* among the engine's threads */
    uint32_t counter_size;  /* bytes of a counter */
    bool paired;            /* `returns` has been filled (pairs.h) */
    bool soon;              /* translate_soon_as has been called since engine_redirect_as */
    void *carrier;          /* the carrier's own */
    void *tools[TOOL_KINDS_MOST]; /* each tool's own, by its kind */
    /* where one tool's records are copied to from between others'; or NULL */
    uint8_t *sorted;
    uint32_t flushing;      /* member of the tool set whose `flush` runs */
    struct spool_thread *record; /* the thread's, with the root of its tree; set by the carrier
                                    before the thread runs. NULL: tools keep no tree */
    uint8_t *mapping;
    uint64_t mapping_size;
    struct engine_thread *link; /* the engine's list of threads */
    struct counts_window window; /* of its counters, where they are in the spool */
    /* Instructions begun behind the budget, and how many of them there are to be
     * (engine_config.late); set by the carrier before each burst. */
    uint64_t observed, wanted;
    /* What the dispatcher did in this thread (bench, docs/engine.md). */
    uint64_t dispatches, lookups, translated, dispatch_ticks;
};

#define ENGINE_ASSERT(field, offset)                                                               \
    _Static_assert(offsetof(struct engine_thread, field) == (offset), "thread_layout.h: " #field)
ENGINE_ASSERT(gpr, ENGINE_T_GPR);
ENGINE_ASSERT(rip, ENGINE_T_RIP);
ENGINE_ASSERT(rflags, ENGINE_T_RFLAGS);
ENGINE_ASSERT(slot_rcx, ENGINE_T_SLOT_RCX);
ENGINE_ASSERT(slot_r11, ENGINE_T_SLOT_R11);
ENGINE_ASSERT(slot_a, ENGINE_T_SLOT_A);
ENGINE_ASSERT(slot_b, ENGINE_T_SLOT_B);
ENGINE_ASSERT(slot_hook, ENGINE_T_SLOT_HOOK);
ENGINE_ASSERT(slot_link, ENGINE_T_SLOT_LINK);
ENGINE_ASSERT(stolen, ENGINE_T_STOLEN);
ENGINE_ASSERT(exit, ENGINE_T_EXIT);
ENGINE_ASSERT(state, ENGINE_T_STATE);
ENGINE_ASSERT(self, ENGINE_T_SELF);
ENGINE_ASSERT(stack_top, ENGINE_T_STACK_TOP);
ENGINE_ASSERT(next, ENGINE_T_NEXT);
ENGINE_ASSERT(pending, ENGINE_T_PENDING);
ENGINE_ASSERT(hook_action, ENGINE_T_HOOK_ACTION);
ENGINE_ASSERT(budget, ENGINE_T_BUDGET);
ENGINE_ASSERT(exit_entry, ENGINE_T_EXIT_ENTRY);
ENGINE_ASSERT(lookup_entry, ENGINE_T_LOOKUP_ENTRY);
ENGINE_ASSERT(hook_entry, ENGINE_T_HOOK_ENTRY);
ENGINE_ASSERT(host_rsp, ENGINE_T_HOST_RSP);
ENGINE_ASSERT(host_gs, ENGINE_T_HOST_GS);
ENGINE_ASSERT(leave, ENGINE_T_LEAVE);
ENGINE_ASSERT(ring, ENGINE_T_RING);
ENGINE_ASSERT(alt_lo, ENGINE_T_ALT_LO);
ENGINE_ASSERT(alt_size, ENGINE_T_ALT_SIZE);
ENGINE_ASSERT(mask, ENGINE_T_MASK);
ENGINE_ASSERT(mask_changed, ENGINE_T_MASK_CHANGED);
_Static_assert(sizeof(struct engine_thread) <= ENGINE_T_SIZE, "a page for the thread");
ENGINE_ASSERT(hook_indirect_entry, ENGINE_T_HOOK_INDIRECT_ENTRY);
ENGINE_ASSERT(time, ENGINE_T_TIME);
ENGINE_ASSERT(time_end, ENGINE_T_TIME_END);
ENGINE_ASSERT(time_rax, ENGINE_T_TIME_RAX);
ENGINE_ASSERT(time_rdx, ENGINE_T_TIME_RDX);
ENGINE_ASSERT(site, ENGINE_T_SITE);
ENGINE_ASSERT(lines, ENGINE_T_LINE);
ENGINE_ASSERT(mask_before, ENGINE_T_MASK_BEFORE);
ENGINE_ASSERT(floor, ENGINE_T_FLOOR);
ENGINE_ASSERT(watch, ENGINE_T_WATCH);
ENGINE_ASSERT(alarm, ENGINE_T_ALARM);
ENGINE_ASSERT(watching, ENGINE_T_WATCHING);
#undef ENGINE_ASSERT

/* The thread area at the GS base; only where GS is the engine's (its own code, hooks, handlers of
 * a thread that is known to run under the engine). */
static inline struct engine_thread *engine_thread_self_as(void)
{
    struct engine_thread *t;
    __asm__("movq %%gs:%c1, %0" : "=r"(t) : "i"(ENGINE_T_SELF));
    return t;
}

#endif

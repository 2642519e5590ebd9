/* Walking the stack of an interrupted thread, in its signal handler, by CFI.
 *
 *      ucontext ──> struct unwind_regs ──> unwind_walk_as ──> frames[0..n), leaf first
 *                                            │
 *                                            ├ return-address cache of the thread (hit: no lookup)
 *                                            ├ unwind_index: address -> image (sorted array)
 *                                            ├ image's compiled table (table.h), if there is one
 *                                            ├ else its .eh_frame, interpreted in place (cfi.h)
 *                                            └ no CFI at all: the table's rows from code, what the
 *                                              code does before it returns, heuristics; the frame
 *                                              is marked KEY_GUESSED
 *
 * Context: _as functions run in signal handlers; each unwind_thread is used by one thread only.
 * Ownership: the caller owns all memory; nothing is allocated. */
#ifndef PENUMBRA_UNWIND_UNWIND_H
#define PENUMBRA_UNWIND_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sigsafe/key.h"
#include "sigsafe/reasons.h"
#include "sigsafe/unwind_index.h"

/* DWARF numbers of x86-64 (System V ABI AMD64 supplement, figure 3.36). */
enum unwind_register {
    UNWIND_RAX, UNWIND_RDX, UNWIND_RCX, UNWIND_RBX, UNWIND_RSI, UNWIND_RDI, UNWIND_RBP,
    UNWIND_RSP, UNWIND_R8, UNWIND_R9, UNWIND_R10, UNWIND_R11, UNWIND_R12, UNWIND_R13, UNWIND_R14,
    UNWIND_R15, UNWIND_RIP, UNWIND_REGISTERS
};

struct unwind_regs {
    uint64_t r[UNWIND_REGISTERS];
};

struct unwind_frame {
    uint64_t key; /* key.h */
    uint64_t cfa; /* canonical frame address: in ordinary frames the return address is at cfa - 8 */
    uint64_t ra;  /* the return address, where CFI says that it is at cfa - 8; else 0 */
};

/* Where walks end before the root: return addresses in [stop_lo, stop_hi) are a trampoline's. Code
 * in `inside`, and all that it calls, is at work on one. Where code in `leaving` is on the stack,
 * none is to be set. */
struct unwind_marks {
    uint64_t stop_lo, stop_hi;
    uint64_t inside_lo, inside_hi;
    uint64_t leaving_lo, leaving_hi;
    bool (*leaving_as)(uint64_t key); /* whether other code is `leaving` too; NULL: none is */
};

enum {
    UNWIND_CACHE_SLOTS = 1024,
    UNWIND_PAGE_SLOTS = 16,
    UNWIND_AHEAD_SLOTS = 256,
    UNWIND_SCRATCH = 288
};

/* What generated code does before it returns (ahead.h), in terms of the registers at pc. */
struct ahead_value {
    uint8_t kind; /* enum ahead_kind */
    uint8_t reg;  /* enum unwind_register */
    int32_t at;
    int32_t plus;
};
enum ahead_kind {
    AHEAD_UNKNOWN,
    AHEAD_REGISTER, /* reg + plus */
    AHEAD_WORD,     /* [reg + at] + plus */
};
struct unwind_ahead {
    uint64_t pc;   /* 0: none */
    uint64_t code; /* the bytes there */
    bool exact;    /* it was executed, it was not a return address */
    bool keeps_rbp; /* a path returns soon, with the rbp that it had at pc */
    bool compiled; /* a method, by HotSpot: rbp is no frame pointer there */
    uint32_t size; /* of the frame, if HotSpot says so and this is not yet in `cfa`; else 0 */
    struct ahead_value cfa, rbp; /* rbp: what it is then */
    uint32_t popped; /* bytes above the return address that the return takes off the stack */
};

/* What is known of a return address that a walk has met. */
struct unwind_cached {
    uint64_t pc; /* 0: none */
    uint64_t key;
    uint32_t cfa_above; /* bytes above rsp, or rbp */
    uint16_t rbp_below; /* bytes below the CFA where the caller's rbp is; 0: it is unchanged */
    uint16_t flags;     /* walk.c */
};

/* Per-thread memory of the unwinder. Zero-initialized, then stack_lo/stack_hi set. About 47 kB. */
struct unwind_thread {
    /* Known readable stack: anything in [stack pointer at the sample, stack_hi) may be read if the
     * stack pointer is in [stack_lo, stack_hi). 0, 0: unknown; then each page read is probed once
     * with a system call (rt_sigprocmask with an invalid `how`, which reads the set first). */
    uint64_t stack_lo, stack_hi;
    uint32_t generation; /* of the index that the cache was filled from */
    uint64_t vm_structs; /* of that index's image that has it, or 0 */
    bool no_system_calls; /* memory outside the known stack is not probed: taken for unreadable */
    /* Of a thread in another process: reads 8 bytes of its memory. NULL: our own. */
    bool (*fetch)(void *context, uint64_t address, uint64_t *value);
    void *fetch_context;
    bool fetch_registers; /* all registers of such a thread are known; else only rsp and rip */
    struct unwind_marks marks; /* all 0: none */
    struct unwind_cached cache[UNWIND_CACHE_SLOTS];
    struct unwind_ahead ahead[UNWIND_AHEAD_SLOTS];
    uint64_t scratch[UNWIND_SCRATCH]; /* ahead.c's, which would be too much for a handler's stack */
    uint64_t page[UNWIND_PAGE_SLOTS]; /* pages found readable during the current walk */
};

/* A frame that is not the interrupted one: its registers, as far as return addresses tell. */
struct unwind_point {
    uint64_t rip, rsp, rbp;
    bool has_rbp;
};

struct unwind_result {
    uint32_t frames;            /* written to the caller's array, hidden frames left out */
    enum truncation truncation; /* TRUNC_NONE: the walk reached a root (undefined return address) */
    bool guessed;               /* at least one frame was found by a heuristic */
    bool images_missing;        /* an executable address in no known image was met */
    uint64_t missing_pc;        /* the first such address */
    uint64_t stopped_at;        /* the trampoline's return address that ended the walk, or 0 */
    uint64_t stopped_slot;      /* and where it lies */
    bool inside;                /* the walk met code at work on a trampoline, and ended there */
    bool leaving;               /* it met code in `leaving` */
    struct unwind_point point;  /* TRUNC_DEPTH: the frame that was not written any more */
};

/* Walks from *start (the interrupted registers, exact) towards the root. Writes at most `max`
 * frames, leaf first. *start is not changed. Never faults, whatever registers and stack hold, as
 * long as the images of the index stay mapped.
 * Cost: about 6 ns a frame whose return address was seen before, 260 ns with the processor's caches
 * cold (bench/unwind). */
struct unwind_result unwind_walk_as(struct unwind_thread *thread, const struct unwind_index *index,
                                    const struct unwind_regs *start, struct unwind_frame *frames,
                                    uint32_t max);

/* Goes on where a walk has ended with TRUNC_DEPTH, on a stack that has not changed there. Ends with
 * TRUNC_DEPTH and fewer than `max` frames where a frame needs more registers than the point has. */
struct unwind_result unwind_walk_on_as(struct unwind_thread *thread,
                                       const struct unwind_index *index,
                                       const struct unwind_point *point,
                                       struct unwind_frame *frames, uint32_t max);

/* Whether the 8 bytes before a return address, the last in the highest byte, end in a call. */
bool unwind_follows_call(uint64_t before);

/* One step, from any instruction: *regs becomes the caller's registers (those that CFI restores).
 * Returns TRUNC_NONE on success; sets *root when *regs has no caller. *cfa is the frame's. exact:
 * regs' RIP is an interrupted address, not a return address. The walk is a loop of these where its
 * fast path does not apply; tests compare this one with the truth at every instruction. */
enum truncation unwind_step_as(struct unwind_thread *thread, const struct unwind_index *index,
                               struct unwind_regs *regs, bool *exact, bool *root, uint64_t *cfa,
                               bool *guessed);

#endif

/* One translation: from decoded instructions to code. translate.c leads; relocate.c copies single
 * instructions, ends.c writes transfers of control.
 *
 * Context: the dispatcher, under the engine's lock.
 * Ownership: lives on the stack of the dispatcher. */
#ifndef PENUMBRA_ENGINE_TRANSLATE_H
#define PENUMBRA_ENGINE_TRANSLATE_H

#include "engine/hook.h"
#include "engine/state.h"

struct translation {
    struct engine *e;
    struct emit hot;
    uint64_t begun;       /* time stamp counter: when the block was (translate.c, block_time) */
    uint64_t stop_at;     /* no block crosses this address */
    /* The code that may be read: what `trust` said about it. */
    struct trust_range range;
    /* The block as decoded. */
    uint64_t pc, next, taken;
    uint32_t count;
    enum block_end end;
    uint32_t limit;       /* instructions that are decoded at most */
    uint32_t spare;       /* what has more of them is late, or cut */
    bool brief;           /* a short run: made ahead is only what it must come to */
    bool hooked;          /* the tool has been asked about this block */
    bool looks;           /* it looks whether the ring is full */
    bool tail;            /* `limit` instructions and no more: then the budget is used up */
    bool observed;        /* BLOCK_OBSERVED: nothing in front */
    uint64_t gate;        /* the gate's argument then */
    bool late;            /* BLOCK_LATE: with hooks; the other blocks of such an engine have none */
    enum stop_reason why; /* count is 0: why not even one instruction can be translated */
    /* Where calls that have been written return to. */
    uint64_t returns[AHEAD_RETURNS];
    uint32_t returns_count;
    /* Where paired calls go (pairs.h), each through an exit. */
    struct {
        uint64_t pc;
        uint32_t exit;
    } calls[AHEAD_RETURNS];
    uint32_t call_count;
    /* The block as written. */
    uint32_t number;
    struct block *block;
    uint8_t *mark;        /* code before this has its spans */
    /* register that holds the program's r15, its own value in slot A; or RSP */
    unsigned borrowed;
};

/* Ends a span at the code's current end: it stands for `size` bytes of the program. */
void span_close_as(struct translation *x, enum span_kind kind, uint32_t size, uint32_t spilled);

/* relocate.c: the copy of instruction `index`, which is no transfer. */
void relocate_as(struct translation *x, uint32_t index);
/* True if the bytes can be used as they are. */
static inline bool relocate_needless(const struct engine *e, const struct x86_insn *insn)
{
    return !(insn->traits & X86_RIP_RELATIVE) &&
           !(e->steals && (insn->reads | insn->writes) >> X86_R15 & 1);
}
/* mov rcx, r/m: the target of an indirect call or jump. rcx and r11 are in the lookup's slots. */
void relocate_target_as(struct translation *x, uint32_t index);
/* The memory operand that the instruction at pc has relative to rip. */
uint64_t relocate_address(const struct x86_insn *insn, const uint8_t *code, uint64_t pc);

/* ends.c: the block's end. Returns the address that the code runs on to, for the next block to be
 * laid there; 0: nowhere. */
uint64_t end_emit_as(struct translation *x);
/* The jump to `target` that ends a block whose continuation is not laid behind it. */
void end_jump_as(struct translation *x, uint64_t target);

/* push address: the program's own return addresses, so that unwinders and exceptions see those */
void push_address_as(struct engine *e, struct emit *to, uint64_t address);

/* What to translate. */
struct request {
    uint64_t pc;
    uint64_t stop_at; /* no block begins there or crosses it; 0: none */
    /* not 0: only so many instructions, which use the budget up; or BLOCK_LATE, BLOCK_OBSERVED */
    uint32_t tail;
    uint64_t gate;    /* BLOCK_OBSERVED: the argument of the gate in front of it */
    bool entry;       /* the block gets an indirect entry, unless it is late */
    uint32_t limit;   /* instructions that are decoded at most */
    /* a block of more instructions is made as BLOCK_LATE, or (not engine_config.late) as a tail of
     * so many. UINT32_MAX: as many as it has */
    uint32_t spare;
};

/* Something will be translated soon, perhaps for the first time in a long while: what that reads
 * and writes is asked for. No lock is needed: it is a guess. */
void translate_soon_as(const struct engine *e);

/* Makes the block, and others that it runs on to. NULL: *why. */
struct block *translate_as(struct engine *e, struct request request, enum stop_reason *why);

#endif

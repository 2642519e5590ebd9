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
    uint64_t stop_at;     /* no block crosses this address */
    /* The code that may be read: what `trust` said about it. */
    struct trust_range range;
    /* The block as decoded. */
    uint64_t pc, next, taken;
    uint32_t count;
    enum block_end end;
    enum stop_reason why; /* count is 0: why not even one instruction can be translated */
    /* The block as written. */
    uint32_t number;
    struct block *block;
    uint8_t *mark;        /* code before this has its spans */
};

/* Ends a span at the code's current end: it stands for `size` bytes of the program. */
void span_close_as(struct translation *x, enum span_kind kind, uint32_t size, uint32_t spilled);

/* relocate.c: the copy of instruction `index`, at address pc, which is no transfer. */
void relocate_as(struct translation *x, uint32_t index, uint64_t pc);
/* True if the bytes can be used as they are. */
static inline bool relocate_needless(const struct x86_insn *insn)
{
    return !(insn->traits & X86_RIP_RELATIVE);
}
/* mov rcx, r/m: the target of an indirect call or jump at pc. */
void relocate_target_as(struct translation *x, uint32_t index, uint64_t pc);
/* The memory operand that the instruction at pc has relative to rip. */
uint64_t relocate_address(const struct x86_insn *insn, const uint8_t *code, uint64_t pc);

/* ends.c: the block's end. Returns the address that the code runs on to, for the next block to be laid
 * there; 0: nowhere. */
uint64_t end_emit_as(struct translation *x);
/* The jump to `target` that ends a block whose continuation is not laid behind it. */
void end_jump_as(struct translation *x, uint64_t target);

/* Makes the blocks from pc on. With `entry` the first gets an indirect entry. Returns the first
 * block; NULL: *why. */
struct block *translate_as(struct engine *e, uint64_t pc, uint64_t stop_at, bool entry,
                           enum stop_reason *why);

#endif

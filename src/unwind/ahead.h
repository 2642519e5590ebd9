/* Where code in no image will return to, found by reading it from where it stands.
 *
 *     pc ──> mov %rax,(%rsi) ──> test ──> je ─┬─> add $0x20,%rsp ──> pop %rbp ──> ret
 *                                             └─> (waits; read if the first path ends without ret)
 *
 *     CFA = rsp + 0x30, rbp at [rsp + 0x20]
 *
 * Registers are followed as what they hold at pc plus a constant, or as a word of memory as it is
 * now. A path ends at what is not understood (an indirect jump). The first path that returns
 * decides. What leads there is the same whichever way branches go: code has to take down on each
 * path what it has built.
 *
 * Context: signal handlers. Reads code by unwind_memory; at most AHEAD_INSTRUCTIONS of it. Works in
 * the thread's scratch.
 * Ownership: the caller's. */
#ifndef PENUMBRA_UNWIND_AHEAD_H
#define PENUMBRA_UNWIND_AHEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/memory.h"
#include "unwind/unwind.h"

enum { AHEAD_INSTRUCTIONS = 400 };

/* What the code at pc does before it returns. exact: it is an interrupted address, not a return
 * address. HotSpot's compiled code is not read where its frame is whole (hotspot.h). False: nothing
 * is known, of cfa and size. Remembered in the thread, by pc and the 8 bytes there. */
bool ahead_find_as(struct unwind_memory *memory, uint64_t pc, bool exact,
                   struct unwind_ahead *found);

/* A frame of `size` bytes that is whole, with the caller's rbp below the return address. */
void ahead_whole_as(uint32_t size, struct unwind_ahead *found);

/* v by the registers of `known`. False: one is missing, or memory that cannot be read. *missing:
 * the first. */
bool ahead_value_as(struct unwind_memory *memory, const struct ahead_value *v,
                    const struct unwind_regs *regs, uint32_t known, uint64_t *value, bool *missing);

/* Whether the code at pc is before, or in the middle of, push %rbp; mov %rsp,%rbp, which comes
 * before it calls or jumps anywhere. Its return address is then *depth bytes above rsp: 0 or 8. */
bool ahead_enters_as(struct unwind_memory *memory, uint64_t pc, uint64_t *depth);

/* Whether the code at pc soon reads or writes memory by rbp, before it calls or jumps anywhere: it
 * has a frame pointer there. */
bool ahead_by_rbp_as(struct unwind_memory *memory, uint64_t pc);

#endif

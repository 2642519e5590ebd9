/* Indirect transfers: from an address of the program to the code for it, in a few instructions.
 *
 *      rcx = target; movzx r11d, cx; jmp [table + r11 * 8]
 *                                           │
 *      entry of a block at T:               v
 *            mov  r11, -T                           (below 2 GB: lea rcx, [rcx - T] instead of both)
 *            lea  rcx, [rcx + r11]
 *            jrcxz hit
 *            jmp  next  ───> (cold) rcx += T; jmp entry of the next block with these 16 bits, or glue
 *       hit: mov  rcx, gs:[slot_rcx]
 *            mov  r11, gs:[slot_r11]
 *            (body, or jmp body)
 *
 * The flags are the program's all the time. A new entry comes first in its chain.
 *
 * Context: the dispatcher, under the engine's lock. */
#ifndef PENUMBRA_ENGINE_LOOKUP_H
#define PENUMBRA_ENGINE_LOOKUP_H

#include "engine/state.h"

bool lookup_map_as(struct engine *e);

/* Writes the entry for pc, whose body follows. Returns its cache offset, for lookup_enter_as. */
uint32_t lookup_entry_emit_as(struct engine *e, struct emit *to, uint64_t pc);
/* mov r11, -pc;  lea rcx, [rcx + r11];  jrcxz hit;  jmp miss, with rcx as it was;
 * hit: mov rcx, gs:[slot_rcx];  mov r11, gs:[slot_r11] */
void lookup_check_emit_as(struct engine *e, struct emit *to, uint64_t pc, uint64_t miss);
/* From now on the check at this cache offset never hits. */
void lookup_check_leave_as(struct engine *e, uint32_t check, uint64_t pc);
/* movzx r11d, cx;  jmp [table + r11 * 8] */
void lookup_emit_as(const struct engine *e, struct emit *to);

/* The table will soon lead to pc. */
static inline void lookup_prefetch(const struct engine *e, uint64_t pc)
{
    __builtin_prefetch(&e->table[pc & (LOOKUP_SIZE - 1)]);
}

/* Lets the table lead there. */
void lookup_enter_as(struct engine *e, struct block *block, uint32_t entry);

/* Gives the block an indirect entry if it has none. False: the cache is full. */
bool lookup_need_as(struct engine *e, struct block *block);

/* No lookup arrives anywhere. */
void lookup_forget_as(struct engine *e);

/* No lookup arrives at the block any more. */
void lookup_leave_as(struct engine *e, const struct block *block);

#endif

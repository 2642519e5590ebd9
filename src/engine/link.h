/* Links: from an exit of one block straight to another block.
 *
 *      block A:  ... jcc rel32 ──────────────> body of B        linked
 *                      └─────> stub: exit = n; jmp glue         not linked
 *
 * The rel32 of a link lies within 8 aligned bytes, so that one store changes it at once for all
 * threads that execute it.
 *
 * Context: the dispatcher, under the engine's lock. */
#ifndef PENUMBRA_ENGINE_LINK_H
#define PENUMBRA_ENGINE_LINK_H

#include "engine/state.h"

/* A new exit of the block with this number; it must be the last block. */
uint32_t exit_make_as(struct engine *e, uint32_t block, enum exit_kind kind, uint64_t target);

/* Leaves through the exit: what stubs consist of. */
void exit_emit_as(struct engine *e, struct emit *to, uint32_t exit);
/* The exit's stub, in the cold part; made if it has none. */
uint32_t exit_stub_as(struct engine *e, uint32_t exit);

/* jmp target, or jcc: through a new exit of that block, which is returned; to its target if that
 * has been translated, else to its stub. */
enum { LINK_ALWAYS = 16 };
uint32_t link_emit_as(struct engine *e, struct emit *to, uint32_t block, unsigned condition,
                      uint64_t target);

/* The same, always, through the block's gate of that argument, to the observed block at its own
 * place. */
void link_observed_emit_as(struct engine *e, struct emit *to, uint32_t block, uint64_t argument);
/* The gate's argument, of an EXIT_OBSERVED. */
uint64_t link_gate(const struct engine *e, uint32_t exit);

/* Which blocks the exit leads to (block_find_as): BLOCK_OBSERVED through a gate, BLOCK_LATE from a
 * block that is late, else 0. */
uint32_t link_tail(const struct engine *e, uint32_t exit);

/* Points the exit at the block: the record, and the code where it has any. */
void link_set_as(struct engine *e, uint32_t exit, struct block *to);

/* No link, no lookup leads to the block any more; what it runs on from neither. */
void unlink_as(struct engine *e, struct block *block);

#endif

/* Acyclic paths within a function (Ball and Larus, Efficient Path Profiling, 1996): sequences of
 * blocks from where the function is entered, or a back edge leads to, to the next back edge or to
 * where the function is left.
 *
 *     entry ─> BEGIN ─> BLOCK 0 ─> BLOCK 2 ─> END, BEGIN ─> BLOCK 1 ─> END ─> return
 *                                           back edge
 *
 * Paths are not numbered, as theirs are, but the sequence itself is kept: no function has too many,
 * and none needs a register. They also end where control leaves a block that cannot be copied (a
 * jump through a table, a computed goto), and at blocks that exceptions and computed gotos lead to.
 *
 * A block is known by its index before the graph was changed.
 *
 * Context: paths_number before the graph is changed; the rest until the next function. */
#ifndef PENUMBRA_COMPILER_PATHS_H
#define PENUMBRA_COMPILER_PATHS_H

#include "frame.h"
#include "penumbra/inst.h"

/* NULL, or why paths of the function cannot be observed: then the rest does nothing. */
const char *paths_number();

/* Whether they are observed in the function. */
bool paths_are_observed();

/* Whether the block has instructions, and is counted. */
bool paths_has(int block);
/* Whether paths end where the block is left. */
bool paths_end_behind(int block);
/* Whether abnormal edges lead to the block. Paths end where others do. */
bool paths_end_before(int block);

/* Operations for a block and a copy of it: it is executed; and the function is left by it. */
void paths_in_block(basic_block where, int block);

/* At the head of a block of code that is not copied, where abnormal edges lead to it. */
void paths_at_label(basic_block where);

typedef std::vector<penumbra_inst_path> path_operations;

/* At the end of a block where the frame is as `place` of `block`. BLOCK: that block. */
void paths_at_end(basic_block where, int block, frame_where place, const path_operations &all);

/* Marks where the blocks that have operations are, in the code that is not copied: where they
 * begin, and, once the order of the code is settled, where they end. */
void paths_mark();
void paths_mark_ends();

/* When the plugin begins. */
void paths_begin();
/* At the end of the unit. */
void paths_write(FILE *assembly);

#endif

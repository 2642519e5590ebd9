/* Into cfg layout mode and back, with the order of the blocks as it is in their chain.
 *
 * Context: the plugin's pass. */
#ifndef PENUMBRA_COMPILER_LAYOUT_H
#define PENUMBRA_COMPILER_LAYOUT_H

/* Also drops what changes of the flow graph make invalid; liveness is known then. */
void layout_enter();

void layout_leave();

/* Whether the block ends with a jump through a table. */
bool layout_is_table(const_basic_block block);

/* Makes the block the last of the part of the code, hot or cold, that it is in. */
void layout_place_last(basic_block block);

/* Makes the block, which goes on to `to`, the one before it, unless another falls through to `to`
 * or they are in two parts. */
void layout_place_before(basic_block block, basic_block to);

/* Says of an edge whether it leads into the other part. */
void layout_set_crossing(edge e);

/* A block on the edge, in the part that the edge comes from; from a table, at that part's end. */
basic_block layout_split(edge e);

#endif

/* Edges of the control flow graph where it branches: which number each has in its function, and
 * what it is known by, however the function is copied and split afterwards.
 *
 * Context: edges_number before the graph is changed; the rest until the next function. */
#ifndef PENUMBRA_COMPILER_EDGES_H
#define PENUMBRA_COMPILER_EDGES_H

#include "tables.h"

void edges_number();

/* Whether edges are asked for, and the block has several that can be counted. */
bool edges_leave(const_basic_block block);

/* The event of the edge between two blocks, by their indexes when edges_number was called. */
bool edges_event(int from, int to, event_record *event);

#endif

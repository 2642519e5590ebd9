/* Executions of blocks, from those of transfers of control.
 *
 * What an edge leads to is executed up to the next instruction that transfers control: a *run*.
 *
 *     edge ──> run ... syscall ──> run ... last ──> edge
 *
 * A run is executed as often as edges lead to it. Behind a system call, which may not return, or
 * return twice (clone), it is executed as often as edges leave its last instruction, but for what
 * came there by edges. What is entered without an edge (a program, a thread, a signal's handler) is
 * seen in the same way, and taken to be its function from the beginning. So each last instruction
 * was executed as often as edges leave it, and what is before it too, unless the run was entered in
 * its middle, or left there by a signal that ended the program.
 *
 * Context: ordinary code. Safe on any profile and any image file.
 * Ownership: the blocks become the profile's. */
#ifndef PENUMBRA_REPORT_FROM_EDGES_H
#define PENUMBRA_REPORT_FROM_EDGES_H

#include "symbols/symbols.h"

/* Fills the blocks of the profile's code, where a whole run counted all transfers of control, and
 * no blocks. Code of images that cannot be read, and of none, is counted in its `unread`. False
 * without memory. */
bool blocks_from_edges(struct profile *p, const struct symbols_options *options, struct err *e);

#endif

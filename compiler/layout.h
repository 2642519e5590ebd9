/* Into cfg layout mode and back, with the order of the blocks as it is in their chain.
 *
 * Context: the plugin's pass. */
#ifndef PENUMBRA_COMPILER_LAYOUT_H
#define PENUMBRA_COMPILER_LAYOUT_H

/* Also drops what changes of the flow graph make invalid; liveness is known then. */
void layout_enter();

void layout_leave();

#endif

/* Where a function's frame is, as its code can tell: the address of the frame (the stack pointer
 * before the call, DWARF's CFA) less the stack pointer or the frame pointer, at the beginning of
 * each block and before its last instruction.
 *
 * Context: after register allocation. frame_find before the flow graph is changed; frame_at until
 * the next function. */
#ifndef PENUMBRA_COMPILER_FRAME_H
#define PENUMBRA_COMPILER_FRAME_H

struct frame_place {
    bool known;
    bool by_frame_pointer; /* else by the stack pointer */
    int distance;          /* from that register up to the frame's address */
};

enum frame_where { FRAME_AT_HEAD, FRAME_BEFORE_LAST };

void frame_find();

/* block: its index when frame_find was called. */
frame_place frame_at(int block, frame_where where);

#endif

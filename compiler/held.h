/* Loops in whose checking code the counter is held in a register that they do not use.
 *
 *     before            │ load                 the register is the counter ...
 *                       v
 *     loop       ┌──> block ──> store ──> block with a call ──> load ──┐
 *                │      │                                              │
 *                │      │ <────────────────────────────────────────────┘
 *                └─ dec register; js ── due ──> store ──> sample ──> copy of the block
 *                ^      │                                              │
 *                └──────┼───────────────── load ───────────────────────┘
 *     behind            v
 *                     store                    ... and memory is, outside and in duplicates
 *
 * A register that has a value for later is kept in a vector register meanwhile. Whether all that is
 * less than it saves is judged by gcc's counts of edges, estimated or measured.
 *
 * A check that leads into the loop counts in the register, too. A handler that interrupts the loop
 * counts in memory from where the loop was entered; that is lost at its end. A share of what
 * handlers do is sampled as before, for where a loop begins in an interval does not depend on them.
 *
 * A block is known by its index before the graph was changed.
 *
 * Context: held_choose before the graph is changed, with liveness known; the rest until the next
 * function. */
#ifndef PENUMBRA_COMPILER_HELD_H
#define PENUMBRA_COMPILER_HELD_H

enum { HELD_NOWHERE = -1 };

/* Where the counter is, in a stretch of code: registers, or HELD_NOWHERE. */
struct held {
    int counter; /* a general one; none: memory */
    int kept;    /* the vector register that has the former's own value; none: it has none */
    int scratch; /* a vector register, for the way to a library's thread-local memory */
};

void held_choose();

/* Which loop the block is in, from 0; HELD_NOWHERE: in none. */
int held_loop(int block);

/* A back edge of this loop has a check: of other loops the counter stays in memory. */
void held_use(int loop);

/* Where the counter is in that loop, or in none. */
held held_in(int loop);

#endif

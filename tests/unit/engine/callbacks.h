/* What the engine calls: in files of their own, which are compiled like the runtime, because they
 * run while the vector registers are the program's.
 *
 * Context: the dispatcher. Ownership: constant data. */
#ifndef PENUMBRA_TESTS_ENGINE_CALLBACKS_H
#define PENUMBRA_TESTS_ENGINE_CALLBACKS_H

#include "engine/engine.h"
#include "engine/hook.h"

/* Runs all system calls; stops wherever the engine does; its data are a struct rig. */
extern const struct engine_carrier rig_carrier;

/* Hooks at every point of every block. Counter 0: instructions by blocks; 1: at HOOK_BEFORE; 2: at
 * HOOK_AFTER. */
extern const struct tool tool_all_points;
extern struct asked {
    uint64_t blocks; /* made */
    uint64_t calls;  /* instructions, by called hooks */
    uint64_t timed;  /* calls after timed instructions */
    uint64_t time;   /* their sum */
    uint64_t crowded; /* blocks for whose hooks there was no room */
} asked;

/* Adds up in `asked` how long each instruction took that does not end a block and reads memory by
 * its operand, or repeats. */
extern const struct tool tool_times;

/* Results of instructions by leads (hook.h), and again by called hooks, which know what the leads
 * have to do. */
extern const struct tool tool_leads;
extern struct led {
    uint64_t results, calls, of_r15; /* results */
    uint64_t wrong; /* leads that called, or did not, or counted, otherwise than they had to */
} led;

/* Blocks with gates (hook.h), and hooks in front of them that know what the gates have to do. */
extern const struct tool tool_gates;
extern struct gated {
    uint64_t blocks, observed, asked; /* executions: all, those behind the gate, those that asked */
    /* executions that were observed, or asked, or counted, otherwise than they had to */
    uint64_t wrong;
} gated;

/* That tool, or one of tools/tools.h. */
const struct tool *tool_named(const char *name);

/* Appends, in each block, its number of instructions and a mark. Counter 0: blocks; 1:
 * instructions. */
extern const struct tool tool_appending;
extern struct flushed {
    uint64_t times, ends;  /* calls; those with `ends` */
    uint64_t records, instructions;
    uint64_t largest;      /* bytes in one call */
    uint64_t wrong;        /* records that are none */
} flushed;

/* Appends, before each instruction, a mark and the stack pointer. */
extern const struct tool tool_marking;
extern struct marked {
    uint64_t records, ends;
    uint64_t wrong; /* records that are none */
} marked;

/* Watches memory (hook.h), returns and executed instructions, and checks each time whether it was
 * called when it had to be. */
extern const struct tool tool_watching;
extern struct watched {
    uint64_t accesses, called, returns, returns_called, alarms;
    uint64_t executed, alarmed; /* instructions: by called hooks, by alarms */
    int64_t alarm_set;
    uint64_t wrong;
} watched;

/* Changes between the two copies of blocks every few instructions, and checks that each is executed
 * at its time. */
extern const struct tool tool_copies;
extern struct copies {
    uint64_t observed, charged[2]; /* instructions; those charged while it watched: [1] */
    uint64_t last; /* of the block in which the time began */
    int64_t set;
    uint64_t changes, ungated, wrong;
} copies;

/* Counts each instruction 16 times, and calls as often: more hooks than a long block has room for.
 * Counter 0. */
extern const struct tool tool_crowding;

#endif

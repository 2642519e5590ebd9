/* What the processor itself says about the states between instructions: a native run with the trap
 * flag.
 *
 * Context: ordinary code, one thread; takes SIGTRAP. Ownership: the steps stay until
 * stepping_free. */
#ifndef PENUMBRA_TESTS_ENGINE_STEPPING_H
#define PENUMBRA_TESTS_ENGINE_STEPPING_H

#include "run.h"

/* General registers, in the order of encodings, before an instruction. */
struct step {
    uint64_t rip, flags, gpr[16];
};

/* Runs fn(n) natively on the rig's stack. Returns how many instructions, with a few behind the
 * function's last one; repeated string instructions are one. */
uint32_t stepping_run(struct rig *r, uint64_t (*fn)(uint64_t), uint64_t n);
const struct step *stepping_at(uint32_t number); /* 0: the function's first instruction */
void stepping_free(void);

/* Handlers with SA_ONSTACK leave the stack of the code under test as it is: what that finds in
 * slots which it has not written (padding that it pops) is the same with and without them. */
void stepping_apart(void);

/* Sets the rig's thread up for a run that begins in the same state as the native one. */
void stepping_prepare(struct rig *r, uint64_t (*fn)(uint64_t), uint64_t n);

/* The order in which ucontext has the registers. */
extern const int stepping_order[16];

#endif

/* What the engine calls when it runs a piece of code: compiled like the runtime, because it
 * runs while the vector registers and FS are the piece's.
 *
 * Context: the dispatcher. Ownership: constant data. */
#ifndef PENUMBRA_TESTS_ASM_CARRIER_H
#define PENUMBRA_TESTS_ASM_CARRIER_H

#include "engine/engine.h"

/* Its data are the struct machine. Gives a new budget whenever one is used up; stops otherwise. */
extern const struct engine_carrier asm_carrier;

#endif

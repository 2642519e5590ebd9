/* Instructions that the engine cannot translate, and that the processor executes in the middle of a
 * burst: alone, with the trap flag set, the burst going on behind it.
 *
 *      translated code ──> stopped ──rt_sigreturn, TF──> [instruction] ──SIGTRAP──> handler ──┐
 *          ^──────────────────────────────────────────────────────────────────────────────────┘
 *
 * Context: _as functions: the dispatcher of the thread concerned.
 * Ownership: none. */
#ifndef PENUMBRA_RUNTIME_CARRIER_BURST_BURST_NATIVE_H
#define PENUMBRA_RUNTIME_CARRIER_BURST_BURST_NATIVE_H

#include <stdbool.h>

#include "engine/engine.h"

/* With the first it traps; the others say that it has, and that 64-bit code follows. */
enum { EFLAGS_TF = 0x100, CODE_TRAP_TRACE = 2, USER_CS = 0x33 };

/* Whether the instruction at e->rip, at which the engine has stopped, can be executed so. Not those
 * that make system calls or raise SIGTRAP themselves, nor those that set the trap flag. */
bool burst_native_may_as(const struct engine_thread *e, enum stop_reason why);

#endif

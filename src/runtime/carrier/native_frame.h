/* A signal frame of our own making, through which a thread goes from the engine to native code:
 * registers, vector state, mask and rip in one step.
 *
 *      [ ucontext | xsave area ]     as the kernel has made it for a signal, except for registers
 *                                    and vector state
 *
 * Context: _as functions: signal handlers and the dispatcher of the thread concerned.
 * Ownership: the memory is the caller's: 25 kB, aligned to 64. */
#ifndef PENUMBRA_RUNTIME_CARRIER_NATIVE_FRAME_H
#define PENUMBRA_RUNTIME_CARRIER_NATIVE_FRAME_H

#include <stdbool.h>
#include <ucontext.h>

struct native_frame;

/* Everything but registers and vector state is as in u, a signal's own frame. False: that is not as
 * it should be. */
bool native_frame_prepare_as(struct native_frame *f, const ucontext_t *u);
/* To be filled in: registers and mask. */
ucontext_t *native_frame_context(struct native_frame *f);
/* To the registers of the frame, with the vector state of now. All signals are blocked, and GS is
 * the program's already. */
_Noreturn void native_frame_enter_as(struct native_frame *f);

#endif

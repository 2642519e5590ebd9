/* What the kernel writes for a signal (arch/x86/kernel/signal_64.c), as it lies on the stack,
 * lowest address first:
 *
 *      frame      +0    return address: the restorer, which calls rt_sigreturn
 *                 +8    ucontext as far as its mask, 304 bytes
 *                 +312  siginfo, 128 bytes
 *      ...        +440  up to 63 bytes
 *      vectors          64-byte aligned: legacy state 512, header 64, components as far as the thread has them
 *                       (uc_mcontext.fpregs points here), 4 bytes of magic
 *      ...              128 bytes of red zone, unless another stack begins here
 *
 * AMX's 8 kB of tiles are written for threads only whose process has asked for them
 * (arch_prctl(ARCH_REQ_XCOMP_PERM)), whatever AT_MINSIGSTKSZ says, which has room for all that the
 * processor could do.
 *
 * Context: any.
 * Ownership: the caller's. */
#ifndef PENUMBRA_SIGSAFE_SIGNAL_FRAME_H
#define PENUMBRA_SIGSAFE_SIGNAL_FRAME_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

enum { SIGNAL_FRAME_BYTES = 440, SIGNAL_FRAME_COMPONENTS = 64 };

/* Where the standard layout has a component of the state (CPUID leaf 0xd). */
struct signal_frame_component {
    uint32_t offset, size;
};

/* Bytes of a frame at most, where the thread's state has the components whose bits are set in
 * `features`; 0: the processor has no xsave. */
uint64_t signal_frame_size(uint64_t features,
                           const struct signal_frame_component components[SIGNAL_FRAME_COMPONENTS]);
/* The same of the calling thread, here and now. */
uint64_t signal_frame_size_here_as(void);

/* True if sp is on the stack, as the kernel sees it. */
bool signal_frame_is_on(uint64_t sp, const stack_t *stack);
/* Where the kernel would have put the frame with this context, had the thread had the alternate
 * stack `stack` and the action SA_ONSTACK (NULL: not SA_ONSTACK). 0: it would not have fitted. */
uint64_t signal_frame_place(const ucontext_t *u, const stack_t *stack);
/* Copies the frame there. Its context is at +8 then. */
void signal_frame_move_as(const ucontext_t *u, uint64_t to);

#endif

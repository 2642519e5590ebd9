/* The way back of a thread that a collector is at work in, should the collector be killed: a signal
 * frame (Linux, arch/x86/include/uapi/asm/ucontext.h and sigcontext.h) that holds all that
 * the thread was, and rt_sigreturn to load it.
 *
 *   below the thread's stack pointer        frame                          state    red zone
 *   (or in memory of ours)                  | restorer | context, mask |  XSAVE |   | 128 |  <- sp
 *
 * A thread whose stack pointer is `frame` comes back by any return instruction. The kernel uses the
 * same place for the frames of its signals, so a program expects nothing to be kept there; what was
 * there is put back all the same.
 *
 * Context: the thread that has stopped the target's (collector/attach/attach_thread.h). */
#ifndef PENUMBRA_COLLECTOR_ATTACH_RETURN_H
#define PENUMBRA_COLLECTOR_ATTACH_RETURN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "collector/attach/attach_safe.h"

enum { ATTACH_XSTATE_MAX = 1 << 14, ATTACH_RETURN_MAX = ATTACH_XSTATE_MAX + 4096 };

/* What a thread is. */
struct attach_thread_state {
    struct user_regs_struct regs;
    uint64_t mask;
    uint8_t xstate[ATTACH_XSTATE_MAX];
    size_t xstate_size;
};

struct attach_return {
    uint64_t frame; /* its address; 0: there is none */
    uint8_t before[ATTACH_RETURN_MAX];
    size_t size; /* of what was there before */
};

/* Below the thread's stack pointer. No frame (but no error either) if too little is mapped
 * there. */
void attach_return_on_stack(struct attach_return *r, const struct attach_landmarks *l,
                            const struct attach_thread_state *state);
/* In memory that ends at `end`. */
void attach_return_below(struct attach_return *r, const struct attach_landmarks *l, uint64_t end,
                         const struct attach_thread_state *state);
/* Puts back what was there. */
void attach_return_remove(struct attach_return *r, int mem);

#endif

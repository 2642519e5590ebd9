/* Loops of generated code, and how many cycles of the core they take.
 *
 *     push...                 saved registers
 *     mov r14, data           TIMING_DATA
 *     mov r15, rounds
 *     1: BODY                 what is measured: any register but rsp, r14 and r15
 *     sub r15, 1
 *     jnz 1b
 *
 * A core's clock is not that of the time stamp counter. A chain of dependent additions takes one
 * cycle each; each loop is timed beside one, and the quotient is the cycles. What interrupts a loop
 * makes it slower, never faster: of many short repetitions the fastest counts, of two numbers of
 * rounds, so that what is before and behind the loop cancels.
 *
 * The code's pages are writable or executable, never both.
 *
 * Context: one thread.
 * Ownership: timing_make makes, timing_free frees. */
#ifndef PENUMBRA_CALIBRATE_TIMING_H
#define PENUMBRA_CALIBRATE_TIMING_H

#include "base/err.h"
#include "x86/emit.h"

enum { TIMING_DATA = X86_R14, TIMING_ROUNDS = X86_R15, TIMING_DATA_SIZE = 1 << 20 };

struct timing {
    /* data: at r14; TIMING_DATA_SIZE bytes, on huge pages where there are any */
    uint8_t *code, *data;
    size_t data_size;       /* mapped; the part behind TIMING_DATA_SIZE is for chases */
    struct emit emit;       /* the body */
    uint8_t *loop;
    void (*chain)(uint64_t rounds, void *data);
    uint64_t deadline;      /* ns: loops begun later are measured once only */
    double cycle;           /* ticks, as last measured */
    bool failed;            /* a loop did not fit, or could not be made executable */
};

/* seconds: within which all loops should be measured. False: no memory, or no executable memory. */
bool timing_make(struct timing *t, size_t chase_bytes, double seconds, struct err *e);
void timing_free(struct timing *t);

/* Ticks of the time stamp counter that a cycle takes: the least of a batch of chains. */
double timing_cycle(struct timing *t);

/* Begins a loop; its body is emitted into what is returned. */
struct emit *timing_begin(struct timing *t);
/* Cycles that one round takes; 0 where t->failed. rounds: of the shorter of the two timings. */
double timing_end(struct timing *t, uint32_t rounds);
/* Likewise, but calls `before` before each repetition, and takes one number of rounds only. */
double timing_end_after(struct timing *t, uint32_t rounds, void (*before)(void *context),
                        void *context);

#endif

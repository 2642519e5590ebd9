/* One frame of a walk, the careful way: finds the rule of the current address and applies it.
 *
 *     address ──> locate ──> table (table.h), unless `full` asks for all registers
 *                   │        else the interpreter (cfi.h)
 *                   └──────> step: registers become the caller's
 *
 * A step by a table's rule keeps track of rsp, rbp and rip only, and marks the others unknown. If a
 * later frame needs one of those, the step reports STEP_RESTART: the caller begins again at the
 * leaf, with `full` set.
 *
 * Context: signal handlers. Ownership: borrows index and thread. */
#ifndef PENUMBRA_UNWIND_STEP_H
#define PENUMBRA_UNWIND_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/cfi.h"
#include "unwind/memory.h"
#include "unwind/unwind.h"

#define UNWIND_KNOWN_ALL ((1u << UNWIND_REGISTERS) - 1)
#define UNWIND_KNOWN_FAST (1u << UNWIND_RSP | 1u << UNWIND_RBP | 1u << UNWIND_RIP)

struct step_state {
    const struct unwind_index *index;
    struct unwind_memory memory;
    struct cfi_frame frame;
    bool exact; /* rip is an interrupted address: look it up itself, not the byte before it */
    bool tries; /* a frame pointer that may be the one: no other is searched for on the way
                   (search.c) */
    bool full;  /* by the interpreter, with all registers, wherever there is CFI in memory */
    /* Where rsp is sender_for, found by a frame pointer, the caller may have had another one:
     * guess.c. */
    uint64_t sender_for, sender;
};

struct step_place {
    uint64_t pc;                      /* the address looked up */
    const struct unwind_image *image; /* or NULL */
    uint32_t rule;
    bool interpreted;            /* machine is at the row of pc */
    enum cfi_status interpreter; /* what it said, where it was asked */
    struct cfi_space space;
    struct cfi_machine machine;
};

enum step_outcome {
    STEP_OK,
    STEP_ROOT,    /* no caller */
    STEP_RESTART, /* registers are needed that a fast walk does not have */
    STEP_FAILED,
};

struct step_result {
    uint64_t cfa; /* 0: not known */
    enum truncation truncation; /* if STEP_FAILED */
    bool guessed; /* the caller was found by a heuristic */
    bool planted; /* if STEP_ROOT: execution would come here by a return, but never was here
                     before */
};

/* Finds the image and the rule of s's address. */
void step_locate_as(struct step_state *s, struct step_place *place);

/* Makes s the caller's state, by a place just located. */
enum step_outcome step_apply_as(struct step_state *s, const struct step_place *place,
                                struct step_result *result);

/* Where there is no CFI: what the code does before it returns, a return address on top of the
 * stack, or a chain of frame pointers (guess.c). */
enum step_outcome step_guess_as(struct step_state *s, const struct unwind_image *image,
                                struct step_result *result);

/* Where s's frame hangs on rbp, which is not known (search.c): the most likely one; 0: none. A
 * caller's return address is `words` above it. */
uint64_t step_search_as(struct step_state *s, const struct step_place *place, uint64_t words);

/* Whether a return address follows a call, or is a trampoline's, which stands for one that did. */
bool step_is_called_as(struct step_state *s, uint64_t return_address);

/* Whether s's address, in code of the image without unwind information, is a return address behind
 * no call: of a stack that makecontext and its like have made (__start_context, boost's
 * make_fcontext), the first word. */
bool step_is_planted_as(struct step_state *s, const struct unwind_image *image);

/* Whether the code at pc is mov $SYS_rt_sigreturn, %rax; syscall. */
bool step_is_restorer_as(struct step_state *s, uint64_t pc);

#endif

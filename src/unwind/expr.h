/* DWARF expressions (DWARF 5, section 2.5), as far as call frame information may use them (6.4.2).
 *
 * Context: any, signal handlers included. Bounded: at most EXPR_STEPS operations.
 * Ownership: nothing. */
#ifndef PENUMBRA_UNWIND_EXPR_H
#define PENUMBRA_UNWIND_EXPR_H

#include <stdint.h>

#include "unwind/cursor.h"
#include "unwind/memory.h"
#include "unwind/unwind.h"

enum { EXPR_STACK = 32, EXPR_STEPS = 256 };

enum cfi_status {
    CFI_OK,
    CFI_NONE,       /* no CFI at this address */
    CFI_BAD,        /* it cannot be interpreted */
    CFI_UNREADABLE, /* memory that it needs cannot be read */
    CFI_UNKNOWN,    /* a register that it needs is not known */
};

/* Evaluates the bytes of `code`. known: bit i says that regs->r[i] is meaningful. initial: what is
 * on the stack at the beginning, or NULL for an empty stack. */
enum cfi_status expr_evaluate_as(struct cursor code, const struct unwind_regs *regs, uint32_t known,
                                 struct unwind_memory *memory, const uint64_t *initial,
                                 uint64_t *result);

#endif

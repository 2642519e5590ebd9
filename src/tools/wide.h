/* Registers that are no general ones, as an instruction has left them: what is in which by number,
 * and reading it where it is. Nothing of the engine changes them.
 *
 * Context: called hooks; general registers only are changed.
 * Ownership: none. */
#ifndef PENUMBRA_TOOLS_WIDE_H
#define PENUMBRA_TOOLS_WIDE_H

#include "sigsafe/tuples.h"
#include "x86/insn.h"

enum { WIDE_WORDS_MAX = 8 }; /* of 8 bytes */

/* Its number among all registers (enum tuple_register). */
static inline unsigned wide_number(const struct x86_wide *w)
{
    return w->reg + (w->bank == X86_BANK_X87   ? (unsigned)TUPLE_X87
                     : w->bank == X86_BANK_MMX  ? (unsigned)TUPLE_MMX
                     : w->bank == X86_BANK_MASK ? (unsigned)TUPLE_MASK
                                                : (unsigned)TUPLE_VECTOR);
}

/* How many words its value has: of a vector of which only one element is written one, of x87
 * one. */
static inline unsigned wide_words(const struct x86_wide *w, struct x86_lanes lanes)
{
    return lanes.scalar || w->bytes < 16 ? 1 : w->bytes / 8u;
}

/* Word 0, 1, ... of the register with this number, behind an instruction that named it. Of x87 the
 * value as a double, rounded. */
uint64_t wide_word_as(unsigned number, unsigned word);

/* An 80-bit floating-point number as a double, to the nearest, of two the even one. */
uint64_t wide_double_as(uint64_t significand, uint16_t exponent);

#endif

/* Executes instructions on what is known of a moment (Burrows et al., Efficient and Flexible Value
 * Sampling, section 2.1.2; there the interpreter ran in the interrupt itself).
 *
 *     capture: registers, words of memory, bytes of code
 *         │
 *         v
 *     interpret_state ── interpret_step ──> the state behind the instruction, or why it stops
 *         │ each bit is known, or not
 *         └ wants: words that were read and are not known, by where their addresses come from
 *
 * A bit of a register, of the flags or of memory is known or not. What is known is what the
 * processor would have there, if nobody else writes to memory meanwhile. What is made of bits that
 * are not known is not known. An instruction that the interpreter does not know in detail leaves
 * unknown what it may write, by the decoder's table. A write to an unknown address may have gone
 * anywhere: from then on nothing is known of memory but what is written later.
 *
 * Where a value comes from is kept besides: a register at the begin, or a word that was read, plus
 * a constant. So a word whose address is not known yet can be asked for at the next moment of the
 * same kind (struct interpret_want).
 *
 * Vector registers are not known at all.
 *
 * Context: any thread; nothing is allocated.
 * Ownership: the caller owns the state. */
#ifndef PENUMBRA_INTERPRET_INTERPRET_H
#define PENUMBRA_INTERPRET_INTERPRET_H

#include <stdbool.h>
#include <stdint.h>

#include "interpret/reasons.h"
#include "x86/insn.h"

/* base + index * scale + plus; each of these is a register at the begin (0 to 15), the base of the
 * segment, or a word that was wanted before (INTERPRET_WORD + its number). */
enum { INTERPRET_SEGMENT = 16, INTERPRET_WORD = 32, INTERPRET_NOWHERE = 0xff };
struct interpret_origin {
    uint8_t base, index; /* INTERPRET_NOWHERE: 0 */
    uint8_t scale;       /* 1, 2, 4, 8 */
    bool known;          /* false: it is not known where it comes from */
    int64_t plus;
};

struct interpret_value {
    uint64_t bits;  /* 0 where not known */
    uint64_t known; /* a mask */
    struct interpret_origin origin;
};

/* A word to be captured. */
struct interpret_want {
    struct interpret_origin at;
    uint8_t bytes;    /* 1, 2, 4, 8 */
    bool extend_sign; /* what follows takes it for a signed number */
};

enum { INTERPRET_WANTS = 32, INTERPRET_CELLS = 512 };

/* Eight bytes of memory, at an address that is a multiple of eight. */
struct interpret_cell {
    uint64_t address; /* | 1: it is in use */
    uint64_t bits, known;
    uint64_t written; /* a mask: by an instruction */
};

struct interpret_memory {
    struct interpret_cell cell[INTERPRET_CELLS]; /* by hash */
    uint32_t count;
};

struct interpret_state {
    struct interpret_value reg[16];
    uint64_t rip;
    struct interpret_value rflags;
    struct interpret_value fs, gs; /* bases */
    bool kernel;                   /* interrupts may be turned off and on */
    struct interpret_memory memory;
    struct interpret_want want[INTERPRET_WANTS];
    unsigned wants;
    uint64_t forgot; /* how often all memory became unknown */
};

/* Nothing is known but where registers come from. */
void interpret_begin(struct interpret_state *s);
void interpret_register(struct interpret_state *s, unsigned reg, uint64_t value);
void interpret_flags(struct interpret_state *s, uint64_t rflags);
/* What memory holds: of the capture. */
void interpret_remember(struct interpret_state *s, uint64_t address, const void *bytes,
                        unsigned count);

/* Executes the instruction at s->rip. INTERPRET_NEXT: it is done. Else it is not, and the state is
 * of no use any more. */
enum interpret_end interpret_step(struct interpret_state *s, const struct x86_insn *insn,
                                  const uint8_t *code);

/* At most 8 bytes; what is known of them. */
struct interpret_value interpret_load(const struct interpret_state *s, uint64_t address,
                                      unsigned bytes);
/* The address of a memory operand, as of before the instruction; not known: not all of its bits. */
struct interpret_value interpret_address(const struct interpret_state *s,
                                         const struct x86_insn *insn, const struct x86_memory *m);

static inline bool interpret_is_known(const struct interpret_value *v, unsigned bytes)
{
    uint64_t mask = bytes >= 8 ? UINT64_MAX : (UINT64_C(1) << 8 * bytes) - 1;
    return (v->known & mask) == mask;
}

#endif

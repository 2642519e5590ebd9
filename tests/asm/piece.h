/* Pieces of code for the machine, and the states that they begin in; both follow from a seed.
 *
 * Context: tests; one thread. Ownership: the caller owns everything. */
#ifndef PENUMBRA_TESTS_ASM_PIECE_H
#define PENUMBRA_TESTS_ASM_PIECE_H

#include "machine.h"
#include "x86/insn.h"

struct piece {
    uint8_t code[CODE_MOST];
    uint8_t length;
    uint8_t loose;   /* 1: may store the address of the last x87 instruction */
    uint16_t ignore; /* general registers that are different each time: rdtsc, rdrand */
    uint64_t seed;   /* of its state */
};

/* A small generator (splitmix64). */
struct dice {
    uint64_t state;
};
uint64_t roll(struct dice *d);
static inline bool chance(struct dice *d, unsigned of)
{
    return roll(d) % of == 0;
}

/* The state that `piece` begins in, at `code`; fills the arena's data and stack, too. */
void state_make(const struct piece *piece, uint64_t code, struct state *s, uint8_t *data,
                uint8_t *stack);

/* The slot with the piece in it: ud2s behind it, to the end. */
void slot_fill(const struct piece *p, uint8_t *slot);

/* All encodings of instructions that there are: prefix, map, opcode, kind of operand. Their number;
 * not all are instructions. */
uint64_t forms_count(void);

/* The form's instruction with operands from the dice, for the slot at `code`, `at` bytes from its
 * start. 0: not an instruction, or one that is excused. */
unsigned form_make(uint64_t form, struct dice *d, uint64_t code, unsigned at, uint8_t *out,
                   struct x86_insn *insn);

/* A form: the legacy encoding three times out of four, which has fewer than a fourth of them. */
uint64_t form_any(struct dice *d);

/* Why an instruction is never run, or NULL. */
const char *excuse(const uint8_t *code, const struct x86_insn *insn);

/* True if somewhere in the bytes, at whatever boundary, is one that must not be run. */
bool bytes_are_unsafe(const uint8_t *code, unsigned size);

/* A piece of one instruction. False: see form_make. */
bool piece_of_form(struct piece *p, uint64_t form, uint64_t seed, uint64_t code);
/* Of several. */
bool piece_of_forms(struct piece *p, uint64_t seed, uint64_t code);
/* Of random bytes. */
bool piece_of_bytes(struct piece *p, uint64_t seed);

#endif

/* x86 instructions as the model's micro-operations, by a table of mnemonics (rows.c) and what Zydis
 * says of operands:
 *
 *     each operand in memory that is read      LOAD, into a temporary or straight to the register
 *     what the mnemonic's row says             its class, once or several times; wide vectors in as many
 *                                              parts as the machine computes them in
 *     between general and vector registers     CROSS
 *     each operand in memory that is written   STORE_ADDRESS and STORE_DATA
 *
 * Moves of the stack pointer by push, pop, call and return take no micro-operation, as if renaming
 * did them.
 *
 * Uses Zydis: for the collector, never in the profiled program.
 *
 * Context: any thread; nothing is allocated.
 * Ownership: the caller owns everything. */
#ifndef PENUMBRA_CRACK_CRACK_H
#define PENUMBRA_CRACK_CRACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/uop.h"

/* vector_bytes: struct machine's. False: the bytes are no instruction. One that the table has no
 * row for is INSN_UNKNOWN, and one COMPLEX micro-operation beside those of its memory. */
bool crack(const uint8_t *code, size_t available, uint32_t vector_bytes, struct uop_insn *out);

/* The row of a mnemonic, without the v of vector encodings. */
enum crack_kind {
    CRACK_UNKNOWN,
    CRACK_PLAIN,  /* `count` micro-operations of `class` */
    CRACK_MOVE,   /* a load, a store, or a copy of a register that is `class` where it is none */
    CRACK_NONE,   /* takes a slot, and nothing else */
    CRACK_SERIAL, /* serializes */
    CRACK_FENCE,  /* waits for stores */
};
struct crack_row {
    const char *pattern; /* fnmatch(3) */
    uint8_t kind, class, count;
};
const struct crack_row *crack_row_of(const char *mnemonic, bool x87);

#endif

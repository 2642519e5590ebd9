/* Pairs of a store and a later load that may cost more than both by themselves (Burrows et al.,
 * Efficient and Flexible Value Sampling, section 3.2, for x86): the processor runs loads ahead of
 * older stores, and hands a store's bytes to a younger load before they are in the cache. It fails
 * to, or must do it again, where the two
 *
 *      order     touch the same bytes, but the store's address is known only after the load could
 *                have begun
 *      size      overlap, and the load reads bytes that this store does not write
 *      split     touch the same bytes, and one of them crosses a cache line
 *      synonym   do not touch the same bytes, but agree in the low 12 bits of their addresses
 *
 *      store ──────────────── window ───────────────> load
 *      [ bytes written ]                              which of its bytes come from which store:
 *                                                     youngest first, until all are accounted for
 *
 * A pair is left out when the load's address is computed from a register that the store's
 * instruction wrote: then the load waits for it anyway. (Stack pointers moved by push, pop, call
 * and return do not count: the processor follows these without executing anything.)
 *
 * "Known late" is decided by a model: FETCH_WIDTH instructions enter a cycle; each begins when its
 * registers are ready; a load from the first-level cache takes LOAD_CYCLES. Whether the pair really
 * cost time is not known: look at those that take samples.
 *
 * Context: ordinary code; pure but for what it is given.
 * Ownership: the caller owns everything. */
#ifndef PENUMBRA_MODULES_CONFLICT_H
#define PENUMBRA_MODULES_CONFLICT_H

#include <stdbool.h>
#include <stdint.h>

#include "x86/insn.h"

enum conflict_kind {
    CONFLICT_ORDER, CONFLICT_SIZE, CONFLICT_SPLIT, CONFLICT_SYNONYM, CONFLICT_KINDS
};

enum {
    CONFLICT_WINDOW = 128, /* instructions */
    CONFLICT_LINE = 64,    /* bytes of a cache line */
    CONFLICT_ALIAS = 4096,
    CONFLICT_WIDEST = 64,  /* accesses of more bytes, and of unknown size, are not looked at */
};

/* What of an instruction is the same each time it is executed. Sets of registers: bits 0 to 15
 * general, then as conflict.c has them: flags, vectors, ... */
struct conflict_insn {
    uint64_t reads, writes;
    uint8_t latency; /* cycles from its operands to its results, without memory */
    uint8_t count;   /* memory operands, in the order of x86_memory_as */
    struct conflict_operand {
        uint64_t registers; /* that make its address */
        uint16_t size;      /* bytes */
        uint8_t access;     /* X86_MEM_READ, X86_MEM_WRITE */
    } operands[X86_MEMORY_MAX];
};

/* An executed instruction. */
struct conflict_step {
    const struct conflict_insn *insn;
    uint64_t address[X86_MEMORY_MAX];
    bool known[X86_MEMORY_MAX]; /* false: the address was not observed, the operand is ignored */
};

struct conflict {
    uint32_t store, load; /* steps */
    enum conflict_kind kind;
};

/* False if the bytes are no instruction. */
bool conflict_describe(const uint8_t *code, uint32_t length, struct conflict_insn *out);

/* The conflicts among `count` (at most CONFLICT_WINDOW) steps, one after the other, by load; at
 * most `most`. Returns how many. */
uint32_t conflicts_find(const struct conflict_step *steps, uint32_t count, struct conflict *out,
                        uint32_t most);

/* "order", ... */
extern const char *const conflict_names[CONFLICT_KINDS + 1]; /* ends with NULL */

#endif

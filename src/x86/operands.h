/* The operands of one instruction as a list, for tools that look at more than x86_memory_as and
 * x86_definitions_as tell: vector registers, immediates, the order in which an assembler has them.
 *
 * Uses Zydis: for the collector and reports, never in the profiled program.
 *
 * Context: any thread; nothing is allocated.
 * Ownership: the caller owns everything; names are constants. */
#ifndef PENUMBRA_X86_OPERANDS_H
#define PENUMBRA_X86_OPERANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum x86_operand_kind { X86_OPERAND_REGISTER, X86_OPERAND_MEMORY, X86_OPERAND_IMMEDIATE };

struct x86_operand {
    uint8_t kind;     /* enum x86_operand_kind */
    bool visible;     /* written in assembly, not implied by the instruction */
    bool read;
    bool write;
    bool conditional; /* of read or write: perhaps not */
    bool relative;    /* immediate: a distance from the instruction's end */
    bool address_only; /* memory: lea and kin */
    uint16_t bits;    /* width; 0 without a fixed one */
    uint8_t scale;
    const char *name; /* register, or the memory operand's segment ("fs", "ds") */
    const char *base; /* memory: register name or NULL; "rip" */
    const char *index; /* memory: register name (also of a vector) or NULL */
    int64_t value;    /* immediate, or displacement */
};

enum { X86_OPERANDS_MAX = 10 };

/* The operands of the instruction at `code`, visible ones first. Returns how many, -1 if the bytes
 * are no instruction. */
int x86_operands(const uint8_t *code, size_t available, struct x86_operand out[X86_OPERANDS_MAX]);

/* "add", "vpaddd": a constant; NULL if the bytes are no instruction. */
const char *x86_mnemonic(const uint8_t *code, size_t available);

#endif

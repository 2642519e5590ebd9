/* Disassembly of one instruction as text, Intel syntax.
 *
 * Uses Zydis: for the collector and reports, never in the profiled program.
 *
 * Context: any thread; nothing is allocated.
 * Ownership: the caller owns everything. */
#ifndef PENUMBRA_X86_FORMAT_H
#define PENUMBRA_X86_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Names an address: a branch's target, or a rip-relative or absolute operand's. Writes a string
 * ("main+0x12") into `out`, or returns false for the bare address. Called by x86_format, at most
 * once for each operand. */
typedef bool x86_name_address(void *arg, uint64_t address, char *out, size_t size);

enum { X86_TEXT_SIZE = 256 }; /* enough for any instruction, long names being cut */

/* Writes the instruction at `code`, which lies at `address` when it runs, into `out`: "mov rax,
 * [rbx+0x8]", or ".byte 0x06" where the bytes are no instruction. `name` may be NULL. Returns the
 * instruction's length, 1 for ".byte", 0 with an empty text if nothing is available. */
unsigned x86_format(const uint8_t *code, size_t available, uint64_t address, x86_name_address *name,
    void *arg, char *out, size_t size);

#endif

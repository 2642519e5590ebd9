/* Symbols from a jitdump file, which runtimes write for `perf inject` (Linux,
 * tools/perf/Documentation/jitdump-specification.txt):
 *
 *     0  "JiTD" as u32 | 4 version u32, 1 | 8 size of this header u32 | 12 ELF machine u32 | ...
 *     then records:
 *     0  kind u32 | 4 size of the record u32 | 8 time u64
 *        0, code was loaded: 16 pid u32 | 20 tid u32 | 24 vma u64 | 32 address u64 | 40 size u64 |
 *                            48 index u64 | 56 name, NUL | the code
 *        1, code was moved:  16 pid u32 | 20 tid u32 | 24 vma u64 | 32 old address u64 |
 *                            40 new address u64 | 48 size u64 | 56 index u64
 *        others: lines, unwind information, the end: passed over
 *
 * Context: ordinary code. Safe on any file.
 * Ownership: the symbols' owner frees them with their names. */
#ifndef PENUMBRA_COLLECTOR_JITDUMP_H
#define PENUMBRA_COLLECTOR_JITDUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

struct jit_symbols {
    struct profile_jit_symbol *symbols; /* as they were written; of equals the last is valid */
    size_t count, capacity;
};

/* False without memory. */
bool jit_add(struct jit_symbols *m, uint64_t address, uint64_t size, const char *name);

/* Appends what the file says, up to the first record that is not whole: it may still be written. */
void jitdump_read(int fd, uint64_t size, struct jit_symbols *m);

#endif

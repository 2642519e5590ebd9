/* Rows for functions without CFI, from what their instructions do (layout.h).
 *
 *     symbols ──> functions that no FDE covers ──> regions: functions that overlap, together
 *                                                   │
 *     every path from every entry, instruction by instruction; where paths meet, what they agree in
 *                                                   │
 *                           rows, RULE_CODE where the CFA is known and RULE_NONE elsewhere
 *
 * Control that comes from outside of a region, other than to a function as if called, makes the
 * whole region unknown. Jumps through memory are not followed: what only they reach is unknown.
 *
 * Context: ordinary code, any thread. Input is hostile: work and memory are bounded for a region,
 * and for an image.
 * Ownership: the rows are malloc'ed, the caller frees. */
#ifndef PENUMBRA_UNWIND_CODE_H
#define PENUMBRA_UNWIND_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/compile.h"
#include "unwind/table.h"

struct code_span {
    uint32_t lo, hi; /* from text_lo */
};

struct code_rows {
    struct unwind_row *at; /* ascending by pc */
    size_t count, capacity;
};

/* gap[0 .. gaps): what no FDE covers, ascending and disjoint. All rows lie in them, and what
 * follows the last row of a gap is unknown. False: out of memory. */
bool code_rows_make(const struct unwind_code *code, uint64_t text_lo, const struct code_span *gap,
                    size_t gaps, struct code_rows *rows);

#endif

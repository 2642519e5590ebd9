/* Full and partial duplication (Arnold and Ryder, sections 2 and 3.1) of one function's final
 * instructions. partial.h chooses what needs no copy.
 *
 *     checking code          slow paths        duplicates
 *     ─────────────          ──────────        ──────────
 *     check ─ due ─────────> sample ─────────> copy of the block
 *       │                                         │ operations
 *       v                                         │
 *     block                                       v
 *       │                                      copies of what follows
 *       └── back edge ──> check <── back edge ────┘
 *
 * Blocks that are not copied: those where abnormal edges arrive (they are reduced to their label,
 * and the rest is copied), those that only jump through a table, checks themselves. All edges
 * from them into copied blocks have checks, as entries and back edges have.
 *
 * Context: the plugin's pass, after register allocation and scheduling, outside cfg layout mode. */
#ifndef PENUMBRA_COMPILER_DUPLICATE_H
#define PENUMBRA_COMPILER_DUPLICATE_H

/* NULL, or the reason why the function was left as it is. Other reasons, which can be told before
 * anything is changed, are suitable.h's. */
const char *duplicate_function();

#endif

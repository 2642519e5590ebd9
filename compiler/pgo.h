/* gcc's own counters (-fprofile-generate), sampled: they are counted in the duplicate only, so that
 * gcc -fprofile-use reads the files that the program writes as it reads any.
 *
 *     pass `profile` of gcc          after it (pgo_pass)             final instructions
 *     ──────────────────────         ────────────────────            ──────────────────
 *     t1 = __gcov0.f[3];             asm volatile                    checking code: nothing
 *     t2 = t1 + 1;              ──>   ("lock addq $1, __gcov0.f[3]")  duplicate: an event, COUNTER
 *     __gcov0.f[3] = t2;
 *     execv(path, arguments);        __penumbra1_flush();
 *                                    execv(path, arguments);
 *
 * As an asm a counter is no memory access to gcc, which would keep the sum in a register around a
 * loop. Where code is not copied, it stays the instruction that it says, and counts everything. In
 * the duplicate the runtime counts it, by the thread, and adds it up when the module flushes, each
 * as often as it stands for.
 *
 * Context: the compiler's passes. */
#ifndef PENUMBRA_COMPILER_PGO_H
#define PENUMBRA_COMPILER_PGO_H

/* Whether counters are wanted (what=pgo). */
bool pgo_wanted();
/* Before the first function: values are not counted, only edges. */
void pgo_begin();
/* Makes asms of the counters of all functions. */
void pgo_convert_all();
/* Removes from a block what operations count instead: from a copy, and from what was copied. */
void pgo_remove_counted(basic_block block);

#endif

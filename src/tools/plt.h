/* Procedure linkage table stubs: a call of "f@plt" is a call of f.
 *
 *      .plt       jmp [rip + slot]; push n; jmp
 *      .plt.got   jmp [rip + slot]; xchg ax, ax
 *      .plt.sec   endbr64; jmp [rip + slot] (or bnd jmp); a long nop
 *
 * Context: called hooks.
 * Ownership: none. */
#ifndef PENUMBRA_TOOLS_PLT_H
#define PENUMBRA_TOOLS_PLT_H

#include <stdbool.h>
#include <stdint.h>

/* What a call of `to` reaches through a stub; `to` itself if it is none. False: it is one whose
 * function is looked up by this call, and *target is the stub. */
bool plt_target_as(uint64_t to, uint64_t *target);

#endif

/* Functions that look at their own return address: they would find the trampoline's.
 *
 * __builtin_return_address(0) is a load from where CFI says that the return address is:
 *
 *     mov 0x18(%rsp), %rax     where the row of that instruction says CFA = rsp + 0x20
 *     mov 8(%rbp), %rax        where it says CFA = rbp + 16
 *
 * So is whatever else reads or writes it. Stubs of the procedure linkage table hand it on, and who
 * jumps to one: dlsym or setjmp may be behind it. The function's bytes are searched for such
 * operands and jumps, once a function. It is not a disassembly: what looks like one and is none
 * costs a mark, and no more.
 *
 * Context: signal handlers, and the trampoline. About 500 bytes of stack.
 * Ownership: none. */
#ifndef PENUMBRA_RUNTIME_TRAMPOLINE_OWN_ADDRESS_H
#define PENUMBRA_RUNTIME_TRAMPOLINE_OWN_ADDRESS_H

#include <stdbool.h>

#include "unwind/unwind.h"

/* In a process that the spool is new to. */
void own_address_init(void);
/* Whether the function of the frame `key` may look at its return address: it is one of those that
 * are known to (forbidden.h), or seems to, or that is not known. */
bool own_address_read_as(const struct unwind_index *index, uint64_t key);

#endif

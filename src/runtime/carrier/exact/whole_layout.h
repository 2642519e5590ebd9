/* Numbers that whole_entry.S shares with C. whole.c asserts each of them.
 *
 * Context: constants only; also read by the assembler. */
#ifndef PENUMBRA_RUNTIME_CARRIER_EXACT_WHOLE_LAYOUT_H
#define PENUMBRA_RUNTIME_CARRIER_EXACT_WHOLE_LAYOUT_H

#define UCONTEXT_RSP 160 /* of a ucontext_t: gregs[REG_RSP] */
#define WHOLE_STACK_SIZE 65536 /* bytes below stack_top that are an engine stack */

#define SYS_RT_SIGPROCMASK 14
#define SYS_RT_SIGRETURN 15
#define SYS_EXIT 60
#define SYS_ARCH_PRCTL 158
#define ARCH_GET_GS 0x1004

#endif

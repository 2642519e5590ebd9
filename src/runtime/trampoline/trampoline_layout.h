/* What trampoline.S and trampoline.c agree on.
 *
 * An entry, 16-byte aligned (TRAMPOLINE_STRIDE):
 *
 *     +0   e8 rel32      call trampoline_common
 *     +5   cc cc cc
 *     +8   distance      from here to the entry's struct trampoline_data, as a 64-bit number. Whoever
 *                        has the entry's address finds the true return address, in C and in DWARF.
 *
 * The stack in trampoline_common, from where a marked procedure has returned:
 *
 *     S + 8   rsp when the procedure has returned: the caller's frame, untouched
 *     S       the replaced return address was here. The entry's call puts entry + 5 here;
 *             trampoline_fire_as puts the true return address here, for the last ret
 *     S - 8   rax
 *     S - 16  flags
 *     S - 24  rcx, rdx, rsi, rdi, r8, r9, r10, r11
 *     S - 88  rbp     <── rbp: S is at TRAMPOLINE_SLOT(%rbp)
 *
 * The compiler keeps vector, mask and x87 registers and MXCSR as they are: trampoline_fire_as, and
 * what it calls, is compiled for general registers only, and keeps rbx and r12 to r15 as any
 * function.
 *
 * Context: constants only, for C and assembly. */
#ifndef PENUMBRA_RUNTIME_TRAMPOLINE_TRAMPOLINE_LAYOUT_H
#define PENUMBRA_RUNTIME_TRAMPOLINE_TRAMPOLINE_LAYOUT_H

#define TRAMPOLINE_ENTRIES 4096
#define TRAMPOLINE_STRIDE 16
#define TRAMPOLINE_DISTANCE 8
#define TRAMPOLINE_DATA_SIZE 32
#define TRAMPOLINE_DATA_REAL 0
#define TRAMPOLINE_SLOT 88

#endif

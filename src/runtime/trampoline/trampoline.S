/* Where marked procedures return to. trampoline_layout.h has the pictures. */
#include "runtime/trampoline/trampoline_layout.h"

        .text

/* To an unwinder an entry is a frame of no size between the marked procedure and its true caller:
 *
 *     CFA = rsp            the caller's stack pointer is what the marked procedure left
 *     rip = *real - 1      real is found from the entry's own address, in any thread
 *
 * libgcc knows the frame that handles an exception by its CFA, and the entry's would be taken for
 * its caller's. So the entry is a signal's frame: of what such a one has interrupted libgcc takes
 * the CFA less one (its uw_identify_context), and the address as it is, not as one after
 * a call. (An odd CFA here would be distinct, too, but it is the caller's stack pointer to
 * libunwind.)
 *
 * Unwinders look up the byte before a return address: so the first entry has a byte before it. */
        .balign TRAMPOLINE_STRIDE
        .type trampoline_pad, @function
trampoline_pad:
        .cfi_startproc
        .cfi_signal_frame
        .cfi_def_cfa %rsp, 0
        /* DW_CFA_val_expression rip: breg16 (rip) 0; const1s -16; and; plus_uconst 8; the same once more;
         * deref; plus; deref; lit1; minus. (valgrind's reader knows no dup.) */
        .cfi_escape 0x16, 16, 19
        .rept 2
        .cfi_escape 0x80, 0, 0x09, 0xf0, 0x1a, 0x23, TRAMPOLINE_DISTANCE
        .endr
        .cfi_escape 0x06, 0x22, 0x06, 0x31, 0x1c
        .fill TRAMPOLINE_STRIDE, 1, 0xcc
        .size trampoline_pad, . - trampoline_pad

        .globl trampoline_entries
        .hidden trampoline_entries
        .hidden trampoline_data
        .type trampoline_entries, @function
trampoline_entries:
        .set entry, 0
        .rept TRAMPOLINE_ENTRIES
        call trampoline_common
        .fill TRAMPOLINE_DISTANCE - 5, 1, 0xcc
        .quad trampoline_data + entry * TRAMPOLINE_DATA_SIZE - .
        .set entry, entry + 1
        .endr
        .cfi_endproc
        .size trampoline_entries, . - trampoline_entries

        .hidden trampoline_fire_as
        .type trampoline_common, @function
trampoline_common:
        .cfi_startproc
        pushq %rax
        .cfi_adjust_cfa_offset 8
        pushfq
        .cfi_adjust_cfa_offset 8
        .irp register, rcx, rdx, rsi, rdi, r8, r9, r10, r11
        pushq %\register
        .cfi_adjust_cfa_offset 8
        .endr
        pushq %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %rbp, 0
        movq %rsp, %rbp
        .cfi_def_cfa_register %rbp
        cld                             /* hand-written code may return with it set */
        andq $-16, %rsp
        leaq TRAMPOLINE_SLOT(%rbp), %rdi
        call trampoline_fire_as
        movq %rbp, %rsp
        .cfi_def_cfa_register %rsp
        popq %rbp
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbp
        .irp register, r11, r10, r9, r8, rdi, rsi, rdx, rcx
        popq %\register
        .cfi_adjust_cfa_offset -8
        .endr
        popfq
        .cfi_adjust_cfa_offset -8
        popq %rax
        .cfi_adjust_cfa_offset -8
        ret
        .cfi_endproc
        .size trampoline_common, . - trampoline_common
        .globl trampoline_end
        .hidden trampoline_end
trampoline_end:

        .section .note.GNU-stack, "", @progbits

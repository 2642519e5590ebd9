/* Each function puts the true return address back (nonlocal.c) and jumps to the real one, with all
 * arguments in place and without a frame of its own: the real one sees its caller as without us.
 * Samples that are taken between the two set no trampoline.
 *
 *     rsp + 56   the caller's return address
 *     rsp        r9, r8, rcx, rdx, rsi, rdi, and a word that aligns the stack */
#include "runtime/interpose/nonlocal_names.h"

        .text
        .macro nonlocal number, name
        .globl \name
        .type \name, @function
\name:
        .cfi_startproc
        endbr64
        subq $8, %rsp
        .cfi_adjust_cfa_offset 8
        .irp register, rdi, rsi, rdx, rcx, r8, r9
        pushq %\register
        .cfi_adjust_cfa_offset 8
        .endr
        movq %rdi, %rsi
        movl $\number, %edi
        call nonlocal_prepare
        .irp register, r9, r8, rcx, rdx, rsi, rdi
        popq %\register
        .cfi_adjust_cfa_offset -8
        .endr
        addq $8, %rsp
        .cfi_adjust_cfa_offset -8
        jmp *%rax
        .cfi_endproc
        .size \name, . - \name
        .endm

#define NONLOCAL(number, name) nonlocal number, name;
        .hidden nonlocal_prepare
        .globl nonlocal_begin
        .hidden nonlocal_begin
nonlocal_begin:
        NONLOCAL_NAMES(NONLOCAL)
        .globl nonlocal_end
        .hidden nonlocal_end
nonlocal_end:

        .section .note.GNU-stack, "", @progbits

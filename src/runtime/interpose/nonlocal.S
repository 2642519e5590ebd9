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
        leaq 64(%rsp), %rdx
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


/* Those that save the mask note what the program believes of it, and jump to the real one in the same way. __sigsetjmp saves
 * none where its second argument is 0: no word is written then, and it goes straight to the real one, since programs call it
 * some times a query, or an instruction that they interpret. */
        .macro saving number, name
        .globl \name
        .type \name, @function
\name:
        .cfi_startproc
        endbr64
        .if \number == 0
        testl %esi, %esi
        jnz 1f
        movq nonlocal_saves+NONLOCAL_PLACE_FOUND(%rip), %rax
        testq %rax, %rax
        jz 1f
        jmp *%rax
1:
        .endif
        pushq %rdi
        .cfi_adjust_cfa_offset 8
        pushq %rsi
        .cfi_adjust_cfa_offset 8
        subq $8, %rsp
        .cfi_adjust_cfa_offset 8
        movl %esi, %edx
        movq %rdi, %rsi
        movl $\number, %edi
        call nonlocal_save
        addq $8, %rsp
        .cfi_adjust_cfa_offset -8
        popq %rsi
        .cfi_adjust_cfa_offset -8
        popq %rdi
        .cfi_adjust_cfa_offset -8
        jmp *%rax
        .cfi_endproc
        .size \name, . - \name
        .endm
        .hidden nonlocal_save, nonlocal_saves
        saving 0, __sigsetjmp
        saving 1, setjmp

        .section .note.GNU-stack, "", @progbits

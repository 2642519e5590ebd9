/* dlsym, dlopen and dlmopen, whose results depend on their caller's address: what libraries loaded
 * meanwhile allocate is looked after first, and then libc's function is jumped to, as if it had
 * been called. */

        .text
        .macro PASS name, real
        .globl \name
        .type \name, @function
        .hidden \real
\name:
        .cfi_startproc
        endbr64
        pushq %rdi
        .cfi_adjust_cfa_offset 8
        pushq %rsi
        .cfi_adjust_cfa_offset 8
        pushq %rdx
        .cfi_adjust_cfa_offset 8
        call \real
        popq %rdx
        .cfi_adjust_cfa_offset -8
        popq %rsi
        .cfi_adjust_cfa_offset -8
        popq %rdi
        .cfi_adjust_cfa_offset -8
        jmpq *%rax
        .cfi_endproc
        .size \name, . - \name
        .endm

        PASS dlsym, heap_dlsym
        PASS dlopen, heap_dlopen
        PASS dlmopen, heap_dlmopen

        .section .note.GNU-stack, "", @progbits

/* vfork() as libc makes it (sysdeps/unix/sysv/linux/x86_64/vfork.S): the return address is in a register while the child, which
 * returns first, uses the stack.
 *
 *     rsp      the caller's return address; in rdi during the system call */
#include <sys/syscall.h>

        .text
        .globl vfork
        .type vfork, @function
        .hidden vfork_begins
        .hidden vfork_child
        .hidden vfork_parent
        .hidden call_failed
vfork:
        .cfi_startproc
        endbr64
        subq $8, %rsp
        .cfi_adjust_cfa_offset 8
        call vfork_begins
        addq $8, %rsp
        .cfi_adjust_cfa_offset -8
        popq %rdi
        .cfi_adjust_cfa_offset -8
        .cfi_register %rip, %rdi
        movl $SYS_vfork, %eax
        syscall
        pushq %rdi
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %rip, 0
        pushq %rax
        .cfi_adjust_cfa_offset 8
        testq %rax, %rax
        jnz 1f
        call vfork_child
        popq %rax
        .cfi_adjust_cfa_offset -8
        ret
        .cfi_adjust_cfa_offset 8
1:      movl %eax, %edi
        call vfork_parent
        popq %rax
        .cfi_adjust_cfa_offset -8
        cmpq $-4095, %rax
        jae 2f
        ret
2:      movq %rax, %rdi
        jmp call_failed
        .cfi_endproc
        .size vfork, . - vfork

        .section .note.GNU-stack, "", @progbits

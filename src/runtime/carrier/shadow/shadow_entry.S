/* How a shadow's handlers of faults return, and how it parts from its guard. */
#include <asm/unistd.h>

/* clone's flags: CLONE_VM (linux/sched.h, which is C), and SIGCHLD at the child's end. */
#define IN_THE_SAME_MEMORY (0x100 | 17)

        .text
        .globl  shadow_restorer
        .hidden shadow_restorer
        .type   shadow_restorer, @function
shadow_restorer:
        .cfi_startproc
        .cfi_undefined rip
        movl    $__NR_rt_sigreturn, %eax
        syscall
        ud2
        .cfi_endproc
        .size   shadow_restorer, . - shadow_restorer

/* void shadow_split(void *stack, void (*wait)(long)): the child goes on behind the call, on this stack. The caller
 * does not touch it any more: it goes on in wait(pid, or an error) on the other one, and never returns. The kernel keeps
 * all registers but rax, rcx and r11, and without CLONE_SETTLS and CLONE_PARENT_SETTID does not look at r8 and rdx. */
        .globl  shadow_split
        .hidden shadow_split
        .type   shadow_split, @function
shadow_split:
        .cfi_startproc
        movq    %rdi, %r9
        movq    %rsi, %r8
        movl    $IN_THE_SAME_MEMORY, %edi
        movq    %rsp, %rsi
        xorl    %edx, %edx
        xorl    %r10d, %r10d
        movl    $__NR_clone, %eax
        syscall
        testq   %rax, %rax
        jnz     1f
        ret
1:      .cfi_undefined rip
        movq    %r9, %rsp
        movq    %rax, %rdi
        call    *%r8
        ud2
        .cfi_endproc
        .size   shadow_split, . - shadow_split

        .section .note.GNU-stack, "", @progbits

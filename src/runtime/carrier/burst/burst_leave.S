/* The end of a burst, docs/engine.md, "Burst": registers, vector state, mask and rip in one step.
 *
 * _Noreturn void burst_leave(void *ucontext, void *fpstate, uint64_t features)
 *
 * fpstate: the frame's xsave area, 64-byte aligned, its header all 0. features: the components that it
 * has room for; 0: that of fxsave. GS is the program's already. All signals are blocked, and the
 * stack pointer below is that of no stack. */
#include <asm/unistd.h>

        .text
        .globl  burst_leave
        .hidden burst_leave
        .type   burst_leave, @function
burst_leave:
        .cfi_startproc
        .cfi_undefined rip
        testq   %rdx, %rdx
        jz      1f
        movl    %edx, %eax
        shrq    $32, %rdx
        xsave64 (%rsi)
        jmp     2f
1:      fxsave64 (%rsi)
2:      movq    %rdi, %rsp      /* where the kernel's frame has its ucontext */
        movl    $__NR_rt_sigreturn, %eax
        syscall
        ud2
        .cfi_endproc
        .size   burst_leave, . - burst_leave

        .section .note.GNU-stack, "", @progbits

/* libc's syscall() for programs that execute another one by it: those two calls go to exec.c, where
 * nothing of ours is left pending for the new image; for those that enter a sandbox (libseccomp),
 * prctl's among them: process.c; and for those that set a signal's action (Chromium, between fork
 * and exec), a mask or a signal stack, ask what is pending, wait for it, or have a mask while they
 * wait: signals.c, signals_mask.c, signals_waits.c, memory.c.
 * All others go on at syscall_onward, as do those that these files make in the end. */
#include <sys/syscall.h>

#include "runtime/interpose/syscall_layout.h"

        .text
        .globl syscall
        .type syscall, @function
        .hidden exec_by_number
        .hidden call_failed
        .hidden syscall_place
        .hidden seccomp_by_number
        .hidden prctl_by_number
        .hidden sigaction_by_number
        .hidden sigprocmask_by_number
        .hidden sigpending_by_number
        .hidden sigaltstack_by_number
        .hidden sigtimedwait_by_number
        .hidden masked_by_number
syscall:
        .cfi_startproc
        endbr64
        cmpq $SYS_execve, %rdi
        je exec_by_number
        cmpq $SYS_execveat, %rdi
        je exec_by_number
        cmpq $SYS_seccomp, %rdi
        je seccomp_by_number
        cmpq $SYS_prctl, %rdi
        je prctl_by_number
        cmpq $SYS_rt_sigaction, %rdi
        je sigaction_by_number
        cmpq $SYS_rt_sigprocmask, %rdi
        je sigprocmask_by_number
        cmpq $SYS_rt_sigpending, %rdi
        je sigpending_by_number
        cmpq $SYS_sigaltstack, %rdi
        je sigaltstack_by_number
        cmpq $SYS_rt_sigsuspend, %rdi
        je masked_by_number
        cmpq $SYS_ppoll, %rdi
        je masked_by_number
        cmpq $SYS_pselect6, %rdi
        je masked_by_number
        cmpq $SYS_epoll_pwait, %rdi
        je masked_by_number
        cmpq $SYS_epoll_pwait2, %rdi
        je masked_by_number
        cmpq $SYS_io_uring_enter, %rdi
        je masked_by_number
        cmpq $SYS_rt_sigtimedwait, %rdi
        je sigtimedwait_by_number
        jmp syscall_onward
        .cfi_endproc
        .size syscall, . - syscall

/* The call, by libc, where a filter or PR_SET_SYSCALL_USER_DISPATCH may want it to be made, and
 * before that has been looked for (process.c) here, just as libc makes it. Both without a frame:
 * the child of a vfork returns into its caller's. The red zone says which call it is
 * (syscall_layout.h). */
        .globl syscall_onward
        .hidden syscall_onward
        .type syscall_onward, @function
syscall_onward:
        .cfi_startproc
        movq %rdi, -SYSCALL_NUMBER(%rsp)
        movabsq $SYSCALL_MARK, %rax
        xorq %rdi, %rax
        xorq (%rsp), %rax
        movq %rax, -SYSCALL_CHECK(%rsp)
        movq syscall_place+SYSCALL_PLACE_FOUND(%rip), %r11
        testq %r11, %r11
        jz 2f
        jmpq *%r11
2:
        movq %rdi, %rax
        movq %rsi, %rdi
        movq %rdx, %rsi
        movq %rcx, %rdx
        movq %r8, %r10
        movq %r9, %r8
        movq 8(%rsp), %r9
        syscall
        cmpq $-4095, %rax
        jae 1f
        ret
1:      movq %rax, %rdi
        jmp call_failed
        .cfi_endproc
        .size syscall_onward, . - syscall_onward

        .section .note.GNU-stack, "", @progbits

/* libc's syscall() for programs that execute another one by it: those two calls go to exec.c, where
 * nothing of ours is left pending for the new image; for those that enter a sandbox (libseccomp),
 * prctl's among them: process.c; and for those that set a signal's action (Chromium, between fork
 * and exec), a mask or a signal stack, ask what is pending, or wait for it: signals.c,
 * signals_mask.c, signals_waits.c, memory.c.
 * All others are made by libc, where a filter or PR_SET_SYSCALL_USER_DISPATCH may want them to be
 * made, and before that has been looked for (process.c) here, just as libc makes them. Both without
 * a frame: the child of a vfork returns into its caller's. */
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
        .hidden sigsuspend_by_number
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
        je sigsuspend_by_number
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
        .size syscall, . - syscall

        .section .note.GNU-stack, "", @progbits

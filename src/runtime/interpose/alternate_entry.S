/* Changes of stacks, docs/signal-stacks.md. */

        .text
/* _Noreturn void alternate_go(uint64_t handler, int signal, siginfo_t *info, void *context, uint64_t frame): as the kernel enters
 * a handler, its frame (sigsafe/signal_frame.h) at the stack pointer. */
        .globl  alternate_go
        .hidden alternate_go
        .type   alternate_go, @function
alternate_go:
        .cfi_startproc
        movq    %r8, %rsp       /* the return address is the restorer */
        movq    %rdi, %r11
        movl    %esi, %edi
        movq    %rdx, %rsi
        movq    %rcx, %rdx
        xorl    %eax, %eax
        jmpq    *%r11
        .cfi_endproc
        .size   alternate_go, . - alternate_go

/* void alternate_call(void (*run)(void *), void *argument, uint64_t top):
 *
 *      the caller's stack                  the other one
 *        return address                      top, 16-byte aligned
 *        rbp  <── rbp                          return address of run's call */
        .globl  alternate_call
        .hidden alternate_call
        .type   alternate_call, @function
alternate_call:
        .cfi_startproc
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register rbp
        movq    %rdi, %rax
        movq    %rsi, %rdi
        movq    %rdx, %rsp
        callq   *%rax
        movq    %rbp, %rsp
        popq    %rbp
        .cfi_def_cfa rsp, 8
        ret
        .cfi_endproc
        .size   alternate_call, . - alternate_call

        .section .note.GNU-stack, "", @progbits

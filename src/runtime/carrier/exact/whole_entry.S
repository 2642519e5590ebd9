/* Where the kernel enters and leaves the engine's signals and threads. No vector register is touched:
 * a program's handler finds them as the kernel left them.
 *
 * Stack at whole_signal_entry, on the stack that the kernel chose:
 *
 *      rsp + 0   restorer (the program's)          frame of the kernel
 *          + 8   ucontext                          <- rdx
 *                siginfo                           <- rsi
 *      rsp - 16  the handler's mask, for whole_signal_arrived_as
 */
#include "engine/thread_layout.h"
#include "runtime/carrier/exact/whole_layout.h"

#define FLAGS_OURS 0x202

        .text
        .hidden whole_signal_entry, whole_resumed, whole_sigreturn_at_as, whole_clone_as
        .hidden whole_take_as, whole_syscall_at_as, whole_exit_as, whole_text_begin, whole_text_end

        .globl  whole_text_begin
whole_text_begin:

/* rdi: number, rsi: siginfo, rdx: ucontext. All other registers have been saved by the kernel. */
        .globl  whole_signal_entry
        .type   whole_signal_entry, @function
whole_signal_entry:
        .cfi_startproc
        .cfi_undefined rip
        endbr64
        movq    %rdi, %r12
        movq    %rsi, %r13
        movq    %rdx, %r14
        movq    %rsp, %r15
        subq    $24, %rsp
        /* GS base, to rbx. */
        cmpb    $0, whole_fsgsbase(%rip)
        je      1f
        rdgsbase %rbx
        jmp     2f
1:      movl    $SYS_ARCH_PRCTL, %eax
        movl    $ARCH_GET_GS, %edi
        movq    %rsp, %rsi
        syscall
        movq    (%rsp), %rbx
2:      testq   %rbx, %rbx
        jz      native
        /* Block what is not a fault; the mask that the kernel made for the handler goes to the stack. */
        movl    $SYS_RT_SIGPROCMASK, %eax
        xorl    %edi, %edi
        leaq    whole_asynchronous(%rip), %rsi
        movq    %rsp, %rdx
        movl    $8, %r10d
        syscall
        .globl  whole_signal_blocked
        .hidden whole_signal_blocked
whole_signal_blocked:
        cmpl    $0, whole_left_count(%rip)
        jne     foreign
ours:   movq    (%rsp), %rcx
        /* The engine's stack, below what is in use of it. */
        movq    ENGINE_T_STACK_TOP(%rbx), %rax
        leaq    -WHOLE_STACK_SIZE(%rax), %r8
        movq    %r15, %r9
        subq    %r8, %r9
        cmpq    $WHOLE_STACK_SIZE, %r9
        jb      4f                      /* the frame itself is there */
        movq    UCONTEXT_RSP(%r14), %r9
        leaq    -256(%r9), %r10
        subq    %r8, %r9
        cmpq    $WHOLE_STACK_SIZE, %r9
        cmovbq  %r10, %rax              /* the interrupted code uses it */
        movq    %rax, %rsp
4:      andq    $-16, %rsp
        pushq   $FLAGS_OURS             /* no alignment check: the kernel leaves it on */
        popfq
        movq    %r12, %rdi
        movq    %r13, %rsi
        movq    %r14, %rdx
        movq    %rbx, %r8
        call    whole_signal_arrived_as
        /* The interrupted context goes on. */
        leaq    8(%r15), %rsp
        movl    $SYS_RT_SIGRETURN, %eax
        syscall
        ud2

        /* Some thread has left the engine and may use GS itself. */
foreign:
        movq    %rbx, %rdi
        subq    $8, %rsp
        andq    $-16, %rsp
        call    whole_owns_as
        leaq    -24(%r15), %rsp
        testl   %eax, %eax
        jnz     ours
        movl    $SYS_RT_SIGPROCMASK, %eax
        movl    $2, %edi                /* SIG_SETMASK */
        movq    %rsp, %rsi
        xorl    %edx, %edx
        movl    $8, %r10d
        syscall
native: movl    %r12d, %edi
        andq    $-16, %rsp
        call    whole_signal_handler_as
        movq    %r12, %rdi
        movq    %r13, %rsi
        movq    %r14, %rdx
        movq    %r15, %rsp
        jmpq    *%rax
        .globl  whole_signal_end
        .hidden whole_signal_end
whole_signal_end:
        .cfi_endproc
        .size   whole_signal_entry, . - whole_signal_entry

/* bool whole_take_as(struct engine_thread *t): returns true under the engine. */
        .globl  whole_take_as
        .type   whole_take_as, @function
whole_take_as:
        .cfi_startproc
        movq    (%rsp), %rax
        leaq    8(%rsp), %rcx
        movq    %rax, ENGINE_T_RIP(%rdi)
        movq    $1, ENGINE_T_GPR+0(%rdi)
        movq    %rbx, ENGINE_T_GPR+24(%rdi)
        movq    %rcx, ENGINE_T_GPR+32(%rdi)
        movq    %rbp, ENGINE_T_GPR+40(%rdi)
        movq    %r12, ENGINE_T_GPR+96(%rdi)
        movq    %r13, ENGINE_T_GPR+104(%rdi)
        movq    %r14, ENGINE_T_GPR+112(%rdi)
        movq    %r15, ENGINE_T_GPR+120(%rdi)
        pushfq
        .cfi_adjust_cfa_offset 8
        popq    ENGINE_T_RFLAGS(%rdi)
        .cfi_adjust_cfa_offset -8
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    engine_start_as
        ud2
        .cfi_endproc
        .size   whole_take_as, . - whole_take_as

/* rdi: a copy of the program's frame, at its ucontext. The kernel restores everything from it. */
        .globl  whole_sigreturn_at_as
        .type   whole_sigreturn_at_as, @function
whole_sigreturn_at_as:
        .cfi_startproc
        movq    %rdi, %rsp
        movl    $SYS_RT_SIGRETURN, %eax
        syscall
        ud2
        .cfi_endproc
        .size   whole_sigreturn_at_as, . - whole_sigreturn_at_as

/* Where that leads: all registers but rip are the program's, signals are blocked. */
        .globl  whole_resumed
        .type   whole_resumed, @function
whole_resumed:
        .cfi_startproc
        .cfi_undefined rip
        movq    %rax, %gs:ENGINE_T_GPR+0
        movq    %rcx, %gs:ENGINE_T_GPR+8
        movq    %rdx, %gs:ENGINE_T_GPR+16
        movq    %rbx, %gs:ENGINE_T_GPR+24
        movq    %rsp, %gs:ENGINE_T_GPR+32
        movq    %rbp, %gs:ENGINE_T_GPR+40
        movq    %rsi, %gs:ENGINE_T_GPR+48
        movq    %rdi, %gs:ENGINE_T_GPR+56
        movq    %r8, %gs:ENGINE_T_GPR+64
        movq    %r9, %gs:ENGINE_T_GPR+72
        movq    %r10, %gs:ENGINE_T_GPR+80
        movq    %r11, %gs:ENGINE_T_GPR+88
        movq    %r12, %gs:ENGINE_T_GPR+96
        movq    %r13, %gs:ENGINE_T_GPR+104
        movq    %r14, %gs:ENGINE_T_GPR+112
        movq    %r15, %gs:ENGINE_T_GPR+120
        movq    %gs:ENGINE_T_STACK_TOP, %rsp
        pushfq
        popq    %gs:ENGINE_T_RFLAGS
        pushq   $FLAGS_OURS             /* no trap flag */
        popfq
        movq    %gs:ENGINE_T_SELF, %rdi
        call    whole_resumed_as
        ud2
        .cfi_endproc
        .size   whole_resumed, . - whole_resumed

/* long whole_syscall_at_as(uint64_t rsp, long number, long a, long b, long c)
 * A system call that looks at the stack pointer. */
        .globl  whole_syscall_at_as
        .type   whole_syscall_at_as, @function
whole_syscall_at_as:
        .cfi_startproc
        pushq   %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset rbx, 0
        movq    %rsp, %rbx
        .cfi_def_cfa_register rbx
        movq    %rdi, %r9
        movq    %rsi, %rax
        movq    %rdx, %rdi
        movq    %rcx, %rsi
        movq    %r8, %rdx
        movq    %r9, %rsp
        syscall
        movq    %rbx, %rsp
        .cfi_def_cfa_register rsp
        popq    %rbx
        .cfi_adjust_cfa_offset -8
        .cfi_restore rbx
        ret
        .cfi_endproc
        .size   whole_syscall_at_as, . - whole_syscall_at_as

/* long whole_clone_as(const uint64_t *gpr, struct engine_thread *child)
 * clone, clone3, fork or vfork with the program's registers, signals blocked. A child that shares
 * our memory goes on at whole_thread_begun_as(child) on its own engine stack; one that has a copy of
 * it returns 0 from here, on its copy of this stack (child: NULL then). */
        .globl  whole_clone_as
        .type   whole_clone_as, @function
whole_clone_as:
        .cfi_startproc
        pushq   %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset rbx, 0
        pushq   %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset rbp, 0
        movq    %rsi, %rbx
        movq    %rsp, %rbp
        .cfi_def_cfa_register rbp
        movq    %rdi, %rax
        movq    56(%rax), %rdi
        movq    48(%rax), %rsi
        movq    16(%rax), %rdx
        movq    80(%rax), %r10
        movq    64(%rax), %r8
        movq    72(%rax), %r9
        movq    (%rax), %rax
        syscall
        testq   %rax, %rax
        jnz     1f
        testq   %rbx, %rbx
        jnz     2f
1:      movq    %rbp, %rsp              /* a forked child may have been given another stack */
        popq    %rbp
        .cfi_def_cfa rsp, 16
        popq    %rbx
        .cfi_def_cfa rsp, 8
        ret
2:      .cfi_undefined rip
        movq    ENGINE_T_STACK_TOP(%rbx), %rsp
        xorl    %ebp, %ebp
        movq    %rbx, %rdi
        call    whole_thread_begun_as
        ud2
        .cfi_endproc
        .size   whole_clone_as, . - whole_clone_as

/* void whole_exit_as(uint32_t *ended, long status)
 * Nothing of the thread's area is used after *ended is set: another thread may free it. */
        .globl  whole_exit_as
        .type   whole_exit_as, @function
whole_exit_as:
        .cfi_startproc
        movq    %rdi, %rcx
        movq    %rsi, %rdi
        movl    $SYS_EXIT, %eax
        movl    $1, (%rcx)
        syscall
        ud2
        .cfi_endproc
        .size   whole_exit_as, . - whole_exit_as

        .globl  whole_text_end
whole_text_end:
        .section .note.GNU-stack, "", @progbits

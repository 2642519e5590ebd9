/* Between translated code and the engine's C code. thread_layout.h has the offsets from GS.
 *
 *      translated code ──jmp──> engine_exit ──> engine_dispatch_as ──┐
 *             ^        ──jmp──> engine_lookup_miss ─> engine_lookup_as ─┤  (on the engine's stack)
 *             │                                                      v
 *             └── registers <── mask, pending <── rsp <── flags <── act
 *
 * No flag of the program may change before it is saved or after it is loaded: conditions are
 * decided by jrcxz. The order on the way in, and on the way out, is explained in docs/engine.md,
 * "Exact: signals". From engine_window_begin to engine_window_end the stack pointer is the
 * program's and its state is what the thread area holds. */
#include <asm/unistd.h>

#include "engine/thread_layout.h"

#define GPR(n) %gs:(ENGINE_T_GPR + 8 * n)
#define STATE_CACHE 1
#define STATE_INSIDE 2
#define FLAGS_NOT_OURS 0x44500 /* TF, DF, NT, AC: C code runs without them */
#define FLAGS_OURS 0x202

        .macro entry name
        .globl  \name
        .hidden \name
        .type   \name, @function
\name:
        .cfi_startproc
        .cfi_undefined rip      /* the outermost frame: nobody called */
        .endm

        .macro end name
        ud2
        .cfi_endproc
        .size   \name, . - \name
        .endm

        .macro label name
        .globl  \name
        .hidden \name
\name:
        .endm

        .macro save_all_but_rcx_r11
        movq    %rax, GPR(0)
        movq    %rdx, GPR(2)
        movq    %rbx, GPR(3)
        movq    %rsp, GPR(4)
        movq    %rbp, GPR(5)
        movq    %rsi, GPR(6)
        movq    %rdi, GPR(7)
        movq    %r8, GPR(8)
        movq    %r9, GPR(9)
        movq    %r10, GPR(10)
        movq    %r12, GPR(12)
        movq    %r13, GPR(13)
        movq    %r14, GPR(14)
        movq    %r15, GPR(15)
        .endm

        .macro load_all_but_rsp
        movq    GPR(0), %rax
        movq    GPR(1), %rcx
        movq    GPR(2), %rdx
        movq    GPR(3), %rbx
        movq    GPR(5), %rbp
        movq    GPR(6), %rsi
        movq    GPR(7), %rdi
        movq    GPR(8), %r8
        movq    GPR(9), %r9
        movq    GPR(10), %r10
        movq    GPR(11), %r11
        movq    GPR(12), %r12
        movq    GPR(13), %r13
        movq    GPR(14), %r14
        .endm

/* Onto the engine's stack; flags stay. Uses rax, rbx, rcx, rdx, rsi, rdi, r10, and r11 where
 * signals must be blocked first because the program is on its alternate stack. */
        .macro to_engine_stack
        movq    %gs:ENGINE_T_ALT_SIZE, %rcx
        jrcxz   .Lswitch\@
        lahf
        seto    %al
        movl    %eax, %ebx
        movq    %rsp, %rdx
        subq    %gs:ENGINE_T_ALT_LO, %rdx
        cmpq    %rcx, %rdx
        jae     .Lrestore\@
        cmpl    $0, %gs:ENGINE_T_MASK_CHANGED
        jne     .Lrestore\@
        movq    %gs:ENGINE_T_SELF, %rdx
        addq    $ENGINE_T_MASK_BEFORE, %rdx
        leaq    all_signals(%rip), %rsi
        movl    $2, %edi                /* SIG_SETMASK */
        movl    $8, %r10d
        movl    $__NR_rt_sigprocmask, %eax
        syscall
        cmpl    $0, %gs:ENGINE_T_MASK_CHANGED /* a signal that came meanwhile has been put off: then all were blocked before */
        jne     .Lrestore\@
        movq    %gs:ENGINE_T_MASK_BEFORE, %rdx
        movq    %rdx, %gs:ENGINE_T_MASK
        movl    $1, %gs:ENGINE_T_MASK_CHANGED
.Lrestore\@:
        movl    %ebx, %eax
        addb    $127, %al
        sahf
.Lswitch\@:
        movq    %gs:ENGINE_T_STACK_TOP, %rsp
        .endm

/* The program's flags to the thread area; C code's flags. */
        .macro save_flags
        pushfq
        popq    %gs:ENGINE_T_RFLAGS
        testl   $FLAGS_NOT_OURS, %gs:ENGINE_T_RFLAGS
        jz      .Lours\@
        pushq   $FLAGS_OURS
        popfq
.Lours\@:
        .endm

/* The program's signal mask, now that the stack pointer is its own: until mask_changed is 0 the mask in the thread
 * area counts, whatever the kernel's is. Flags stay; uses rax, rcx, rdx,
 * rsi, rdi, r10, r11. */
        .macro restore_mask
        movl    %gs:ENGINE_T_MASK_CHANGED, %ecx
        jrcxz   .Lmask\@
        movq    %gs:ENGINE_T_SELF, %rsi
        leaq    ENGINE_T_MASK(%rsi), %rsi
        movl    $0, %edx
        movl    $2, %edi
        movl    $8, %r10d
        movl    $__NR_rt_sigprocmask, %eax
        syscall
        movl    $0, %gs:ENGINE_T_MASK_CHANGED
.Lmask\@:
        .endm

        .section .rodata
        .align  8
all_signals:
        .quad   -1

        .text
label engine_text_begin

/* An exit of translated code: gs:[exit] says which. All registers are the program's. */
entry engine_exit
        movq    %rcx, GPR(1)
        movq    %r11, GPR(11)
        save_all_but_rcx_r11
        to_engine_stack
        save_flags
        movl    $STATE_INSIDE, %gs:ENGINE_T_STATE
        movq    %gs:ENGINE_T_SELF, %rdi
        call    engine_dispatch_as
        jmp     engine_act
        end engine_exit

/* The lookup's end: rcx is the target, the program's rcx and r11 are in their slots. */
entry engine_lookup_miss
        movq    %rcx, %gs:ENGINE_T_RIP
        movq    %gs:ENGINE_T_SLOT_R11, %r11
        movq    %gs:ENGINE_T_SLOT_RCX, %rcx
        movq    %rcx, GPR(1)
        movq    %r11, GPR(11)
        save_all_but_rcx_r11
        to_engine_stack
        save_flags
        movl    $STATE_INSIDE, %gs:ENGINE_T_STATE
        movq    %gs:ENGINE_T_SELF, %rdi
        call    engine_lookup_as
        jmp     engine_act
        end engine_lookup_miss

/* Where an interrupted context is pointed to: its state is in the thread area already, and the stack
 * pointer still the program's. */
entry engine_redirected
        to_engine_stack
        pushq   $FLAGS_OURS
        popfq
        movl    $STATE_INSIDE, %gs:ENGINE_T_STATE
        movq    %gs:ENGINE_T_SELF, %rdi
        call    engine_begin_as
        jmp     engine_act
        end engine_redirected

/* eax: enum engine_action. */
entry engine_act
        cmpl    $1, %eax
        je      engine_run_syscall
        jb      engine_resume
        cmpl    $2, %eax
        je      engine_leave
        jmp     engine_return
        end engine_act

entry engine_resume
        movl    $STATE_CACHE, %gs:ENGINE_T_STATE
        pushq   %gs:ENGINE_T_RFLAGS
        popfq
        movq    GPR(4), %rsp
label engine_window_begin
        restore_mask
        movl    %gs:ENGINE_T_PENDING, %ecx
        jrcxz   1f
        jmp     engine_pending
1:      load_all_but_rsp
        movq    %gs:ENGINE_T_RING, %r15
        jmpq    *%gs:ENGINE_T_NEXT
label engine_window_end
        end engine_resume

/* The carrier has something for this thread; the program's state is in the thread area. */
entry engine_pending
        to_engine_stack
        pushq   $FLAGS_OURS
        popfq
        movl    $STATE_INSIDE, %gs:ENGINE_T_STATE
        movq    %gs:ENGINE_T_SELF, %rdi
        call    engine_signals_as
        jmp     engine_act
        end engine_pending

/* A system call for the program, with all its registers. A signal before it finds the program at its
 * `syscall` (recover.c); rip is behind it. */
entry engine_run_syscall
        movl    $STATE_CACHE, %gs:ENGINE_T_STATE
        pushq   %gs:ENGINE_T_RFLAGS
        popfq
        movq    GPR(4), %rsp
label engine_syscall_begin
        restore_mask
        movl    %gs:ENGINE_T_PENDING, %ecx
        jrcxz   1f
        subq    $2, %gs:ENGINE_T_RIP
        jmp     engine_pending
1:      load_all_but_rsp
        movq    GPR(15), %r15
label engine_syscall_insn
        syscall
label engine_syscall_done
        movq    %rax, GPR(0)
        movq    %gs:ENGINE_T_RIP, %rcx
        movq    %rcx, GPR(1)
        movq    %gs:ENGINE_T_RFLAGS, %rcx
        movq    %rcx, GPR(11)
label engine_syscall_end
        to_engine_stack
        pushq   $FLAGS_OURS
        popfq
        movl    $STATE_INSIDE, %gs:ENGINE_T_STATE
        movq    %gs:ENGINE_T_SELF, %rdi
        call    engine_begin_as
        jmp     engine_act
        end engine_run_syscall

/* To native code for good. engine_leave_as gives GS back; from there the thread area is at rdi. */
entry engine_leave
        movq    %gs:ENGINE_T_SELF, %rdi
        call    engine_leave_as
        movq    %rax, %rdi
        pushq   ENGINE_T_RFLAGS(%rdi)
        popfq
        movq    (ENGINE_T_GPR + 8 * 4)(%rdi), %rsp
label engine_leave_begin
        movl    ENGINE_T_MASK_CHANGED(%rdi), %ecx
        jrcxz   1f
        movl    $0, ENGINE_T_MASK_CHANGED(%rdi)
        movq    %rdi, %r8
        leaq    ENGINE_T_MASK(%rdi), %rsi
        movl    $0, %edx
        movl    $2, %edi
        movl    $8, %r10d
        movl    $__NR_rt_sigprocmask, %eax
        syscall
        movq    %r8, %rdi
1:      movq    (ENGINE_T_GPR + 8 * 0)(%rdi), %rax
        movq    (ENGINE_T_GPR + 8 * 1)(%rdi), %rcx
        movq    (ENGINE_T_GPR + 8 * 2)(%rdi), %rdx
        movq    (ENGINE_T_GPR + 8 * 3)(%rdi), %rbx
        movq    (ENGINE_T_GPR + 8 * 5)(%rdi), %rbp
        movq    (ENGINE_T_GPR + 8 * 6)(%rdi), %rsi
        movq    (ENGINE_T_GPR + 8 * 8)(%rdi), %r8
        movq    (ENGINE_T_GPR + 8 * 9)(%rdi), %r9
        movq    (ENGINE_T_GPR + 8 * 10)(%rdi), %r10
        movq    (ENGINE_T_GPR + 8 * 11)(%rdi), %r11
        movq    (ENGINE_T_GPR + 8 * 12)(%rdi), %r12
        movq    (ENGINE_T_GPR + 8 * 13)(%rdi), %r13
        movq    (ENGINE_T_GPR + 8 * 14)(%rdi), %r14
        movq    (ENGINE_T_GPR + 8 * 15)(%rdi), %r15
        jmpq    *ENGINE_T_LEAVE(%rdi)   /* loads rdi, and jumps to rip */
label engine_leave_end
        end engine_leave

/* void engine_run(struct engine_thread *t): GS is t's already. Its caller is what engine_return goes
 * back to. */
        .globl  engine_run
        .hidden engine_run
        .type   engine_run, @function
engine_run:
        .cfi_startproc
        pushq   %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset rbp, 0
        pushq   %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset rbx, 0
        pushq   %r12
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset r12, 0
        pushq   %r13
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset r13, 0
        pushq   %r14
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset r14, 0
        pushq   %r15
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset r15, 0
        movq    %rsp, ENGINE_T_HOST_RSP(%rdi)
        jmp     engine_start
        ud2
        .cfi_endproc
        .size   engine_run, . - engine_run

/* The same without a way back. */
entry engine_start
        movl    $STATE_INSIDE, %gs:ENGINE_T_STATE
        movq    ENGINE_T_STACK_TOP(%rdi), %rsp
        call    engine_begin_as
        jmp     engine_act
        end engine_start

entry engine_return
        movl    $0, %gs:ENGINE_T_STATE
        movq    %gs:ENGINE_T_HOST_RSP, %rsp
        popq    %r15
        popq    %r14
        popq    %r13
        popq    %r12
        popq    %rbx
        popq    %rbp
        cld
        ret
        end engine_return

/* Calls of hooks. r11 points behind the jump that led here, to {function, argument}; the program's r11
 * is in gs:[slot_link]. Returns behind these two words. */
entry engine_hook
        movq    %rcx, GPR(1)
        save_all_but_rcx_r11
        movq    %gs:ENGINE_T_SLOT_LINK, %rcx
        movq    %rcx, GPR(11)
        movq    %r11, %r8
        to_engine_stack
        save_flags
        movl    $0, %edx
        jmp     engine_hook_call
        end engine_hook

/* The same at an indirect transfer: rcx is its target, the program's rcx and r11 are in the slots of
 * the lookup. The target is in gs:[rip] afterwards. */
entry engine_hook_indirect
        movq    %rcx, %gs:ENGINE_T_RIP
        save_all_but_rcx_r11
        movq    %gs:ENGINE_T_SLOT_RCX, %rcx
        movq    %rcx, GPR(1)
        movq    %gs:ENGINE_T_SLOT_R11, %rcx
        movq    %rcx, GPR(11)
        movq    %r11, %r8
        to_engine_stack
        save_flags
        movq    %gs:ENGINE_T_RIP, %rdx
        jmp     engine_hook_call
        end engine_hook_indirect

/* r8 points to {function, argument}, rdx is the value. */
entry engine_hook_call
        movl    $STATE_INSIDE, %gs:ENGINE_T_STATE
        leaq    16(%r8), %rax
        movq    %rax, %gs:ENGINE_T_NEXT
        movq    %gs:ENGINE_T_SELF, %rdi
        movq    8(%r8), %rsi
        call    *(%r8)
        movl    %gs:ENGINE_T_HOOK_ACTION, %eax
        testl   %eax, %eax
        jnz     engine_hook_stop
        movl    $STATE_CACHE, %gs:ENGINE_T_STATE
        pushq   %gs:ENGINE_T_RFLAGS
        cmpl    $0, %gs:ENGINE_T_PENDING
        je      1f
        orl     $0x100, (%rsp)          /* TF: the carrier steps on from here to a boundary */
1:      popfq
label engine_hook_window_begin          /* not earlier: popfq would end the stepping */
        movq    GPR(4), %rsp
        restore_mask
        load_all_but_rsp
        movq    GPR(15), %r15
        jmpq    *%gs:ENGINE_T_NEXT
label engine_hook_window_end
        end engine_hook_call

/* eax: enum engine_action, at gs:[rip], where the hook has put it. */
entry engine_hook_stop
        movl    $0, %gs:ENGINE_T_HOOK_ACTION
        jmp     engine_act
        end engine_hook_stop

label engine_text_end

        .section .note.GNU-stack, "", @progbits

/* From C into a complete state of the machine, and the engine with one. The layout is that of
 * struct state (machine.h); machine.c asserts it. */

#define GPR(n) (4096 + 8 * (n))(%rdi)
#define RFLAGS (4096 + 8 * 17)(%rdi)

        .text

/* void asm_native(const struct state *s, uint64_t features): jumps to *asm_target with all of s. */
        .globl  asm_native
        .hidden asm_native
        .type   asm_native, @function
asm_native:
        movl    %esi, %eax
        xorl    %edx, %edx
        xrstor64 (%rdi)
        pushq   RFLAGS
        popfq
        movq    GPR(0), %rax
        movq    GPR(1), %rcx
        movq    GPR(2), %rdx
        movq    GPR(3), %rbx
        movq    GPR(4), %rsp
        movq    GPR(5), %rbp
        movq    GPR(6), %rsi
        movq    GPR(8), %r8
        movq    GPR(9), %r9
        movq    GPR(10), %r10
        movq    GPR(11), %r11
        movq    GPR(12), %r12
        movq    GPR(13), %r13
        movq    GPR(14), %r14
        movq    GPR(15), %r15
        movq    GPR(7), %rdi
        jmpq    *asm_target(%rip)
        .size   asm_native, . - asm_native

/* void asm_engine(struct vectors *v, uint64_t features, struct engine_thread *t):
 * engine_run_as from these vectors, and into them where it returns. */
        .globl  asm_engine
        .hidden asm_engine
        .type   asm_engine, @function
asm_engine:
        pushq   %rbx
        pushq   %r12
        pushq   %r13
        movq    %rdi, %rbx
        movq    %rsi, %r12
        movl    %esi, %eax
        movq    %rdx, %rdi
        xorl    %edx, %edx
        xrstor64 (%rbx)
        call    engine_run_as
        movl    %r12d, %eax
        xorl    %edx, %edx
        xsave64 (%rbx)
        xrstor64 asm_host_vectors(%rip)
        popq    %r13
        popq    %r12
        popq    %rbx
        ret
        .size   asm_engine, . - asm_engine

/* The signal handler's entry: without AC, which C code cannot have. The other flags stay: the
 * kernel takes those that it does not restore (ID, NT) from here. */
        .globl  asm_on_signal
        .hidden asm_on_signal
        .type   asm_on_signal, @function
asm_on_signal:
        pushfq
        andl    $~0x40000, (%rsp)
        popfq
        jmp     machine_on_signal
        .size   asm_on_signal, . - asm_on_signal

        .section .note.GNU-stack, "", @progbits

/* A result that is not the same as the one before, but one of the most frequent, while p is 1: counted without C code (but
 * for one in FRONT_MOST, so that the row is looked at)
 * (results.c, sigsafe/spool_results.h). Copied into the code cache, and entered as the calls of hooks are
 * (engine/hook.h, hook_lead_as). Whatever is not simple goes on as such a call.
 *
 *      gs:[slot_hook]  the result, or the word of a vector register
 *      r11             points to {function, argument}; the argument begins with the id
 *      gs:[slot_link]  the program's r11
 *
 * No register and no flag of the program changes. Nothing here can fault. Whoever is killed in between has lost results that were
 * the same as the one before, and counted none twice. */
#include "engine/thread_layout.h"
#include "tools/results_layout.h"

#define GPR(n) %gs:(ENGINE_T_GPR + 8 * n)

        .macro label name
        .globl  \name
        .hidden \name
\name:
        .endm

        .macro save
        movq    %rax, GPR(0)
        movq    %rcx, GPR(1)
        movq    %rdx, GPR(2)
        movq    %rsi, GPR(6)
        movq    %rdi, GPR(7)
        lahf
        seto    %al
        movl    8(%r11), %ecx
        .endm

        .macro restore
        addb    $127, %al
        sahf
        movq    GPR(0), %rax
        movq    GPR(1), %rcx
        movq    GPR(2), %rdx
        movq    GPR(6), %rsi
        movq    GPR(7), %rdi
        .endm

        /* Goes to `where`, with `place` at the front's entry that has `value`. */
        .macro find value, place, where
        .irp    n, 0, 1, 2, 3, 4, 5, 6, 7
        cmpq    \value, (\place)
        je      \where
        .if     \n != 7
        addq    $FRONT_SIZE, \place
        .endif
        .endr
        .endm

        .section .rodata
        .p2align 4
label results_line_begin
        save
        /* result_first */
        movl    %ecx, %edx
        shll    $LEAD_SHIFT, %edx
        cmpq    $-1, %gs:ENGINE_T_SIZE(%rdx)
        jne     .Lrow
        cmpq    $0, %gs:(ENGINE_T_SIZE + LEAD_BITS)(%rdx)
        jne     .Lrow
        movq    %gs:ENGINE_T_SLOT_HOOK, %rsi
        movq    %rsi, %gs:(ENGINE_T_SIZE + LEAD_BITS)(%rdx)
        jmp     .Lon
.Lrow:  movl    %ecx, %edx
        shrl    $CHUNK_SHIFT, %edx
        movq    %gs:ENGINE_T_LINE, %rsi
        movq    (%rsi,%rdx,8), %rsi
        testq   %rsi, %rsi
        jz      .Lslow
        movl    %ecx, %edx
        andl    $((1 << CHUNK_SHIFT) - 1), %edx
        shll    $FRONT_SHIFT, %edx
        addq    %rdx, %rsi
        shll    $LEAD_SHIFT, %ecx
        movq    %gs:ENGINE_T_SLOT_HOOK, %rdx
        movq    %rsi, %rdi
        find    %rdx, %rsi, .Lfound
.Lslow:
        restore
        jmpq    *%gs:ENGINE_T_HOOK_ENTRY
.Lfound:
        cmpq    $FRONT_MOST, FRONT_COUNT(%rsi)
        jae     .Lslow
        /* Those that were the same until now: 0 - left, without this one. */
        movq    %gs:ENGINE_T_SIZE(%rcx), %rdx
        notq    %rdx
        testq   %rdx, %rdx
        jz      .Lswitch
        movq    %gs:(ENGINE_T_SIZE + LEAD_BITS)(%rcx), %rdx
        find    %rdx, %rdi, .Lsame
        jmp     .Lslow
.Lsame: movq    %gs:ENGINE_T_SIZE(%rcx), %rdx
        notq    %rdx
        movq    $0, %gs:ENGINE_T_SIZE(%rcx)
        addq    %rdx, FRONT_COUNT(%rdi)
        incq    FRONT_COUNT(%rsi)
.Lon:   leaq    16(%r11), %r11
        movq    %r11, %gs:ENGINE_T_NEXT
        restore
        movq    %gs:ENGINE_T_SLOT_LINK, %r11
        jmpq    *%gs:ENGINE_T_NEXT
.Lswitch:
        movq    $0, %gs:ENGINE_T_SIZE(%rcx)
        movq    (%rsi), %rdx
        movq    %rdx, %gs:(ENGINE_T_SIZE + LEAD_BITS)(%rcx)
        incq    FRONT_COUNT(%rsi)
        jmp     .Lon
label results_line_end

        .section .note.GNU-stack, "", @progbits

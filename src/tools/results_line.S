/* A result that is not the same as the one before, but one of the front's, while p is 1: counted without C code (but
 * for one in FRONT_MOST, so that the row is looked at). So is a new one, while the front has room: what has few values touches no row
 * (results.c, sigsafe/spool_results.h). Copied into the code cache, and entered as the calls of hooks are
 * (tools/inline/lead.h). Whatever is not simple goes on as such a call.
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

        /* Makes `value` that of an entry of the front at `place` that has none, and goes to `where`, with `place` at it. That of
         * the value 0 that was not counted yet is as good as none. */
        .macro  keep value, place, where
        .irp    n, 0, 1, 2, 3, 4, 5, 6, 7
        cmpq    $0, (\place)
        jne     9f
        cmpq    $0, FRONT_COUNT(\place)
        jne     9f
        movq    \value, (\place)
        jmp     \where
9:
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
        movq    %gs:(ENGINE_T_LINE + 8 * LINE_OF_RESULTS), %rsi
        movq    (%rsi,%rdx,8), %rsi
        testq   %rsi, %rsi
        jz      .Lslow
        movl    %ecx, %edx
        andl    $((1 << CHUNK_SHIFT) - 1), %edx
        shll    $FRONT_SHIFT, %edx
        addq    %rdx, %rsi
        shll    $LEAD_SHIFT, %ecx
        /* rdi: 0, or the entry of those that were the same until now: 0 - left, without this one. They are counted first. */
        xorl    %edi, %edi
        cmpq    $-1, %gs:ENGINE_T_SIZE(%rcx)
        je      .Lnow
        movq    %gs:(ENGINE_T_SIZE + LEAD_BITS)(%rcx), %rdx
        movq    %rsi, %rdi
        find    %rdx, %rdi, .Lsame
        subq    $((FRONT_ENTRIES - 1) * FRONT_SIZE), %rdi
        keep    %rdx, %rdi, .Lsame
.Lslow:
        restore
        jmpq    *%gs:ENGINE_T_HOOK_ENTRY
.Lsame: cmpq    $FRONT_MOST, FRONT_COUNT(%rdi)
        jae     .Lslow
        movq    %gs:ENGINE_T_SIZE(%rcx), %rdx
        notq    %rdx
        movq    $-1, %gs:ENGINE_T_SIZE(%rcx)
        addq    %rdx, FRONT_COUNT(%rdi)
.Lnow:  movq    %gs:ENGINE_T_SLOT_HOOK, %rdx
        find    %rdx, %rsi, .Lfound
        subq    $((FRONT_ENTRIES - 1) * FRONT_SIZE), %rsi
        keep    %rdx, %rsi, .Lfound
        jmp     .Lslow
.Lfound:
        cmpq    $FRONT_MOST, FRONT_COUNT(%rsi)
        jae     .Lslow
        movq    $0, %gs:ENGINE_T_SIZE(%rcx)
        testq   %rdi, %rdi
        jnz     .Lcount
        movq    %rdx, %gs:(ENGINE_T_SIZE + LEAD_BITS)(%rcx)
.Lcount:
        incq    FRONT_COUNT(%rsi)
.Lon:   leaq    16(%r11), %r11
        movq    %r11, %gs:ENGINE_T_NEXT
        restore
        movq    %gs:ENGINE_T_SLOT_LINK, %r11
        jmpq    *%gs:ENGINE_T_NEXT
label results_line_end

        .section .note.GNU-stack, "", @progbits

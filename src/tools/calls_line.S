/* Calls and returns whose outcome is known, without C code (calls.c): copied into the code cache, and entered as
 * the calls of hooks are (engine/hook_line.h). Whatever is not simple goes on as such a call.
 *
 *      gs:[rip]        the target
 *      r11             points to {function, argument}; the argument is `from`
 *      gs:[slot_link]  the program's r11 (at a direct call; at an indirect end it is in the lookup's slot)
 *
 * No flag of the program changes: at a call they are kept in rax, and the return needs none. Nothing here can
 * fault, and a signal is put off to the next boundary as in any hook. */
#include "engine/thread_layout.h"
#include "tools/calls_layout.h"

#define GPR(n) %gs:(ENGINE_T_GPR + 8 * n)

        .macro label name
        .globl  \name
        .hidden \name
\name:
        .endm

/* Leaves the program's rax, rdx, rsi, rdi in their places, rcx in `rcx_place`. */
        .macro load rcx_place
        addb    $127, %al
        sahf
        movq    GPR(0), %rax
        movq    \rcx_place, %rcx
        movq    GPR(2), %rdx
        movq    GPR(6), %rsi
        movq    GPR(7), %rdi
        .endm

        .macro call_known rcx_place, slow
        movq    %rax, GPR(0)
        movq    %rcx, \rcx_place
        movq    %rdx, GPR(2)
        movq    %rsi, GPR(6)
        movq    %rdi, GPR(7)
        lahf
        seto    %al
        /* The caller's frame is the one on top, and on this stack. */
        movq    %gs:(ENGINE_T_LINE + 8 * LINE_OF_CALLS), %rdx
        movq    LINE_TOP(%rdx), %rcx
        movq    FRAME_SLOT(%rcx), %rsi
        subq    %rsp, %rsi
        decq    %rsi
        cmpq    $CALLS_NEAR, %rsi
        jae     \slow
        cmpq    LINE_LIMIT(%rdx), %rcx
        jae     \slow
        /* The call is known in this context. */
        movl    FRAME_NODE(%rcx), %edi
        imull   $CALLS_HASH_FROM, 8(%r11), %esi
        addl    %edi, %esi
        imull   $CALLS_HASH_ALL, %esi, %esi
        shrl    $(32 - KNOWN_BITS), %esi
        shll    $KNOWN_SHIFT, %esi
        addq    LINE_KNOWN(%rdx), %rsi
        cmpl    %edi, KNOWN_CONTEXT(%rsi)
        jne     \slow
        movq    8(%r11), %rdi
        cmpq    %rdi, KNOWN_FROM(%rsi)
        jne     \slow
        movq    %gs:ENGINE_T_RIP, %rdi
        cmpq    %rdi, KNOWN_TO(%rsi)
        jne     \slow
        /* Count it, and push its frame. */
        movq    KNOWN_ENTRY(%rsi), %rdi
        incq    NODE_SAMPLES(%rdi)
        addl    $1, NODE_CALLS(%rdi)    /* no more than the most */
        sbbl    $0, NODE_CALLS(%rdi)
        movl    KNOWN_NODE(%rsi), %edi
        addq    $FRAME_SIZE, %rcx
        movq    %rsp, FRAME_SLOT(%rcx)
        movl    %edi, FRAME_NODE(%rcx)
        movl    %gs:ENGINE_T_RIP, %edi
        movl    %edi, FRAME_CALLEE(%rcx)
        movq    %rcx, LINE_TOP(%rdx)
        movq    LINE_TAKEN(%rdx), %rcx
        incq    (%rcx)
        movq    LINE_WEIGHT(%rdx), %rcx
        incq    (%rcx)
        load    \rcx_place
        leaq    16(%r11), %r11
        .endm

        .section .rodata
        .p2align 4
label calls_line_begin

label calls_line_direct
        call_known GPR(1), .Lslow0
        movq    %r11, %gs:ENGINE_T_NEXT
        movq    %gs:ENGINE_T_SLOT_LINK, %r11
        jmpq    *%gs:ENGINE_T_NEXT
.Lslow0:
        load    GPR(1)
        jmpq    *%gs:ENGINE_T_HOOK_ENTRY

label calls_line_indirect
        call_known %gs:ENGINE_T_RIP, .Lslow1
        jmpq    *%r11
.Lslow1:
        load    %gs:ENGINE_T_RIP
        jmpq    *%gs:ENGINE_T_HOOK_INDIRECT_ENTRY

/* The frame on top is that of the call that returns: its return address has just been popped. */
label calls_line_return
        movq    %r11, %gs:ENGINE_T_SLOT_LINK
        movq    %rcx, %gs:ENGINE_T_RIP
        movq    %gs:(ENGINE_T_LINE + 8 * LINE_OF_CALLS), %rcx
        movq    LINE_TOP(%rcx), %rcx
        movq    FRAME_SLOT(%rcx), %rcx
        leaq    -8(%rsp), %r11
        notq    %r11
        leaq    1(%rcx,%r11), %rcx
        jrcxz   1f
        movq    %gs:ENGINE_T_RIP, %rcx
        movq    %gs:ENGINE_T_SLOT_LINK, %r11
        jmpq    *%gs:ENGINE_T_HOOK_INDIRECT_ENTRY
1:      movq    %gs:(ENGINE_T_LINE + 8 * LINE_OF_CALLS), %rcx
        movq    LINE_TOP(%rcx), %r11
        leaq    -FRAME_SIZE(%r11), %r11
        movq    %r11, LINE_TOP(%rcx)
        movq    %gs:ENGINE_T_SLOT_LINK, %r11
        leaq    16(%r11), %r11
        jmpq    *%r11
label calls_line_end

        .section .note.GNU-stack, "", @progbits

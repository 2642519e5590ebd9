/* Reading the program's memory where it may be gone (probe.h).
 *
 *      rdi: address      rax: what is there      rdx: 0, or 1 if it cannot be read
 *
 * Nothing is pushed: a fault in any of them goes on at engine_probe_failed, which returns. */
        .text

        .macro  entry name
        .globl  \name
        .hidden \name
        .type   \name, @function
\name:
        .cfi_startproc
        .endm

        .macro  end name
        .cfi_endproc
        .size   \name, . - \name
        .endm

entry engine_probe_1
        movl    $0, %edx
        movzbl  (%rdi), %eax
        ret
        end engine_probe_1

entry engine_probe_4
        movl    $0, %edx
        movl    (%rdi), %eax
        ret
        end engine_probe_4

entry engine_probe_8
        movl    $0, %edx
        movq    (%rdi), %rax
        ret
        end engine_probe_8

/* rsi: where 64 bytes go */
entry engine_probe_64
        movl    $0, %edx
        .irp    at, 0, 8, 16, 24, 32, 40, 48, 56
        movq    \at(%rdi), %rax
        movq    %rax, \at(%rsi)
        .endr
        ret
        end engine_probe_64

/* rsi: 64 bytes that they are compared with; rax: 0 if they are the same */
entry engine_probe_compare_64
        movl    $0, %edx
        movq    (%rdi), %rax
        xorq    (%rsi), %rax
        .irp    at, 8, 16, 24, 32, 40, 48, 56
        movq    \at(%rdi), %rcx
        xorq    \at(%rsi), %rcx
        orq     %rcx, %rax
        .endr
        ret
        end engine_probe_compare_64

entry engine_probe_failed
        movl    $0, %eax
        movl    $1, %edx
        ret
        end engine_probe_failed

        .section .note.GNU-stack, "", @progbits

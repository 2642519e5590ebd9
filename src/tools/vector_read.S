/* The program's vector and mask registers, read where they are: nothing of the engine changes one.
 *
 *      void vector_read_as(unsigned number, uint64_t out[2])          the low 16 bytes of a vector register
 *      void vector_read_ymm_as(unsigned number, uint64_t out[4])      0 to 15
 *      void vector_read_zmm_as(unsigned number, uint64_t out[8])
 *      void vector_read_mask_as(unsigned number, uint64_t *out)       64 bits: AVX512BW
 *      void vector_read_mask16_as(unsigned number, uint64_t *out)     16 bits
 *
 * Each is called behind an instruction that named such a register only, so on a processor that has it.
 *
 *      rdi: number      rsi: out      stubs of 16 bytes each                                       */
        .macro  stubs name, mask
        .globl  \name
        .hidden \name
        .type   \name, @function
\name:
        .cfi_startproc
        andl    $\mask, %edi
        shll    $4, %edi
        leaq    .L\name(%rip), %rax
        addq    %rdi, %rax
        jmpq    *%rax
        .p2align 4
.L\name:
        .endm

        .macro  stubs_end name
        .cfi_endproc
        .size   \name, . - \name
        .endm

        .macro  stub insn:vararg
        \insn
        ret
        .p2align 4
        .endm

        .text
        stubs   vector_read_as, 31
        .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        stub    movups %xmm\n, (%rsi)
        .endr
        .irp n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
        stub    vextractf32x4 $0, %zmm\n, (%rsi)
        .endr
        stubs_end vector_read_as

        stubs   vector_read_ymm_as, 15
        .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        stub    vmovups %ymm\n, (%rsi)
        .endr
        stubs_end vector_read_ymm_as

        stubs   vector_read_zmm_as, 31
        .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
        stub    vmovups %zmm\n, (%rsi)
        .endr
        stubs_end vector_read_zmm_as

        stubs   vector_read_mask_as, 7
        .irp n, 0, 1, 2, 3, 4, 5, 6, 7
        stub    kmovq %k\n, (%rsi)
        .endr
        stubs_end vector_read_mask_as

        stubs   vector_read_mask16_as, 7
        .irp n, 0, 1, 2, 3, 4, 5, 6, 7
        stub    kmovw %k\n, (%rsi)
        .endr
        stubs_end vector_read_mask16_as

        .section .note.GNU-stack, "", @progbits

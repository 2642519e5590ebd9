/* void vector_read_as(unsigned number, uint64_t out[2]): the low 16 bytes of a vector register. They are read
 * where they are: nothing of the engine changes a vector register. 16 to 31 only behind an
 * instruction that named one of them, so on a processor that has them.
 *
 *      rdi: number      rsi: out      stubs of 16 bytes each                                       */
        .text
        .globl  vector_read_as
        .hidden vector_read_as
        .type   vector_read_as, @function
vector_read_as:
        .cfi_startproc
        andl    $31, %edi
        shll    $4, %edi
        leaq    .Lstubs(%rip), %rax
        addq    %rdi, %rax
        jmpq    *%rax
        .p2align 4
.Lstubs:
        .irp    n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        movups  %xmm\n, (%rsi)
        ret
        .p2align 4
        .endr
        .irp    n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
        vextractf32x4 $0, %zmm\n, (%rsi)
        ret
        .p2align 4
        .endr
        .cfi_endproc
        .size   vector_read_as, . - vector_read_as

        .section .note.GNU-stack, "", @progbits

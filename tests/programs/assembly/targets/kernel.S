/* Kernels without CFI, as hand-written assembly has them. Each runs rdi rounds. */
    .intel_syntax noprefix
    .text

/* OpenBLAS's frame: registers saved by mov, a copy of rsp in rbx, a realigned area. */
    .p2align 4
    .globl kernel_realigned
    .type kernel_realigned, @function
kernel_realigned:
    sub rsp, 0x60
    mov [rsp], rbx
    mov [rsp + 8], rbp
    mov [rsp + 16], r12
    mov rbx, rsp
    sub rsp, 0x1080
    and rsp, -0x1000
    mov ebp, 1
4:  mov r12d, 16
2:  imul rbp, r12
    dec r12d
    jnz 2b
    mov [rsp + 64], rbp
    dec rdi
    jnz 4b
    mov rsp, rbx
    mov rbx, [rsp]
    mov rbp, [rsp + 8]
    mov r12, [rsp + 16]
    add rsp, 0x60
    ret
    .size kernel_realigned, . - kernel_realigned

/* Pushes, and calls C. */
    .p2align 4
    .globl kernel_pushing
    .type kernel_pushing, @function
kernel_pushing:
    push rbp
    push rbx
    push rax
    mov rbp, rdi
4:  mov edi, 64
    call kernel_called
    mov ebx, 16
2:  imul rax, rbx
    dec ebx
    jnz 2b
    dec rbp
    jnz 4b
    pop rcx
    pop rbx
    pop rbp
    ret
    .size kernel_pushing, . - kernel_pushing

/* What C has jumped to at its end. */
    .p2align 4
    .globl kernel_jumped_to
    .type kernel_jumped_to, @function
kernel_jumped_to:
    push r12
4:  mov r12d, 16
2:  imul rax, r12
    dec r12d
    jnz 2b
    dec rdi
    jnz 4b
    pop r12
    ret
    .size kernel_jumped_to, . - kernel_jumped_to

    .section .note.GNU-stack, "", @progbits

/* Functions without CFI, for test_code.c. Each begins at code_NAME and ends at code_NAME_end; labels
 * code_NAME_unknown_lo and _hi enclose instructions whose frame cannot be known by reading the code. */
    .intel_syntax noprefix
    .text

.macro function name
    .p2align 4
    .globl code_\name, code_\name\()_end
    .type code_\name, @function
code_\name:
.endm

.macro finish name
code_\name\()_end:
    .size code_\name, . - code_\name
.endm

/* As OpenBLAS's kernels: sub, saves at offsets, a copy of rsp, a realigned area. */
function kernel
    sub rsp, 0x60
    mov [rsp], rbx
    mov [rsp + 8], rbp
    mov [rsp + 16], r12
    mov [rsp + 24], r15
    vzeroupper
    mov rbx, rsp
    sub rsp, 0x2080
    and rsp, -0x1000
    mov [rsp + 0x28], rsi
    mov rbp, 3
4:  lea r12, [rsp + 0x80]
    mov r15, [rsp + 0x28]
    mov [r12 + 8], rbp
    sub rbp, 1
    jg 4b
    xor ebp, ebp
    mov rsp, rbx
    mov rbx, [rsp]
    mov rbp, [rsp + 8]
    mov r12, [rsp + 16]
    mov r15, [rsp + 24]
    add rsp, 0x60
    ret
finish kernel

function pushes
    endbr64
    push r15
    push rbp
    push 7
    pushf
    sub rsp, 0x88
    mov ebp, 1
    mov rdi, rsp
    call code_leaf
    movups [rsp], xmm0
    add rsp, 0x88
    popf
    pop rax
    pop rbp
    pop r15
    ret
finish pushes

function leaf
    mov [rsp - 8], rbp
    mov ebp, 2
    mov rbp, [rsp - 8]
    xor eax, eax
    ret
finish leaf

function frame_pointer
    push rbp
    mov rbp, rsp
    push rbx
    mov eax, 64
    sub rsp, rax
    and rsp, -32
    call code_leaf
    lea rsp, [rbp - 8]
    pop rbx
    leave
    ret
finish frame_pointer

/* Room of a size that only running tells; the CFA in a register that a loop keeps. */
function variable
    push r12
    mov r12, rsp
    mov ecx, 3
4:  sub rsp, rcx
    and rsp, -16
    mov [rsp], rcx
    dec ecx
    jnz 4b
    mov rsp, r12
    pop r12
    ret
finish variable

/* A copy in a register that callees do not keep. */
function realigned
    mov rax, rsp
    sub rsp, 64
    and rsp, -64
    mov [rsp], rax
    mov rax, [rsp] /* from here on nobody knows what rax holds: rsp is not known either */
    .globl code_realigned_unknown_lo, code_realigned_unknown_hi
code_realigned_unknown_lo:
    mov rsp, rax
    nop
    ret
code_realigned_unknown_hi:
finish realigned

/* Two paths that have pushed differently. What they agree in after that is known again. */
function disagree
    push rbp
    mov rbp, rsp
    test rbp, rbp
    jz 4f
    push rax
    push rax
4:  nop
    mov rsp, rbp
    pop rbp
    test rsp, rsp
    jz 2f
    push rax
    .globl code_disagree_unknown_lo, code_disagree_unknown_hi
2:
code_disagree_unknown_lo:
    nop
    pop rax
    ret
code_disagree_unknown_hi:
finish disagree

function tail
    push rbp
    mov ebp, 5
    test ebp, ebp
    jz 4f
    pop rbp
    jmp code_leaf
4:  pop rbp
    ret
finish tail

/* A table of jumps: what only it reaches is unknown. */
function table
    push rbp
    lea rax, [rip + 4f]
    test rax, rax
    jz 2f
    jmp rax
    .globl code_table_unknown_lo, code_table_unknown_hi
code_table_unknown_lo:
4:  nop
    nop
code_table_unknown_hi:
2:  pop rbp
    ret
finish table

/* A local subroutine, which does not keep to the ABI. */
function inside
    push rbp
    push rbx
    sub rsp, 24
    call 4f
    nop
    call 4f
    add rsp, 24
    pop rbx
    pop rbp
    ret
4:  mov ebp, 1
    mov ebx, 1
    push rbp
    nop
    pop rbp
    ret
finish inside

/* Calls C with the CFA in rbx, which C saves. */
function calls
    push rbx
    push rbp
    mov rbx, rsp
    and rsp, -64
    mov ebp, 9
    call code_callee
    mov rsp, rbx
    pop rbp
    pop rbx
    ret
finish calls

/* Takes its return address off the stack. */
function popped
    pop rdx
    .globl code_popped_unknown_lo, code_popped_unknown_hi
code_popped_unknown_lo:
    nop
    push rdx
    nop
    ret
code_popped_unknown_hi:
finish popped

/* Goes on in the middle of another function, with a frame of its own: that one is not believed. */
function enters
    push rax
    nop
    jmp code_middle
finish enters

    .p2align 4
    .globl code_entered_unknown_lo, code_entered_unknown_hi
function entered
code_entered_unknown_lo:
    nop
    ret
code_middle:
    nop
    pop rax
    ret
code_entered_unknown_hi:
finish entered

/* Two functions in one piece: the second is where the first goes on. */
function outer
    push rbp
    xor ebp, ebp
    pop rbp
    .globl code_inner
    .type code_inner, @function
code_inner:
    push rbx
    mov ebx, 1
    pop rbx
    ret
finish outer
    .size code_inner, . - code_inner

/* Calls code_now with rbp known; what is true is in code_cfa and code_rbp. Single-steps if asked to. */
    .globl code_call
    .type code_call, @function
code_call:
    push rbp
    push rbx
    push r12
    push r13
    push r14
    push r15
    sub rsp, 8
    mov rbp, 0x5eed
    mov [rip + code_rbp], rbp
    mov [rip + code_cfa], rsp
    mov r11, rdi
    pushf
    or qword ptr [rsp], 0x100
    popf
    call r11
    .globl code_returned
code_returned:
    pushf
    and qword ptr [rsp], ~0x100
    popf
    mov rax, rbp
    add rsp, 8
    pop r15
    pop r14
    pop r13
    pop r12
    pop rbx
    pop rbp
    ret
    .globl code_call_end
code_call_end:
    .size code_call, . - code_call

    .bss
    .globl code_rbp, code_cfa
    .p2align 3
code_rbp: .quad 0
code_cfa: .quad 0
    .section .note.GNU-stack, "", @progbits

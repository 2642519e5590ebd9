/* Code that test_generated.c copies to memory of no image, [generated_lo, generated_hi), and what calls it.
 * Nothing in it refers to anything outside of it. Each function begins at generated_NAME; generated_NAME_unknown_lo
 * and _hi enclose instructions whose frame cannot be known by reading on from them. */
    .intel_syntax noprefix
    .text

.macro function name
    .p2align 4, 0xcc
    .globl generated_\name
generated_\name:
.endm

.macro unknown name
    .globl generated_\name\()_unknown_lo
generated_\name\()_unknown_lo:
.endm

.macro known name
    .globl generated_\name\()_unknown_hi
generated_\name\()_unknown_hi:
.endm

    .p2align 4
    .globl generated_lo, generated_hi
generated_lo:

function leaf
    mov eax, 3
4:  sub eax, 1
    jg 4b
    mov [rsp - 8], rbx
    mov rbx, rsp
    mov rbx, [rsp - 8]
    ret

function pushes
    push r15
    push rbp
    push 7
    pushf
    sub rsp, 0x88
    mov ebp, 1
    mov [rsp + 8], rbp
    call generated_leaf
    movups [rsp], xmm0
    add rsp, 0x88
    popf
    pop rax
    pop rbp
    pop r15
    ret

function frame_pointer
    push rbp
    mov rbp, rsp
    push rbx
    mov eax, 64
    sub rsp, rax
    and rsp, -32
    call generated_pushes
    lea rsp, [rbp - 8]
    pop rbx
    pop rbp
    ret

/* Uses the frame pointer's register for something else, looks at a word before it returns, and has a slow path
 * behind it. */
function compiled
    mov [rsp - 0x100], eax
    push rbp
    sub rsp, 0x30
    lea rbp, [rsp + 0x10]
    mov [rsp + 8], rbp
    test rsp, rsp
    jz 8f
    call generated_frame_pointer
    nop
    mov ecx, 2
2:  dec ecx
    jz 3f
    jmp 2b
8:  call generated_leaf
    ud2
3:  add rsp, 0x30
    pop rbp
    cmp rsp, [rsp]
    ja 9f
7:  ret
9:  jmp 7b

/* The CFA in a register that callees keep, but walks do not follow. */
function realigned
    push r12
    lea r12, [rsp + 8]
    sub rsp, 0x50
    and rsp, -64
    mov [rsp], rbp
    xor ebp, ebp
unknown realigned
    call generated_leave
known realigned
    mov rbp, [rsp]
    lea rsp, [r12 - 8]
    pop r12
    ret

function leave
    push rbp
    mov rbp, rsp
    sub rsp, 0x100
    call generated_compiled
    leave
    ret

/* Goes on where only running tells, but for a way out that is not taken. */
function table
    push rbx
    push rbp
    xor ebp, ebp
    lea rax, [rip + 4f]
    test rax, rax
    jz 2f
unknown table
    jmp rax
known table
2:  pop rbp
    pop rbx
    ret
4:  nop
    jmp 2b

function tail
    push rbp
    mov ebp, 5
    test ebp, ebp
    jz 4f
    pop rbp
    jmp generated_leaf
4:  pop rbp
    ret

/* Jumps by a return. */
function pushed
    sub rsp, 8
    lea rax, [rip + 4f]
    test rax, rax
    jz 4f
unknown pushed
    push rax
    ret
known pushed
4:  nop
    add rsp, 8
    ret

/* Its argument is taken off the stack by what it calls, which reading on from before the call does not tell. */
function argument
unknown argument
    push rbp
    mov ebp, 6
    push 0
    call 4f
known argument
    nop
    pop rbp
    ret
4:  push rbx
    nop
    pop rbx
    ret 8

/* Runs on the stack that ends at rdi; the old one's pointer is in memory at rsi. */
function switched
    push r12
    mov r12, rsi
    mov [r12], rsp
    mov rsp, rdi
    call generated_leaf
    nop
    mov rsp, [r12]
    pop r12
    ret

/* As interpreters: has what it jumps to return to where it goes on, and goes on by an indirect jump. Only the
 * frame pointer tells where its caller is. */
function interpreter
unknown interpreter
    push rbp
    mov rbp, rsp
known interpreter
    sub rsp, 0x20
    mov [rbp - 8], rsp
    lea rax, [rip + 4f]
    push rax
    .globl generated_interpreter_jump
generated_interpreter_jump:
    jmp generated_pushes
    nop
4:  mov rsp, [rbp - 8]
    lea rax, [rip + 5f]
    jmp rax
    nop
5:  mov rsp, rbp
    pop rbp
    ret

/* The last byte of the memory is this function's last. */
function last
    push rbp
    xor ebp, ebp
    call generated_leaf
    pop rbp
    ret
generated_hi:

/* void generated_call(function, rsi, rdx): calls it with rdi = rsi, rsi = rdx under single-step. */
    .globl generated_call
    .type generated_call, @function
generated_call:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 16
    .cfi_offset rbp, -16
    push rbx
    .cfi_def_cfa_offset 24
    sub rsp, 8
    .cfi_def_cfa_offset 32
    mov rax, rdi
    mov rdi, rsi
    mov rsi, rdx
    mov ebp, 0x5eed
    pushf
    .cfi_adjust_cfa_offset 8
    or qword ptr [rsp], 0x100
    popf
    .cfi_adjust_cfa_offset -8
    .globl generated_called
generated_called:
    call rax
    .globl generated_returned
generated_returned:
    pushf
    .cfi_adjust_cfa_offset 8
    and qword ptr [rsp], ~0x100
    popf
    .cfi_adjust_cfa_offset -8
    mov rax, rbp
    add rsp, 8
    .cfi_def_cfa_offset 24
    pop rbx
    .cfi_def_cfa_offset 16
    pop rbp
    .cfi_def_cfa_offset 8
    ret
    .cfi_endproc
    .size generated_call, . - generated_call
    .section .note.GNU-stack, "", @progbits

/* A switch of stacks, as boost.context has it: the callee-saved registers lie on the stack
 * that is left, and *save says where. */
#ifndef TRAMPOLINE_SWITCH_STACK_H
#define TRAMPOLINE_SWITCH_STACK_H

void switch_stack(void **save, void *to);
__asm__(".text\n"
        ".globl switch_stack\n"
        ".type switch_stack, @function\n"
        "switch_stack:\n"
        ".cfi_startproc\n"
        ".irp register, rbp, rbx, r12, r13, r14, r15\n"
        "push %\\register\n"
        ".cfi_adjust_cfa_offset 8\n"
        ".endr\n"
        "mov %rsp, (%rdi)\n"
        "mov %rsi, %rsp\n"
        ".irp register, r15, r14, r13, r12, rbx, rbp\n"
        "pop %\\register\n"
        ".cfi_adjust_cfa_offset -8\n"
        ".endr\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size switch_stack, . - switch_stack\n");

#endif

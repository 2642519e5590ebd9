/* How a shadow's handlers of faults return. */
#include <asm/unistd.h>

        .text
        .globl  shadow_restorer
        .hidden shadow_restorer
        .type   shadow_restorer, @function
shadow_restorer:
        .cfi_startproc
        .cfi_undefined rip
        movl    $__NR_rt_sigreturn, %eax
        syscall
        ud2
        .cfi_endproc
        .size   shadow_restorer, . - shadow_restorer

        .section .note.GNU-stack, "", @progbits

/* Instructions that copy what another one of their block has made, or seem to; each is named by a
 * symbol (c_...). */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* In turn; in their low halves 3 and 7. */
static const uint64_t values[4] = {3, 3, 3, 0x100000007};

int main(int argc, char **argv)
{
    uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 0) : 1, sum = 0;
    for (uint64_t i = 0; i < n; i++)
        __asm__ volatile(
            ".globl c_load, c_copy, c_narrow, c_wide, c_again, c_changed, c_stack, c_pushed, "
            "c_popped, c_out, c_in, c_low\n"
            ".globl c_twice, c_part\n"
            "c_load: movq (%[values],%[at],8), %%rax\n"
            "c_copy: movq %%rax, %%rdx\n"
            "c_narrow: movl %%edx, %%ecx\n"
            "c_wide: movq %%rcx, %%rsi\n"
            "c_again: movl %%esi, %%edi\n"
            "addq $1, %%rax\n"
            "c_changed: movq %%rax, %%r8\n"
            "leaq -256(%%rsp), %%rsp\n"
            "c_stack: movq %%rsp, %%r9\n"
            "pushq %%rcx\n"
            "c_pushed: movq %%rsp, %%r10\n"
            "c_popped: popq %%r11\n"
            "leaq 256(%%rsp), %%rsp\n"
            "subq %%r10, %%r9\n"
            "xchgq %%rax, %%rdx\n"
            "c_out: movq %%rdx, %%r10\n"
            "c_in: movq %%rax, %%r10\n"
            "c_low: movl %k[at], %%r10d\n" /* not made here: of `at` the low half is known then */
            "c_twice: movq %[at], %%r11\n"
            "movb $1, %%cl\n"
            "c_part: movq %%rcx, %%r11\n"
            "addq %%rdi, %[sum]\n"
            : [sum] "+r"(sum)
            : [values] "r"(values), [at] "r"(i % 4)
            : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "cc", "memory");
    printf("%lu\n", (unsigned long)sum);
    return 0;
}

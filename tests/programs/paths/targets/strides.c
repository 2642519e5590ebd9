/* Loads and stores whose strides are known: each is a symbol. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* n rounds: reads every 24th byte upwards, writes every eighth downwards, reads one place again and
 * again. */
void accesses(uint64_t n, const void *from, void *to_end);

__asm__("    .text\n"
        "    .globl accesses\n"
        "    .type accesses, @function\n"
        "accesses:\n"
        "    xorl %ecx, %ecx\n"
        "1:  leaq (%rcx,%rcx,2), %rax\n"
        "    .globl upwards\n"
        "upwards:\n"
        "    movq 8(%rsi,%rax,8), %rax\n"
        "    .globl downwards\n"
        "downwards:\n"
        "    movl %eax, -8(%rdx)\n"
        "    subq $8, %rdx\n"
        "    .globl again\n"
        "again:\n"
        "    addq %rax, place(%rip)\n"
        "    incq %rcx\n"
        "    cmpq %rdi, %rcx\n"
        "    jne 1b\n"
        "    ret\n"
        "    .data\n"
        "place: .quad 0\n"
        "    .text\n");

int main(int argc, char **argv)
{
    uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 0) : 100;
    char *from = calloc(n + 1, 24), *to = calloc(n, 8);
    accesses(n, from, to + 8 * n);
    puts("done");
    if (argc > 2) /* shadows come to their end meanwhile */
        usleep((useconds_t)strtoul(argv[2], NULL, 0) * 1000);
    return 0;
}

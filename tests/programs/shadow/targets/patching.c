/* A program that rewrites its own code, in the image that it was loaded from, and is never where
 * the old code would lead: a function that returns how often it has been rewritten. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

extern uint8_t patched[], patched_value[];
uint32_t patched_function(void);
__asm__(".text\n.balign 4096\n.globl patched, patched_function, patched_value\n"
        ".type patched_function, @function\n"
        "patched: patched_function: .byte 0xb8\npatched_value: .long 0\n ret\n.balign 4096\n");

__attribute__((noinline)) static void never_executed(void)
{
    __asm__ volatile("" : : : "memory");
}

int main(int argc, char **argv)
{
    uint32_t rounds = argc > 1 ? (uint32_t)atoi(argv[1]) : 100;
    for (uint32_t i = 0; i < rounds; i++) {
        mprotect(patched, 4096, PROT_READ | PROT_WRITE);
        memcpy(patched_value, &i, sizeof i);
        mprotect(patched, 4096, PROT_READ | PROT_EXEC);
        for (uint32_t k = 0; k < 1000000; k++)
            if (patched_function() != i)
                never_executed();
    }
    printf("%u rounds\n", rounds);
    return 0;
}

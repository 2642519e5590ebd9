/* A program that rewrites its own code, in the image that it was loaded from: what the burst trusted not to change.
 * Between two changes the code cannot be written. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

extern uint8_t patched[], patched_value[];
uint32_t patched_function(uint32_t x);
__asm__(".text\n.balign 4096\n.globl patched, patched_function, patched_value\n"
        ".type patched_function, @function\n"
        "patched: patched_function: mov %edi, %eax\n imul $3, %eax\n imul $5, %eax\n add $7, %eax\n"
        " .byte 0x35\npatched_value: .long 0\n ret\n.balign 4096\n");

int main(int argc, char **argv)
{
    uint32_t rounds = argc > 1 ? (uint32_t)atoi(argv[1]) : 2000, wrong = 0;
    for (uint32_t i = 0; i < rounds; i++) {
        mprotect(patched, 4096, PROT_READ | PROT_WRITE);
        memcpy(patched_value, &i, sizeof i);
        mprotect(patched, 4096, PROT_READ | PROT_EXEC);
        for (uint32_t x = 0; x < 20000; x++)
            wrong += patched_function(x) != ((x * 15 + 7) ^ i);
    }
    printf("%u rounds, %u wrong\n", rounds, wrong);
    return wrong != 0;
}

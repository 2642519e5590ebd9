/* A program that rewrites its own code, in the image that it was loaded from: what the burst
 * trusted not to change. Between two changes the code cannot be written. "raw": by system calls of
 * its own, which no library sees, and every other time by mapping another page over it. "moved": a
 * page that has become code elsewhere is moved over it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

extern uint8_t patched[], patched_value[];
uint32_t patched_function(uint32_t x);
__asm__(".text\n.balign 4096\n.globl patched, patched_function, patched_value\n"
        ".type patched_function, @function\n"
        "patched: patched_function: mov %edi, %eax\n imul $3, %eax\n imul $5, %eax\n add $7, %eax\n"
        " .byte 0x35\npatched_value: .long 0\n ret\n.balign 4096\n");

static long call(long number, long a, long b, long c, long d, long e)
{
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = 0;
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10),
                     "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

static void patch_raw(uint32_t value)
{
    uint8_t page[4096];
    memcpy(page, patched, sizeof page);
    memcpy(page + (patched_value - patched), &value, sizeof value);
    if (value % 2)
        call(SYS_mprotect, (long)patched, 4096, PROT_READ | PROT_WRITE, 0, 0);
    else
        call(SYS_mmap, (long)patched, 4096, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1);
    memcpy(patched, page, sizeof page);
    call(SYS_mprotect, (long)patched, 4096, PROT_READ | PROT_EXEC, 0, 0);
}

static void patch(uint32_t value)
{
    mprotect(patched, 4096, PROT_READ | PROT_WRITE);
    memcpy(patched_value, &value, sizeof value);
    mprotect(patched, 4096, PROT_READ | PROT_EXEC);
}

static void patch_moved(uint32_t value)
{
    uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        exit(1);
    memcpy(page, patched, 4096);
    memcpy(page + (patched_value - patched), &value, sizeof value);
    mprotect(page, 4096, PROT_READ | PROT_EXEC);
    if (mremap(page, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, patched) != patched)
        exit(1);
}

int main(int argc, char **argv)
{
    void (*how)(uint32_t) = argc < 3 ? patch : strcmp(argv[2],
                                                      "raw") == 0 ? patch_raw : patch_moved;
    uint32_t rounds = argc > 1 ? (uint32_t)atoi(argv[1]) : 2000, wrong = 0;
    for (uint32_t i = 0; i < rounds; i++) {
        how(i);
        for (uint32_t x = 0; x < 20000; x++)
            wrong += patched_function(x) != ((x * 15 + 7) ^ i);
    }
    printf("%u rounds, %u wrong\n", rounds, wrong);
    return wrong != 0;
}

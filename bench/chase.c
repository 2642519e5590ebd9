/* A pointer chase: `chase BYTES LOADS [huge]`. BYTES (a power of two, from 128) are lines that
 * point to one another, all in one cycle without a pattern that prefetchers know; LOADS are made,
 * each of which needs the one before. The load is at the symbol chase_load. With `huge`, memory is
 * in huge pages where the kernel gives them; else in small ones.
 *
 * Line i points to line (a * i + c) mod n: with n a power of two, c odd and a - 1 a multiple of
 * four that visits all lines. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LINE = 64, HUGE = 2 << 20 };

__attribute__((noipa)) static void *chase(void *at, uint64_t loads)
{
    __asm__ volatile("1:\n"
                     ".globl chase_load\n"
                     "chase_load:\n"
                     "    movq (%[at]), %[at]\n"
                     "    subq $1, %[n]\n"
                     "    jnz 1b\n"
                     : [at] "+r"(at), [n] "+r"(loads)
                     :
                     : "cc", "memory");
    return at;
}

int main(int argc, char **argv)
{
    uint64_t bytes = argc > 2 ? strtoull(argv[1], NULL, 0) : 0, lines = bytes / LINE;
    uint64_t loads = argc > 2 ? strtoull(argv[2], NULL, 0) : 0;
    if (lines < 2 || lines & (lines - 1) || !loads) {
        fprintf(stderr, "usage: chase BYTES LOADS [huge]\n");
        return 2;
    }
    char *mapping = mmap(NULL, bytes + HUGE, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) {
        perror("chase: mmap");
        return 1;
    }
    char *base = (char *)(((uintptr_t)mapping + HUGE - 1) & ~(uintptr_t)(HUGE - 1));
    madvise(base, bytes, argc > 3 && !strcmp(argv[3], "huge") ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    for (uint64_t i = 0; i < lines; i++)
        *(void **)(void *)(base + i * LINE) =
            base +
            ((i * UINT64_C(0x5851f42d4c957f2d) + UINT64_C(0x14057b7ef767814f)) & (lines - 1)) *
                LINE;
    printf("%d\n", chase(base, loads) == NULL);
    return 0;
}

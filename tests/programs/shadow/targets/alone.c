/* Instructions that cannot be translated: far returns, which a shadow executes natively, and, asked
 * for, system calls of the old ABI, which it must not: each writes a byte. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../exact/targets/transfers.h"

static volatile uint64_t sink;

static void old_write(const char *text)
{
    uint32_t result = 4;
    __asm__ volatile("int $0x80"
                     : "+a"(result)
                     : "b"(1), "c"(text), "d"(1)
                     : "memory", "r8", "r9", "r10", "r11");
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1000;
    char *text =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    *text = 'o';
    for (int i = 0; i < rounds; i++) {
        far_return();
        for (int k = 0; k < 1000; k++)
            sink = sink + 1;
        if (argc > 2 && i % 1000 == 0)
            old_write(text);
    }
    printf("%lu\n", sink);
    return 0;
}

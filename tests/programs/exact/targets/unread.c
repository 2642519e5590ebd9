/* Code in memory that may be written and executed, but not read: the processor reads it all the
 * same. It is changed, too. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* mov ecx, 1000; 1: lea eax, [rax + n]; dec ecx; jnz 1b; ret */
static const unsigned char code[] = {0xb9, 0xe8, 3,    0,    0,    0x8d, 0x40,
                                     1,    0xff, 0xc9, 0x75, 0xf9, 0xc3};

int main(void)
{
    unsigned char *p = mmap(NULL, 8192, PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint32_t sum = 0;
    if (p == MAP_FAILED)
        return 1;
    memcpy(p + 100, code, sizeof code);
    for (unsigned i = 0; i < 300; i++) {
        p[100 + 7] = (unsigned char)(i & 7);
        __asm__ volatile("call *%1" : "+a"(sum) : "r"(p + 100) : "rcx", "memory", "cc");
    }
    printf("%u\n", sum);
    return 0;
}

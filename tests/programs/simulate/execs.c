/* usage: execs [again]: a loop of 900,000 instructions, and then itself without the argument. */
#include <stdint.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    uint64_t n = 450000;
    __asm__ volatile("1:\n\t"
                     "sub $1, %0\n\t"
                     "jnz 1b"
                     : "+r"(n)::"cc");
    if (argc < 2)
        return 0;
    execl(argv[0], argv[0], (char *)0);
    return 1;
}

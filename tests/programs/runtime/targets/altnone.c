/* Alternate stacks in memory that is not there, set and taken away again and again: no signal of
 * the program's comes meanwhile. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { SIZE = 1 << 16 };

int main(int argc, char **argv)
{
    long times = argc > 1 ? atol(argv[1]) : 1, refused = 0;
    stack_t none = {.ss_flags = SS_DISABLE}, stack = {.ss_size = SIZE}, old;
    stack.ss_sp = mmap(NULL, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (long i = 0; i < times; i++) {
        refused += sigaltstack(&stack, &old) != 0 || !(old.ss_flags & SS_DISABLE);
        refused += sigaltstack(&none, &old) != 0 || old.ss_sp != stack.ss_sp;
    }
    printf("%ld refused\n", refused);
    return 0;
}

/* Programs with small alternate signal stacks: what lies below them must not be written to. Prints
 * how many of those bytes changed, with an alternate stack that nobody uses, and inside a handler
 * that runs on one. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spin.h"

enum { BELOW = 16384, LARGEST = 65536 };
static unsigned char memory[BELOW + LARGEST];

static void on_signal(int number)
{
    volatile unsigned long r = spin(60000000);
    (void)r;
    (void)number;
}

int main(int argc, char **argv)
{
    stack_t stack = {.ss_sp = memory + BELOW, .ss_size = (size_t)atoi(argv[1])};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    int changed = 0;
    memset(memory, 0xa5, sizeof memory);
    if (argc < 2 || sigaltstack(&stack, NULL) != 0)
        return 1;
    sigaction(SIGUSR1, &action, NULL);
    volatile unsigned long r = spin(60000000);
    (void)r;
    if (stack.ss_size >= 4096) /* no handler can run on less where registers are large */
        raise(SIGUSR1);
    for (int i = 0; i < BELOW; i++)
        changed += memory[i] != 0xa5;
    printf("%d bytes changed\n", changed);
    return 0;
}

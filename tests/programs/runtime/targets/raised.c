/* Raises signals whose handlers raise others: raise() returns when the handler has. Prints how
 * often that was otherwise. */
#include <signal.h>
#include <stdio.h>

enum { ROUNDS = 100000 };

static volatile int depth, wrong, calls;

static void on_signal(int number)
{
    depth++;
    calls++;
    wrong += depth != (number == SIGUSR1 ? 1 : 2);
    if (number == SIGUSR1)
        raise(SIGUSR2);
    wrong += depth != (number == SIGUSR1 ? 1 : 2);
    depth--;
}

int main(int argc, char **argv)
{
    static char memory[65536];
    stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = argc > 1 ? SA_ONSTACK : 0};
    (void)argv;
    sigaltstack(&stack, NULL);
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        raise(SIGUSR1);
        wrong += calls != 2 * (i + 1);
    }
    printf("%d wrong of %d\n", wrong, calls);
    return 0;
}

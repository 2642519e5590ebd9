/* Threads that have all set the same alternate signal stack, as Varnish's do: nothing is lost as
 * long as no two handlers run on it at once. Each of them looks at what its calls return. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

#include "spin.h"

enum { THREADS = 4, ROUNDS = 40000 };
static unsigned char memory[65536];

static __attribute__((noinline)) unsigned long below(unsigned depth, unsigned long round)
{
    volatile unsigned long kept = round ^ depth;
    unsigned long r = depth ? below(depth - 1, round) : spin(2000) & 0;
    return r + (kept ^ depth);
}

static void *work(void *argument)
{
    stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory}, now = {0};
    unsigned long wrong = 0;
    if (sigaltstack(&stack, NULL) != 0)
        return argument;
    for (unsigned long round = 0; round < ROUNDS; round++)
        wrong += below(20, round) != 21 * round;
    wrong += sigaltstack(NULL, &now) != 0 || now.ss_sp != memory || now.ss_size != sizeof memory;
    return (void *)wrong;
}

int main(void)
{
    pthread_t thread[THREADS];
    unsigned long wrong = 0;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, work, NULL);
    for (int i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(thread[i], &result);
        wrong += (unsigned long)result;
    }
    printf("%lu wrong\n", wrong);
    return 0;
}

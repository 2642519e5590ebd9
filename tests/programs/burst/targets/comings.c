/* One thread after the other, all in the same code. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void *run(void *argument)
{
    volatile uint64_t *x = argument;
    for (unsigned i = 0; i < 200000; i++)
        *x = *x * 6364136223846793005u + i;
    return NULL;
}

int main(int argc, char **argv)
{
    uint64_t x = 1, rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 2000;
    for (uint64_t i = 0; i < rounds; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, run, &x);
        pthread_join(thread, NULL);
    }
    printf("%016lx\n", x);
    return 0;
}

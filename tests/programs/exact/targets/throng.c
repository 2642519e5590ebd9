/* Threads that begin as fast as they can be made, then wait. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { THREADS = 200, STACK = 1 << 16 };

static void *wait_as_told(void *gate)
{
    pthread_barrier_wait(gate);
    return NULL;
}

int main(void)
{
    static pthread_barrier_t gate;
    pthread_t threads[THREADS];
    pthread_attr_t small;
    pthread_barrier_init(&gate, NULL, THREADS + 1);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK);
    for (unsigned i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], &small, wait_as_told, &gate))
            return 1;
    pthread_barrier_wait(&gate);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    puts("done");
    return 3;
}

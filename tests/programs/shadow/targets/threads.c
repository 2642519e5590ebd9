/* Threads that take turns with a lock, wait for each other, and allocate. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 64, ROUNDS = 3000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static uint64_t sum;

static void *run(void *argument)
{
    uint64_t x = (uintptr_t)argument;
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < ROUNDS; i++) {
        for (int k = 0; k < 1000; k++)
            x = x * 6364136223846793005u + 1442695040888963407u;
        void *memory = malloc(x % 3000 + 1);
        *(char *)memory = 1;
        pthread_mutex_lock(&lock);
        sum += x & 1;
        pthread_mutex_unlock(&lock);
        free(memory);
    }
    pthread_barrier_wait(&barrier);
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (uintptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, run, (void *)i) != 0)
            return 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}

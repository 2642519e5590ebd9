/* Takes all keys of thread-specific data that the C library has: by pthread_key_create, and with an
 * argument by tss_create. Threads before that and afterwards, whose values and destructors are the
 * program's. */
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <threads.h>

#include "spin.h"

enum { THREADS = 20, WORK = 2000000 };

static pthread_key_t keys[PTHREAD_KEYS_MAX];
static int made, ended, wrong; /* atomic */
static pthread_barrier_t barrier;

static void end(void *value)
{
    __atomic_fetch_add(&ended, 1, __ATOMIC_RELAXED);
    wrong += *(int *)value != 7;
}

__attribute__((noinline)) static void *key_worker(void *waits)
{
    static int value = 7;
    volatile unsigned long r = spin(WORK);
    if (waits) { /* until there are keys */
        pthread_barrier_wait(&barrier);
        pthread_barrier_wait(&barrier);
    }
    for (int i = 0; i < made; i++) {
        wrong += pthread_getspecific(keys[i]) != NULL;
        pthread_setspecific(keys[i], &value);
    }
    r = spin(WORK);
    (void)r;
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread[THREADS];
    (void)argv;
    pthread_barrier_init(&barrier, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, key_worker, &barrier);
    pthread_barrier_wait(&barrier);
    for (; made < PTHREAD_KEYS_MAX; made++)
        if (argc > 1 ? tss_create(&keys[made], end) != thrd_success
                     : pthread_key_create(&keys[made], end) != 0)
            break;
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&thread[0], NULL, key_worker, NULL);
        pthread_join(thread[0], NULL);
    }
    pthread_key_t more;
    printf("keys %d one more %d ended %d wrong %d\n", made, pthread_key_create(&more, NULL), ended,
           wrong);
    return 0;
}

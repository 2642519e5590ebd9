/* So many threads begin one after the other that several are always about to; none of them ends
 * before all have begun. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_barrier_t all;

static void *wait_for_all(void *unused)
{
    pthread_barrier_wait(&all);
    return unused;
}

int main(int argc, char **argv)
{
    unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 1000;
    pthread_t *threads = calloc(count, sizeof *threads);
    pthread_barrier_init(&all, NULL, count + 1);
    for (unsigned i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, wait_for_all, NULL) != 0)
            return 1;
    pthread_barrier_wait(&all);
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    printf("%u threads\n", count);
    return 0;
}

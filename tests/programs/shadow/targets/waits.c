/* One thread works, and hands what it has done to another one, which has nothing else to do: a
 * shadow of the first alone ends there. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

static sem_t done, taken;
static int turns;

static void *work(void *result)
{
    unsigned long x = 1;
    for (int i = 0; i < turns; i++) {
        for (int k = 0; k < 3000000; k++)
            x = x * 6364136223846793005ul + 1442695040888963407ul;
        sem_post(&done);
        sem_wait(&taken);
    }
    *(unsigned long *)result = x;
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    unsigned long result;
    turns = argc > 1 ? atoi(argv[1]) : 1;
    sem_init(&done, 0, 0);
    sem_init(&taken, 0, 0);
    if (pthread_create(&thread, NULL, work, &result) != 0)
        return 1;
    for (int i = 0; i < turns; i++) {
        sem_wait(&done);
        sem_post(&taken);
    }
    pthread_join(thread, NULL);
    printf("%lu\n", result);
    return 0;
}

/* Threads that come and go, forks among them; all compute the same, and share code and locks. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 8 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t total;

static uint64_t compute(uint64_t x)
{
    char text[64];
    for (unsigned i = 0; i < 3000; i++) {
        x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
        snprintf(text, sizeof text, "%lx %g", (unsigned long)x, (double)(x >> 20));
        x ^= strlen(text) + (unsigned char)text[3];
        char *copy = strdup(text);
        x += strtoull(copy, NULL, 16);
        free(copy);
    }
    return x;
}

static void *run(void *argument)
{
    uint64_t x = compute((uint64_t)argument);
    pthread_mutex_lock(&lock);
    total += x;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(int argc, char **argv)
{
    uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 20, failed = 0;
    for (uint64_t i = 0; i < rounds; i++) {
        pthread_t threads[THREADS];
        for (uint64_t k = 0; k < THREADS; k++)
            pthread_create(&threads[k], NULL, run, (void *)(i * THREADS + k));
        pid_t child = fork();
        if (child == 0)
            _exit(compute(i) == compute(i) ? 0 : 1);
        int status = 1;
        waitpid(child, &status, 0);
        failed += status != 0;
        for (unsigned k = 0; k < THREADS; k++)
            pthread_join(threads[k], NULL);
    }
    printf("%016lx %lu\n", total, failed);
    return failed != 0;
}

/* Threads that free and reallocate each other's blocks, while the process forks and gets
 * signals. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SLOTS = 4096, THREADS = 6, ROUNDS = 60000, FORKS = 12 };

static void *volatile slots[SLOTS];

static void *run(void *argument)
{
    unsigned x = (unsigned)(size_t)argument * 77 + 1;
    for (int i = 0; i < ROUNDS; i++) {
        x = x * 1664525 + 1013904223;
        void *p = malloc((x >> 8) % 300 + 1);
        memset(p, 7, 1);
        p = __atomic_exchange_n(&slots[(x >> 16) % SLOTS], p, __ATOMIC_ACQ_REL);
        if (p && (x & 4))
            p = realloc(p, (x >> 5) % 900 + 1);
        free(p);
    }
    return NULL;
}

static void nothing(int number)
{
    (void)number;
}

static int child(void)
{
    for (int i = 0; i < 100; i++)
        free(malloc(1000));
    for (int i = 0; i < 50; i++)
        free(slots[i]);
    return 0;
}

int main(void)
{
    pthread_t threads[THREADS];
    int bad = 0;
    signal(SIGALRM, nothing);
    ualarm(2000, 2000);
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, run, (void *)i);
    for (int i = 0; i < FORKS; i++) {
        int status;
        pid_t pid = fork();
        if (pid == 0)
            _exit(child());
        while (waitpid(pid, &status, 0) < 0)
            ;
        bad += status != 0;
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < SLOTS; i++)
        free(slots[i]);
    printf("%d\n", bad);
    return 0;
}

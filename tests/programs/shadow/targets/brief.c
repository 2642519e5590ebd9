/* Processes and threads that end soon after they have begun. argv: "processes" or "threads", and
 * how many, in a child of this process. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *work(void *rounds)
{
    volatile uint64_t x = 1;
    for (uintptr_t i = 0; i < (uintptr_t)rounds * 100000; i++)
        x = x * 31 + i;
    return NULL;
}

static int processes(unsigned count)
{
    int wrong = 0;
    for (unsigned i = 0; i < count; i++) {
        pid_t child = fork();
        int status;
        if (child == 0) {
            work((void *)(uintptr_t)(10 + i % 7));
            exit(3);
        }
        wrong += waitpid(-1, &status, 0) != child || WEXITSTATUS(status) != 3;
    }
    return wrong;
}

static int threads(unsigned count)
{
    int wrong = 0;
    for (unsigned i = 0; i < count; i++) {
        pthread_t thread;
        wrong += pthread_create(&thread, NULL, work, (void *)(uintptr_t)(10 + i % 7)) != 0 ||
                 pthread_join(thread, NULL) != 0;
    }
    work((void *)1000);
    return wrong;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    unsigned count = (unsigned)strtoul(argv[2], NULL, 10);
    pid_t child = fork();
    if (child == 0)
        exit(strcmp(argv[1], "threads") == 0 ? threads(count) : processes(count));
    int status;
    if (waitpid(-1, &status, 0) != child || !WIFEXITED(status))
        return 1;
    printf("%d wrong\n", WEXITSTATUS(status));
    return WEXITSTATUS(status) != 0;
}

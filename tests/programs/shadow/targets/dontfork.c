/* Works in memory that it keeps from its children, as V8 does, and sees to it that they do not have
 * it: a child exits with 1 if it does. "threads": beside a second thread that does the same;
 * "forks": and there are many children. */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { AREAS = 3, SIZE = 1 << 16, WORDS = SIZE / 8, CHILDREN = 20, MANY = 1000 };

static uint64_t rounds = 100, children = CHILDREN;

static __attribute__((noinline)) uint64_t work(uint64_t *words, uint64_t sum)
{
    for (int i = 0; i < WORDS; i++) {
        words[i] = words[i] * 31 + sum;
        sum += words[i];
    }
    return sum;
}

static int is_there(void *area)
{
    unsigned char pages[SIZE / 4096];
    return mincore(area, SIZE, pages) == 0 || errno != ENOMEM;
}

static uint64_t child_has(void *const *areas)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        int some = 0;
        for (int i = 0; i < AREAS; i++)
            some |= is_there(areas[i]);
        _exit(some);
    }
    waitpid(child, &status, 0);
    return status != 0;
}

static void *run(void *wrong)
{
    uint64_t sum = 1;
    void *areas[AREAS];
    for (int i = 0; i < AREAS; i++) {
        char *area =
            mmap(NULL, 3 * SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        areas[i] = area + SIZE; /* a part of a mapping */
        madvise(areas[i], SIZE, MADV_DONTFORK);
    }
    for (uint64_t round = 1; round <= rounds; round++) {
        sum = work(areas[round % AREAS], sum);
        if (wrong && round % (rounds / children) == 0)
            *(uint64_t *)wrong += child_has(areas);
    }
    return (void *)sum;
}

int main(int argc, char **argv)
{
    uint64_t wrong = 0;
    void *other = NULL;
    pthread_t thread;
    rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : rounds;
    int many = argc > 2 && !strcmp(argv[2], "forks"),
        threads = many || (argc > 2 && !strcmp(argv[2], "threads"));
    children = many ? MANY : CHILDREN;
    if (threads && pthread_create(&thread, NULL, run, NULL))
        return 2;
    uint64_t sum = (uint64_t)run(&wrong);
    if (threads)
        pthread_join(thread, &other);
    printf("%llx %llx %llu\n", (unsigned long long)sum, (unsigned long long)(uint64_t)other,
           (unsigned long long)wrong);
    return wrong != 0;
}

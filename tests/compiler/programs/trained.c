/* Work of four threads whose branches go one way nearly always. It goes on in a forked child, and
 * in a program that this one executes; with COUNTED (-fprofile-generate) it writes its counters in
 * between. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef COUNTED
extern void __gcov_dump(void), __gcov_reset(void);
#endif

static long rounds;

__attribute__((noinline)) static long rare(long x)
{
    return x * 3 + (x >> 3);
}

static inline long mixed(long x, long i)
{
    if (x % 64 == 63)
        return rare(x);
    return i & 1 ? x + 7 : x ^ i;
}

static void *work(void *sum)
{
    long s = 0;
    for (long i = 0; i < rounds; i++)
        s = mixed(s + i, i);
    *(long *)sum = s;
    return NULL;
}

static void work_all(void)
{
    enum { THREADS = 4 };
    pthread_t ids[THREADS];
    long sums[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&ids[i], NULL, work, &sums[i]);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(ids[i], NULL);
        printf("%ld\n", sums[i]);
    }
    fflush(stdout);
}

int main(int argc, char **argv)
{
    rounds = argc > 1 ? atol(argv[1]) : 1000;
    work_all();
    if (argc < 3)
        return 0;
#ifdef COUNTED
    __gcov_dump();
    __gcov_reset();
#endif
    work_all();
    pid_t child = fork();
    if (child == 0) {
        work_all();
        return 0;
    }
    waitpid(child, NULL, 0);
    execl(argv[0], argv[0], argv[1], (char *)NULL);
    return 1;
}

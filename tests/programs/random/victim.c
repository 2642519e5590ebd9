/* Computes in two threads, and forks a child every few milliseconds that computes for as long; ends
 * after MS milliseconds with "done" and status 7. Its children end with it, whatever ends it.
 *
 *     victim MS */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CHILD_MS = 8 };

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static __attribute__((noinline)) uint64_t deeper(unsigned levels, uint64_t value)
{
    for (unsigned i = 0; i < 32; i++)
        value = (value ^ value >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return levels ? deeper(levels - 1, value) + levels : value;
}

static void compute_until(uint64_t end)
{
    while (now_ms() < end)
        for (unsigned i = 0; i < 100; i++) {
            uint64_t value = deeper(i % 24, i);
            __asm__ volatile("" : : "r"(value));
        }
}

static void *helper(void *end)
{
    compute_until(*(uint64_t *)end);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    static uint64_t end;
    end = now_ms() + (argc > 1 ? strtoul(argv[1], NULL, 10) : 100);
    pthread_create(&thread, NULL, helper, &end);
    while (now_ms() < end) {
        pid_t parent = getpid(), pid = fork();
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() == parent)
                compute_until(now_ms() + CHILD_MS);
            _exit(3);
        }
        compute_until(now_ms() + CHILD_MS / 2);
        waitpid(pid, NULL, 0);
    }
    pthread_join(thread, NULL);
    puts("done");
    return 7;
}

/* Threads and children that say on which processors they may run, and see that they do. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spin.h"

enum { MOVES = 1500, CHILDREN = 40, MOST = 8 };

static cpu_set_t all;
static int cpus[MOST], count;

static int only(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    return pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

static int is_on(int cpu)
{
    unsigned there = 0;
    syscall(SYS_getcpu, &there, NULL, NULL);
    return sched_getcpu() == cpu && (int)there == cpu;
}

static void *moves(void *unused)
{
    static unsigned wrong; /* atomic */
    for (unsigned i = 0; i < MOVES; i++) {
        int cpu = cpus[i % (unsigned)count];
        __atomic_add_fetch(&wrong, only(cpu) != 0 || !is_on(cpu), __ATOMIC_RELAXED);
        spin(2000);
        __atomic_add_fetch(&wrong, !is_on(cpu), __ATOMIC_RELAXED);
    }
    return unused ? NULL : (void *)&wrong;
}

static void *stays(void *cpu)
{
    cpu_set_t set;
    spin(1000000);
    pthread_getaffinity_np(pthread_self(), sizeof set, &set);
    return (void *)(long)(is_on(*(int *)cpu) && CPU_COUNT(&set) == 1);
}

static void threads(void)
{
    pthread_t t[3];
    void *result = NULL;
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, moves, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], &result);
    printf("moved, wrong %u\n", *(unsigned *)result);
    for (int i = 0; i < count; i++) {
        pthread_attr_t a;
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET((size_t)cpus[i], &set);
        pthread_attr_init(&a);
        pthread_attr_setaffinity_np(&a, sizeof set, &set);
        pthread_create(&t[0], &a, stays, &cpus[i]);
        pthread_join(t[0], &result);
        printf("made there: %ld\n", (long)result);
    }
}

static void refused(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    printf("none: %d", sched_setaffinity(0, sizeof set, &set) ? errno : 0);
    CPU_SET(CPU_SETSIZE - 1, &set);
    printf(", one that is not there: %d", sched_setaffinity(0, sizeof set, &set) ? errno : 0);
    printf(", too short: %d", sched_getaffinity(0, 1, &set) ? errno : 0);
    printf(", bad: %d", sched_setaffinity(0, sizeof set, (void *)8) ? errno : 0);
    printf(", nobody: %d\n", sched_getaffinity(1 << 30, sizeof set, &set) ? errno : 0);
}

static void inherited(void)
{
    for (volatile int i = 0; i < CHILDREN; i++) {
        int cpu = cpus[i % count], status;
        only(cpu);
        pid_t child = i % 2 ? fork() : vfork();
        if (!child)
            _exit(is_on(cpu) ? 7 : 1);
        waitpid(child, &status, 0);
        if (status != 7 << 8)
            printf("child %d: %d\n", i, status);
    }
    printf("all again: %d\n", sched_setaffinity(0, sizeof all, &all));
}

int main(void)
{
    printf("may: %d, %ld bytes\n", sched_getaffinity(0, sizeof all, &all),
           syscall(SYS_sched_getaffinity, 0, sizeof all, &all));
    for (int i = 0; i < CPU_SETSIZE && count < MOST; i++)
        if (CPU_ISSET((size_t)i, &all))
            cpus[count++] = i;
    threads();
    refused();
    inherited();
    return 3;
}

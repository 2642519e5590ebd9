/* Threads in masses: made, joined, detached, cancelled, signalled, and made by a raw clone. */
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static __thread uint64_t own = 17;
static uint64_t total;
static volatile int caught;
static sem_t ready;

static void *brief(void *argument)
{
    uint64_t n = (uint64_t)argument;
    char text[64];
    for (int i = 0; i < 50; i++) {
        own = own * 31 + n;
        snprintf(text, sizeof text, "%lu %f", own, (double)own / 3);
    }
    __atomic_add_fetch(&total, own + strlen(text) - strlen(text), __ATOMIC_RELAXED);
    return argument;
}

static void *forever(void *argument)
{
    sem_post(&ready);
    for (;;) {
        own++;
        pthread_testcancel();
    }
    return argument;
}

static void on_signal(int number)
{
    (void)number;
    __atomic_add_fetch(&caught, 1, __ATOMIC_RELAXED);
}

static void *target(void *argument)
{
    volatile int *stop = argument;
    sem_post(&ready);
    while (!*stop)
        own++;
    return NULL;
}

static int raw(void *argument)
{
    __atomic_add_fetch((uint64_t *)argument, 5, __ATOMIC_RELAXED);
    return 0;
}

static void raw_threads(void)
{
    uint64_t sum = 0;
    for (int i = 0; i < 50; i++) {
        char *stack = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        volatile int tid = 1;
        clone(raw, stack + 65536,
              CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
                  CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID,
              &sum, NULL, NULL, (void *)&tid);
        while (__atomic_load_n(&tid, __ATOMIC_ACQUIRE))
            sched_yield();
        munmap(stack, 65536);
    }
    printf("raw %lu\n", sum);
}

int main(void)
{
    pthread_t threads[40];
    for (int round = 0; round < 25; round++) {
        for (uint64_t i = 0; i < 40; i++)
            pthread_create(&threads[i], NULL, brief, (void *)i);
        for (int i = 0; i < 40; i++)
            pthread_join(threads[i], NULL);
    }
    printf("total %lu own %lu\n", total, own);
    sem_init(&ready, 0, 0);
    for (int i = 0; i < 20; i++) {
        void *result;
        pthread_create(&threads[0], NULL, forever, NULL);
        sem_wait(&ready);
        pthread_cancel(threads[0]);
        pthread_join(threads[0], &result);
        if (result != PTHREAD_CANCELED)
            puts("not cancelled");
    }
    volatile int stop = 0;
    signal(SIGUSR1, on_signal);
    pthread_create(&threads[0], NULL, target, (void *)&stop);
    sem_wait(&ready);
    for (int i = 0; i < 200; i++) {
        int before = __atomic_load_n(&caught, __ATOMIC_RELAXED);
        pthread_kill(threads[0], SIGUSR1);
        while (__atomic_load_n(&caught, __ATOMIC_RELAXED) == before)
            sched_yield();
    }
    stop = 1;
    pthread_join(threads[0], NULL);
    printf("caught %d\n", caught);
    raw_threads();
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    for (int i = 0; i < 10; i++)
        pthread_create(&threads[0], &detached, target, (void *)&stop);
    for (int i = 0; i < 10; i++)
        sem_wait(&ready);
    puts("end");
    pthread_exit(NULL); /* the process ends with its last thread */
}

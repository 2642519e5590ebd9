/* Coroutines with a switch of their own, as boost.context has it: their stacks are freed and made
 * anew, and with the argument "migrate" they go on in another thread each time. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "switch_stack.h"

enum { COROUTINES = 8, STACK = 65536, DEPTH = 5, SAVED = 7, PERIOD = 1000, THREADS = 2 };

static struct coroutine {
    char *memory;
    void *sp, *back;
} coroutines[COROUTINES];
static __thread struct coroutine *current;
static long count;

/* Not inlined: a coroutine that has migrated must not find its old thread's variable. */
__attribute__((noinline)) static struct coroutine *running(void)
{
    __asm__ volatile("" ::: "memory");
    return current;
}

__attribute__((noinline)) static unsigned long leaf(unsigned long x)
{
    for (int i = 0; i < 20; i++)
        x = x * 6364136223846793005u + 1442695040888963407u;
    return x;
}

__attribute__((noinline)) static unsigned long middle(unsigned long x, int depth)
{
    unsigned long result = depth ? middle(x, depth - 1) : leaf(x);
    if (depth == 2) {
        struct coroutine *c = running();
        switch_stack(&c->sp, c->back);
    }
    __asm__ volatile("" : "+r"(result));
    return result + 1;
}

static void body(void)
{
    for (unsigned long x = 1;;) {
        x = middle(x, DEPTH);
        __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
    }
}

static void make(struct coroutine *c)
{
    if (c->memory)
        munmap(c->memory, STACK);
    c->memory = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (c->memory == MAP_FAILED)
        exit(1);
    void **top = (void **)(void *)(c->memory + STACK - 64);
    top[0] = (void *)abort;
    top[-1] = (void *)body;
    c->sp = top - SAVED;
}

__attribute__((noinline)) static void enter(struct coroutine *c)
{
    current = c;
    switch_stack(&c->back, c->sp);
    __asm__ volatile("" ::: "memory");
}

/* One after the other: the two threads take turns. */
static pthread_mutex_t turn_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn_changed = PTHREAD_COND_INITIALIZER;
static int turn;

static void *take_turns(void *number)
{
    int mine = *(int *)number;
    for (int round = 0; round < 3000; round++) {
        pthread_mutex_lock(&turn_lock);
        while (turn != mine)
            pthread_cond_wait(&turn_changed, &turn_lock);
        pthread_mutex_unlock(&turn_lock);
        for (int i = 0; i < PERIOD; i++)
            enter(&coroutines[i % COROUTINES]);
        pthread_mutex_lock(&turn_lock);
        turn = (turn + 1) % THREADS;
        pthread_cond_broadcast(&turn_changed);
        pthread_mutex_unlock(&turn_lock);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static int numbers[THREADS] = {0, 1};
    pthread_t threads[THREADS];
    for (int i = 0; i < COROUTINES; i++)
        make(&coroutines[i]);
    if (argc > 1 && !strcmp(argv[1], "migrate")) {
        for (int i = 0; i < THREADS; i++)
            if (pthread_create(&threads[i], NULL, take_turns, &numbers[i]))
                return 1;
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
    } else {
        for (long i = 0; i < 5000000; i++) {
            enter(&coroutines[i % COROUTINES]);
            if (i % PERIOD == PERIOD - 1)
                make(&coroutines[i / PERIOD % COROUTINES]);
        }
    }
    printf("%ld\n", count);
    return 0;
}

/* Coroutines that share one stack: each is copied away when another one runs, and put back later.
 * Meanwhile the program goes on, on its own stack ("apart") or right below what it has copied
 * ("below"). */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "switch_stack.h"

enum { COROUTINES = 16, STACK = 65536, DEPTH = 6, SWITCHES = 4000 };

static struct coroutine {
    char *copy, *sp, *copied; /* the latter: from here on the copy is complete */
    uint64_t sum;
} coroutines[COROUTINES], *current;
static char *area;
static void *driver;
static int below;

static __attribute__((noinline)) uint64_t leaf(uint64_t x, unsigned rounds)
{
    for (unsigned i = 0; i < rounds; i++)
        x = x * 6364136223846793005u + 1442695040888963407u;
    return x;
}

static __attribute__((noinline)) void copy_away(struct coroutine *c, char *from)
{
    memcpy(c->copy + (from - area), from, (size_t)(c->copied - from));
    c->copied = from;
    c->sum += leaf(c->sum, 40000) >> 63;
}

static __attribute__((noinline)) void leave(void)
{
    struct coroutine *c = current;
    if (below)
        copy_away(c, __builtin_frame_address(0));
    switch_stack((void **)&c->sp, driver);
}

/* Two functions, with frames of different sizes. */
#define CALLS(name, next, size)                                                                    \
    static __attribute__((noinline)) uint64_t name(uint64_t x, int depth)                          \
    {                                                                                              \
        volatile char room[size];                                                                  \
        room[0] = (char)leaf(x, 20000);                                                            \
        uint64_t result = depth ? next(x + 1, depth - 1) : (leave(), leaf(x, 20000));              \
        __asm__ volatile("" : "+r"(result));                                                       \
        return result + (uint64_t)room[0] + size;                                                  \
    }
static uint64_t odd(uint64_t x, int depth);
CALLS(even, odd, 40)
CALLS(odd, even, 120)

static void body(void)
{
    for (uint64_t x = 1;;) {
        x = even(x, DEPTH);
        current->sum += x;
    }
}

static __attribute__((noinline)) void run(struct coroutine *c)
{
    char *sp = c->sp;
    current = c;
    memcpy(sp, c->copy + (sp - area), (size_t)(area + STACK - sp));
    c->copied = area + STACK;
    switch_stack(&driver, sp);
    copy_away(c, c->sp);
}

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    (void)argv;
    below = argc > 1;
    area = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (area == MAP_FAILED)
        return 1;
    for (int i = 0; i < COROUTINES; i++) {
        struct coroutine *c = &coroutines[i];
        c->copy = calloc(1, STACK);
        c->sp = area + STACK - 64 - 7 * sizeof(void *);
        void **top = (void **)(void *)(c->copy + STACK - 64);
        top[0] = (void *)abort;
        top[-1] = (void *)body;
    }
    for (int i = 0; i < SWITCHES; i++)
        run(&coroutines[i % COROUTINES]);
    for (int i = 0; i < COROUTINES; i++)
        sum += coroutines[i].sum;
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}

/* Works on stacks of a few kB, between memory that nobody may write to. Argument: of whom (context:
 * makecontext's; clone: of a thread made by clone; pthread: the smallest that libc allows; down: a
 * thread's, on memory that grows down as it is used). */
#include <alloca.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "spin.h"

enum { AROUND = 16384, SMALL = 4096, LONG = 300000000, GROWN = 512 << 10 };

static unsigned char memory[AROUND + SMALL + AROUND] __attribute__((aligned(64)));
static ucontext_t from, to;
static volatile unsigned long result;
static volatile int done;

/* Deep enough that hardly a signal's frame fits below. */
__attribute__((noinline)) static void small_worker(void)
{
    volatile char deep[SMALL - 1536];
    deep[0] = deep[sizeof deep - 1] = 1;
    result += spin(LONG);
}

static int changed(void)
{
    int count = 0;
    for (int i = 0; i < AROUND; i++)
        count += (memory[i] != 0xa5) + (memory[AROUND + SMALL + i] != 0xa5);
    return count;
}

static int on_context(void)
{
    getcontext(&to);
    to.uc_stack.ss_sp = memory + AROUND;
    to.uc_stack.ss_size = SMALL;
    to.uc_link = &from;
    makecontext(&to, small_worker, 0);
    return swapcontext(&from, &to);
}

static int cloned(void *unused)
{
    (void)unused;
    small_worker();
    done = 1;
    return 0;
}

static int on_clone(void)
{
    pid_t flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
    if (clone(cloned, memory + AROUND + SMALL, flags, NULL) < 0)
        return 1;
    while (!done)
        usleep(1000);
    usleep(10000); /* until it has left its stack */
    return 0;
}

static void *pthread_worker(void *unused)
{
    small_worker();
    return unused;
}

/* A little at a time, as the kernel wants it. */
__attribute__((noinline)) static void go_down(int pages)
{
    volatile char page[4096];
    page[0] = 1;
    result += spin(LONG / 256);
    if (pages)
        go_down(pages - 1);
    page[1] = page[0];
}

static void *down_worker(void *unused)
{
    go_down(GROWN / 4096 - 8);
    return unused;
}

static int on_thread(void *at, size_t size, void *(*start)(void *))
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    if (at ? pthread_attr_setstack(&attributes, at, size)
           : pthread_attr_setstacksize(&attributes, size))
        return 1;
    return pthread_create(&thread, &attributes, start, NULL) || pthread_join(thread, NULL);
}

/* Only the uppermost pages are there at first; below is a hole. */
static int on_down(void)
{
    enum { FIRST = 64 << 10, HOLE = 4 << 20 };
    char *place = mmap(NULL, HOLE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(place, HOLE);
    char *top = mmap(place + HOLE - FIRST, FIRST, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN | MAP_FIXED, -1, 0);
    if (top == MAP_FAILED)
        return 1;
    return on_thread(top + FIRST - GROWN, GROWN, down_worker);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "context";
    memset(memory, 0xa5, sizeof memory);
    int wrong = !strcmp(what, "context") ? on_context()
                : !strcmp(what, "clone") ? on_clone()
                : !strcmp(what, "pthread")
                    ? on_thread(NULL, (size_t)PTHREAD_STACK_MIN, pthread_worker)
                    : on_down();
    printf("%s %d, %d bytes changed\n", what, wrong, changed());
    return wrong;
}

/* A thread made by a raw clone(2), without pthread_create and without thread-local storage of its
 * own, burns CPU in raw_worker(). */
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "spin.h"

static volatile int done;

__attribute__((noinline)) static unsigned long raw_worker(void)
{
    unsigned long r = 0;
    for (int i = 0; i < 500; i++)
        r += spin(1000000);
    return r;
}

static int entry(void *argument)
{
    (void)argument;
    volatile unsigned long r = raw_worker();
    (void)r;
    done = 1;
    syscall(SYS_exit, 0);
    return 0;
}

int main(void)
{
    char *stack = malloc(1 << 20);
    if (clone(entry, stack + (1 << 20),
              CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM,
              NULL) < 0)
        return 1;
    while (!done)
        usleep(10000);
    puts("done");
    return 0;
}

/* Functions whose paths are known. argv[1]: how often each is called. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEPT __attribute__((noipa))

static volatile int sink;
static jmp_buf back;

KEPT int early(int x)
{
    if (x % 4 == 0)
        return sink = 1;
    sink = 2;
    if (x % 4 == 1)
        return sink = 3;
    sink = 4;
    return sink = 5;
}

KEPT int rounds(int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++) {
        if (i == 3) {
            sink = 6;
            continue;
        }
        if (i == 7) {
            sink = 7;
            break;
        }
        sum += sink;
    }
    return sum;
}

KEPT int deep(int n)
{
    if (n == 0)
        return sink = 8;
    int below = deep(n - 1);
    if (below & 1)
        sink = 9;
    return below + 1;
}

KEPT void thrower(int x)
{
    sink = 10;
    if (x & 1)
        longjmp(back, 1);
    sink = 11;
}

KEPT void through(int x)
{
    sink = 12;
    thrower(x);
    sink = 13;
}

/* Left as it is: it calls setjmp. */
KEPT void catcher(int x)
{
    if (setjmp(back) == 0)
        through(x);
}

KEPT void handler(int number)
{
    if (number == SIGUSR1)
        sink = 14;
}

KEPT int interrupted(int x)
{
    if (x & 1)
        sink = 15;
    raise(SIGUSR1);
    if (x & 2)
        sink = 16;
    return sink;
}

KEPT void *in_thread(void *times)
{
    for (int i = 0; i < *(int *)times; i++)
        early(i);
    return NULL;
}

KEPT void left(int status)
{
    if (status)
        sink = 17;
    exit(status);
}

KEPT void forked(void)
{
    pid_t child = fork();
    if (child == 0)
        left(3);
    waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
    int times = argc > 1 ? atoi(argv[1]) : 8;
    pthread_t thread;
    signal(SIGUSR1, handler);
    pthread_create(&thread, NULL, in_thread, &times);
    for (int i = 0; i < times; i++) {
        early(i);
        rounds(i % 9);
        deep(i % 5);
        catcher(i);
        interrupted(i);
    }
    pthread_join(thread, NULL);
    forked();
    left(0);
}

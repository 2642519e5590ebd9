/* 200 short children, some nested, some by vfork and exec, each does a little work. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spin.h"

__attribute__((noinline)) static void child_work(void)
{
    volatile unsigned long r = spin(2000000);
    (void)r;
}

static int finish(pid_t pid)
{
    int status;
    return waitpid(pid, &status, 0) == pid ? WEXITSTATUS(status) : 1000;
}

/* A child that works and has a child of its own that works. */
__attribute__((noreturn)) static void child(void)
{
    child_work();
    pid_t pid = fork();
    if (pid == 0) {
        child_work();
        _exit(7);
    }
    _exit(finish(pid));
}

__attribute__((noinline)) static pid_t spawn_by_vfork(void)
{
    pid_t pid = vfork();
    if (pid == 0) {
        execlp("true", "true", (char *)NULL);
        _exit(99);
    }
    return pid;
}

int main(void)
{
    int sum = 0;
    for (int i = 0; i < 100; i++) {
        pid_t pid = i % 5 == 4 ? spawn_by_vfork() : fork();
        if (pid == 0)
            child();
        sum += finish(pid);
    }
    printf("%d\n", sum);
    return 0;
}

/* 200 short children, some nested, some by vfork and exec, each does a little work. */
#define _GNU_SOURCE
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

static void child(int depth)
{
    child_work();
    if (depth) {
        pid_t pid = fork();
        if (pid == 0)
            child(depth - 1);
        int status;
        waitpid(pid, &status, 0);
        _exit(WEXITSTATUS(status));
    }
    _exit(7);
}

int main(void)
{
    int sum = 0;
    for (int i = 0; i < 100; i++) {
        pid_t pid = i % 5 == 4 ? vfork() : fork();
        if (pid == 0) {
            if (i % 5 == 4) {
                execlp("true", "true", (char *)NULL);
                _exit(99);
            }
            child(1);
        }
        int status;
        if (waitpid(pid, &status, 0) != pid)
            return 1;
        sum += WEXITSTATUS(status);
    }
    printf("%d\n", sum);
    return 0;
}

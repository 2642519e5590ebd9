/* A child that looks at what those that wait for its shadows end by: not by a signal. */
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile uint64_t sink;

static int look(void)
{
    for (int i = 0; i < 1500; i++) {
        siginfo_t info = {.si_pid = 0};
        for (int k = 0; k < 100000; k++)
            sink = sink * 31 + (uint64_t)k;
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 && info.si_pid &&
            info.si_code != CLD_EXITED) {
            printf("one was killed by signal %d\n", info.si_status);
            return 1;
        }
    }
    return 0;
}

int main(void)
{
    int status;
    pid_t child = fork();
    if (child == 0)
        return look();
    return waitpid(child, &status, 0) != child || status != 0;
}

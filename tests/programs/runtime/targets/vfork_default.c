/* Children by vfork that set SIGTRAP's action before they execute a program, or with a third
 * argument do not: vfork_default TIMES [plainly]. Prints how many did not end well. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

typedef void action_of(int);

static pid_t child(char **arguments, action_of **action)
{
    pid_t pid = vfork();
    if (pid)
        return pid;
    if (action)
        signal(SIGTRAP, *action);
    execv(arguments[0], arguments);
    _exit(1);
}

int main(int argc, char **argv)
{
    char *arguments[] = {"/bin/true", NULL};
    long bad = 0, times = argc > 1 ? atol(argv[1]) : 1;
    for (long i = 0; i < times; i++) {
        int status = -1;
        action_of *action = i % 2 ? SIG_DFL : SIG_IGN;
        waitpid(child(arguments, argc > 2 ? NULL : &action), &status, 0);
        bad += status != 0;
    }
    printf("%ld of %ld\n", bad, times);
    return 0;
}

/* Works in a thread and in a child, after it has asked whether there are seccomp filters (as Firefox and libseccomp do), or, with an
 * argument, after it has worked and given up new privileges, as one does before a sandbox. */
#include <errno.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spin.h"

static int asks(void)
{
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) == 0 || errno != EFAULT ||
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, NULL) == 0 || errno != EFAULT ||
           syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, NULL) == 0 || errno != EINVAL;
}

static void *work(void *argument)
{
    *(volatile unsigned long *)argument = spin(100000000);
    return NULL;
}

int main(int argc, char **argv)
{
    unsigned long result;
    pthread_t thread;
    int status;
    (void)argv;
    if (argc > 1)
        work(&result);
    if (argc > 1 ? prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) : asks())
        return 1;
    if (pthread_create(&thread, NULL, work, &result) || pthread_join(thread, NULL))
        return 2;
    pid_t child = fork();
    if (child == 0) {
        work(&result);
        _exit(7);
    }
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 7)
        return 3;
    puts("done");
    return 0;
}

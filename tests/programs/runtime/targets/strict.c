/* Enters seccomp's strict mode, in which reading the time stamp counter faults and all but read,
 * write, exit and rt_sigreturn kill. Argument: how (prctl; syscall: prctl by libc's syscall();
 * seccomp; refused: with a flag, which the kernel refuses; thread: in a thread beside others that
 * go on). */
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "spin.h"

enum { LONG = 300000000, STATUS = 7 };

static volatile unsigned long result;
static volatile int said;

__attribute__((noinline)) static void enter(const char *how)
{
    if (!strcmp(how, "syscall"))
        syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0);
    else if (!strcmp(how, "seccomp"))
        syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL);
    else if (!strcmp(how, "refused"))
        syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, NULL);
    else
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0);
}

__attribute__((noinline)) static void *strict_worker(void *how)
{
    enter(how);
    result = spin(LONG);
    write(1, "strict\n", 7);
    said = 1;
    syscall(SYS_exit, STATUS); /* of the thread: exit_group is not allowed */
    return NULL;
}

__attribute__((noinline)) static void *free_worker(void *unused)
{
    result = spin(LONG);
    return unused;
}

int main(int argc, char **argv)
{
    char *how = argc > 1 ? argv[1] : "prctl";
    pthread_t strict, other;
    result = spin(LONG / 4);
    if (strcmp(how, "thread"))
        strict_worker(how);
    if (pthread_create(&other, NULL, free_worker, NULL) ||
        pthread_create(&strict, NULL, strict_worker, how))
        return 1;
    pthread_join(other, NULL);
    free_worker(NULL);
    for (int i = 0; i < 60000 && !said; i++)
        usleep(1000);
    puts("free");
    return 0;
}

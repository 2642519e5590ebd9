/* Asks the kernel for what would make a sample deadly, then works:
 *
 *      forbids traced      its parent is to trace it: every signal stops it
 *      forbids clock       rdtsc faults
 *      forbids calls       system calls are signals, wherever they are made
 *      forbids elsewhere   system calls are signals that are not made in libc; makes some by libc's syscall()
 *      forbids refused [privileges]  all of the above, which the kernel is to refuse; then works in a thread and in a child, too.
 *                             Before that it may give up new privileges, as one does before a sandbox
 *      forbids actions     children set every signal's action to the default by number, work, and execute true */
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct kernel_action {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)(void);
    unsigned long mask;
};

static volatile char selector; /* 1: blocked */
static volatile int handled;

static void call_comes(int signal)
{
    (void)signal;
    selector = SYSCALL_DISPATCH_FILTER_ALLOW;
    handled++;
}

static void work(void)
{
    for (volatile unsigned i = 0; i < 50000000; i++)
        ;
}

static int text_of_libc(struct dl_phdr_info *info, size_t size, void *found)
{
    (void)size;
    for (int i = 0; strstr(info->dlpi_name, "libc.so") && i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_flags & PF_X) {
            ((unsigned long *)found)[0] = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            ((unsigned long *)found)[1] = info->dlpi_phdr[i].p_memsz;
            return 1;
        }
    return 0;
}

static int elsewhere(void)
{
    unsigned long text[2] = {0};
    if (!dl_iterate_phdr(text_of_libc, text))
        return -1;
    signal(SIGSYS, call_comes);
    if (prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, text[0], text[1], &selector))
        return -2;
    int pid = getpid(), wrong = 0;
    for (int i = 0; i < 10; i++) {
        selector = SYSCALL_DISPATCH_FILTER_BLOCK;
        wrong += syscall(SYS_getpid) != pid || syscall(SYS_close, -1) != -1;
    }
    return wrong;
}

static int actions(void)
{
    int bad = 0, status;
    for (int child = 0; child < 5; child++) {
        pid_t pid = fork();
        if (!pid) {
            struct kernel_action set = {0}, old;
            for (int s = 1; s < NSIG; s++)
                syscall(SYS_rt_sigaction, s, &set, NULL, sizeof set.mask);
            if (syscall(SYS_rt_sigaction, SIGTRAP, NULL, &old, sizeof old.mask) ||
                old.handler != SIG_DFL)
                _exit(1);
            work();
            execl("/bin/true", "true", (char *)NULL);
            _exit(1);
        }
        bad += waitpid(pid, &status, 0) != pid || status;
    }
    return bad;
}

static void *work_too(void *argument)
{
    work();
    return argument;
}

static int refused(bool gives_up)
{
    pthread_t thread;
    int status;
    if (gives_up && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return 1;
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0) /* not refused: natively */
        return 0;
    if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) == 0 ||
        prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 0, 0, &selector) == 0)
        return 1;
    if (pthread_create(&thread, NULL, work_too, NULL) || pthread_join(thread, NULL))
        return 1;
    pid_t pid = fork();
    if (!pid) {
        work();
        _exit(0);
    }
    return waitpid(pid, &status, 0) != pid || status;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int failed = 0;
    if (!strcmp(what, "traced")) {
        failed = ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0;
    } else if (!strcmp(what, "clock")) {
        failed = prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
    } else if (!strcmp(what, "calls")) {
        signal(SIGSYS, call_comes);
        failed = prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 0, 0, &selector);
        selector = SYSCALL_DISPATCH_FILTER_BLOCK;
    } else if (!strcmp(what, "elsewhere")) {
        failed = elsewhere();
    } else if (!strcmp(what, "refused")) {
        failed = refused(argc > 2);
    } else {
        failed = actions();
    }
    work();
    selector = SYSCALL_DISPATCH_FILTER_ALLOW;
    printf("%s %d, %d\n", what, failed, handled);
    return 0;
}

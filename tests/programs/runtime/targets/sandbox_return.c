/* Filters that do not know rt_sigreturn, by which every handler of a signal ends: a sample in such
 * a sandbox kills. Arguments: what the filter does with it (kill; errno; caller: that depends on
 * where it is called; allow; or the number of another call, for which it kills), and how it is
 * entered (prctl; seccomp; threads: by all of them at once; fails: not at all, in some ways;
 * second: under one that allows everything; blocked: while all signals are blocked; narrow: under
 * one that lets through little beyond what libc needs; narrow1, narrower: one and two calls less;
 * last: none comes after that one; exec: as threads, and then programs are executed in all ways,
 * that say which signals they ignore; handed: by one thread, which hands it on to all of them with
 * a filter that allows everything, under which each of the others enters one that kills for
 * rt_sigreturn; narrow for all: as narrower, and the second one comes for threads that work). With
 * a third one, the first thread has switched so often that a timer samples it. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "spin.h"

enum { LONG = 200000000, SHORT = 100000, THREADS = 3, MOST = 16 };

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(what) BPF_STMT(BPF_RET | BPF_K, what)

static struct sock_filter code[MOST] = {
    LOAD(arch),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
    RETURN(SECCOMP_RET_KILL_PROCESS),
    LOAD(nr),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 1, 0),
    RETURN(SECCOMP_RET_ALLOW),
};
static struct sock_filter everything[] = {RETURN(SECCOMP_RET_ALLOW)};
static volatile unsigned long results[THREADS];
static int begun, entered; /* atomic */
static int pipes[2];

static unsigned short filter_make(const char *what)
{
    unsigned short n = 6;
    if (atoi(what))
        code[4].k = (unsigned)atoi(what);
    if (!strcmp(what, "caller")) {
        code[n++] = (struct sock_filter)LOAD(instruction_pointer);
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 1);
        code[n++] = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
    }
    code[n++] = (struct sock_filter)RETURN(!strcmp(what, "allow")   ? SECCOMP_RET_ALLOW
                                           : !strcmp(what, "errno") ? SECCOMP_RET_ERRNO | EPERM
                                                                    : SECCOMP_RET_KILL_PROCESS);
    return n;
}

static int install(const struct sock_fprog *program, unsigned flags)
{
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, program);
}

static void *work(void *result)
{
    char byte;
    __atomic_add_fetch(&begun, 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&entered, __ATOMIC_ACQUIRE))
        *(volatile unsigned long *)result = spin(SHORT);
    if (result != (void *)&results[0]) /* the last one has waited in the kernel */
        *(volatile unsigned long *)result = spin(LONG / 4);
    else if (read(pipes[0], &byte, 1) != 1)
        return result;
    return NULL;
}

/* Threads that are busy, or go to sleep in the kernel just when it begins. */
static int threads(const struct sock_fprog *program)
{
    pthread_t t[THREADS];
    void *failed = NULL;
    int wrong = pipe(pipes);
    for (int i = 0; i < THREADS; i++)
        wrong |= pthread_create(&t[i], NULL, work, (void *)&results[i]);
    while (__atomic_load_n(&begun, __ATOMIC_ACQUIRE) != THREADS)
        results[1] = spin(SHORT);
    results[1] = spin(LONG / 8);
    wrong |= prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); /* those made after it are not observed */
    wrong |= install(program, SECCOMP_FILTER_FLAG_TSYNC);
    __atomic_store_n(&entered, 1, __ATOMIC_RELEASE);
    results[1] = spin(LONG / 4);
    wrong |= write(pipes[1], "", 1) != 1;
    for (int i = 0; i < THREADS; i++) {
        wrong |= pthread_join(t[i], &failed);
        wrong |= failed != NULL;
    }
    return wrong;
}

/* Each is refused by the kernel: no such memory, no instructions, and none that returns. */
static int fails(struct sock_fprog program)
{
    struct sock_fprog none = {0, code}, endless = {4, code};
    int wrong = install((const struct sock_fprog *)16, 0) != -1 || errno != EFAULT;
    wrong |= prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &none) != -1 || errno != EINVAL;
    wrong |= prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &endless) != -1 || errno != EINVAL;
    program.filter = (struct sock_filter *)16;
    wrong |= install(&program, 0) != -1 || errno != EFAULT;
    program.filter = code;
    wrong |= install(&program, 1u << 31) != -1 || errno != EINVAL;
    return wrong;
}

static int second(const struct sock_fprog *program)
{
    struct sock_fprog first = {1, everything};
    int wrong = install(&first, 0);
    results[0] = spin(LONG / 4);
    return wrong | prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program);
}

static void *work_confined(void *failed)
{
    struct sock_fprog program = {filter_make("kill"), code};
    __atomic_add_fetch(&begun, 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&entered, __ATOMIC_ACQUIRE))
        results[1] = spin(SHORT);
    results[1] = spin(LONG / 8);
    return install(&program, 0) || spin(LONG / 8) == 0 ? failed : NULL;
}

static int handed(const struct sock_fprog *program)
{
    struct sock_fprog all = {1, everything};
    pthread_t t[THREADS];
    void *failed;
    int wrong = 0;
    for (int i = 0; i < THREADS; i++)
        wrong |= pthread_create(&t[i], NULL, work_confined, &begun);
    while (__atomic_load_n(&begun, __ATOMIC_ACQUIRE) != THREADS)
        results[1] = spin(SHORT);
    wrong |= install(program, 0) || install(&all, SECCOMP_FILTER_FLAG_TSYNC);
    code[4].k = SYS_rt_sigreturn;
    __atomic_store_n(&entered, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < THREADS; i++) {
        wrong |= pthread_join(t[i], &failed);
        wrong |= failed != NULL;
    }
    return wrong;
}

static void switch_often(void)
{
    const struct timespec moment = {0, 1000};
    for (int i = 0; i < 3000; i++) {
        results[0] = spin(3000);
        nanosleep(&moment, NULL);
    }
}

static int executes(const struct sock_fprog *program)
{
    char *const says[] = {(char *)"grep", (char *)"SigIgn", (char *)"/proc/self/status", NULL};
    int status = 0, wrong = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
                            install(program, SECCOMP_FILTER_FLAG_TSYNC);
    pid_t pid = fork();
    if (!pid)
        _exit(execvp(says[0], says));
    wrong |= waitpid(pid, &status, 0) != pid || status;
    pid = vfork();
    if (!pid) {
        execvp("/no such", says);
        execvp(says[0], says);
        _exit(1);
    }
    wrong |= waitpid(pid, &status, 0) != pid || status;
    wrong |= posix_spawnp(&pid, says[0], NULL, NULL, says, environ) ||
             waitpid(pid, &status, 0) != pid || status;
    wrong |= system("exec grep SigIgn /proc/self/status");
    execvp("/no such", says);
    return wrong || execvp(says[0], says);
}

/* The first filter knows these, but for the last ones; then the second one comes. */
static int narrow(const struct sock_fprog *program, const char *how)
{
    static const unsigned short known[] = {SYS_write,   SYS_exit_group, SYS_rt_sigreturn,
                                           SYS_seccomp, SYS_prctl,      SYS_rt_sigprocmask,
                                           SYS_close};
    enum { KNOWN = sizeof known / sizeof *known };
    unsigned left_out = !strcmp(how, "narrow")    ? 0
                        : !strcmp(how, "narrow1") ? 1
                        : !strcmp(how, "last")    ? 4
                                                  : 2 + !strcmp(how, "narrow for all");
    struct sock_filter list[2 * KNOWN + 2] = {LOAD(nr)};
    unsigned short n = 1;
    for (unsigned i = 0; i < KNOWN - left_out; i++) {
        list[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, known[i], 0, 1);
        list[n++] = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
    }
    list[n++] = (struct sock_filter)RETURN(SECCOMP_RET_KILL_PROCESS);
    struct sock_fprog first = {n, list};
    pthread_t t;
    int wrong = 0;
    for (int i = 0; left_out == 3 && i < THREADS; i++)
        wrong |= pthread_create(&t, NULL, work, (void *)&results[1]);
    while (left_out == 3 && __atomic_load_n(&begun, __ATOMIC_ACQUIRE) != THREADS)
        results[0] = spin(SHORT);
    wrong |= install(&first, 0);
    results[0] = spin(LONG / 4);
    return wrong ||
           (left_out < 4 && install(program, left_out == 3 ? SECCOMP_FILTER_FLAG_TSYNC : 0));
}

/* By the system call itself: what libc is asked for, the profiler may see. */
static void mask_set(unsigned long mask)
{
    long result, number = SYS_rt_sigprocmask, how = SIG_SETMASK;
    register long size __asm__("r10") = sizeof mask;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"(number), "D"(how), "S"(&mask), "d"(0l), "r"(size)
                     : "rcx", "r11", "memory");
}

int main(int argc, char **argv)
{
    struct sock_fprog program = {filter_make(argc > 1 ? argv[1] : "kill"), code};
    const char *how = argc > 2 ? argv[2] : "prctl";
    int wrong =
        strcmp(how, "threads") && strcmp(how, "exec") ? prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) : 0;
    static char buffer[BUFSIZ];
    /* with its own, a first line of output makes more system calls */
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    if (!strcmp(how, "blocked"))
        mask_set(~0ul);
    results[0] = spin(LONG / 8);
    if (argc > 3)
        switch_often();
    if (!strcmp(how, "threads"))
        wrong |= threads(&program);
    else if (!strcmp(how, "handed"))
        wrong |= handed(&program);
    else if (!strncmp(how, "narrow", 6) || !strcmp(how, "last"))
        wrong |= narrow(&program, how);
    else if (!strcmp(how, "exec"))
        wrong |= executes(&program);
    else if (!strcmp(how, "fails"))
        wrong |= fails(program);
    else if (!strcmp(how, "second"))
        wrong |= second(&program);
    else if (!strcmp(how, "seccomp"))
        wrong |= install(&program, SECCOMP_FILTER_FLAG_LOG);
    else
        wrong |= prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    if (!strcmp(how, "blocked"))
        mask_set(0);
    results[0] = spin(LONG);
    puts(wrong ? "failed" : "done");
    return wrong;
}

/* Programs started by posix_spawn with every attribute, and storms of vfork from several threads.
 * The program is its own child, which says what it has been given. Arguments: none, or "child" and
 * what it calls itself. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spin.h"

enum { THREADS = 3, STORM = 120, PROGRAMS = 12, FEW = 10 };

extern char **environ;
static const char *self;

static int child(const char *what)
{
    char folder[256];
    sigset_t mask;
    spin(400000);
    sigprocmask(SIG_SETMASK, NULL, &mask);
    printf("%s: folder %s, group %d, session %d, policy %d, open", what,
           getcwd(folder, sizeof folder), getpgrp() == getpid(), getsid(0) == getpid(),
           sched_getscheduler(0));
    for (int fd = 3; fd < FEW; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            printf(" %d", fd);
    printf(", blocked");
    for (int i = 1; i < NSIG; i++)
        if (sigismember(&mask, i) > 0)
            printf(" %d", i);
    printf(", ignored");
    for (int i = 1; i < NSIG; i++) {
        struct sigaction action;
        if (!sigaction(i, NULL, &action) && action.sa_handler == SIG_IGN)
            printf(" %d", i);
    }
    puts("");
    return 5;
}

static void ended(const char *what, int error, const pid_t *pid)
{
    int status = 0;
    if (!error)
        waitpid(*pid, &status, 0);
    printf("%s: %d, status %x\n", what, error, (unsigned)status);
    fflush(stdout);
}

static void with(const char *what, short flags, const posix_spawn_file_actions_t *actions)
{
    char *const words[] = {(char *)self, (char *)"child", (char *)what, NULL};
    posix_spawnattr_t a;
    sigset_t set;
    pid_t pid = 0;
    posix_spawnattr_init(&a);
    posix_spawnattr_setflags(&a, flags);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sigaddset(&set, SIGTRAP);
    posix_spawnattr_setsigmask(&a, &set);
    sigaddset(&set, SIGUSR1);
    posix_spawnattr_setsigdefault(&a, &set);
    fflush(stdout);
    ended(what, posix_spawn(&pid, self, actions, &a, words, environ), &pid);
    posix_spawnattr_destroy(&a);
}

static void attributes(void)
{
    posix_spawn_file_actions_t actions;
    signal(SIGUSR1, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    with("plain", 0, NULL);
    with("mask", POSIX_SPAWN_SETSIGMASK, NULL);
    with("default", POSIX_SPAWN_SETSIGDEF, NULL);
    with("group", POSIX_SPAWN_SETPGROUP, NULL);
    with("session", POSIX_SPAWN_SETSID | POSIX_SPAWN_RESETIDS, NULL);
    with("policy", POSIX_SPAWN_SETSCHEDULER, NULL);
    with("all", POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP |
                    POSIX_SPAWN_RESETIDS | POSIX_SPAWN_SETSCHEDULER | POSIX_SPAWN_USEVFORK, NULL);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 7, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, 7, 8);
    posix_spawn_file_actions_addclose(&actions, 7);
    posix_spawn_file_actions_addchdir_np(&actions, "/usr");
    with("files", 0, &actions);
    posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    with("none open", POSIX_SPAWN_SETSIGMASK, &actions);
    posix_spawn_file_actions_addclose(&actions, -1);
    posix_spawn_file_actions_addopen(&actions, 7, "/no such", O_RDONLY, 0);
    with("no file", 0, &actions);
    posix_spawn_file_actions_destroy(&actions);
}

static void refused(void)
{
    char *const words[] = {(char *)"x", NULL};
    pid_t pid = 0;
    ended("no program", posix_spawn(&pid, "/no such", NULL, NULL, words, environ), &pid);
    ended("a folder", posix_spawn(&pid, "/usr", NULL, NULL, words, environ), &pid);
    ended("not in the path", posix_spawnp(&pid, "no such", NULL, NULL, words, environ), &pid);
    ended("no environment", posix_spawnp(&pid, "true", NULL, NULL, words, NULL), &pid);
    ended("by its name", posix_spawnp(&pid, "true", NULL, NULL, words, environ), &pid);
}

static void *storm(void *unused)
{
    static char *const words[] = {(char *)"true", NULL};
    volatile long sum = 0;
    for (volatile int i = 0; i < STORM; i++) {
        int status = 0;
        pid_t pid = vfork();
        if (!pid) {
            if (i % (STORM / PROGRAMS) == 0)
                execv("/bin/true", words);
            _exit(i % 50 + 1);
        }
        spin(3000);
        if (waitpid(pid, &status, 0) == pid)
            sum += status;
    }
    return unused ? NULL : (void *)sum;
}

static int leaves(void *status)
{
    spin(2000);
    _exit(*(int *)status);
}

static void clones(void)
{
    static char stack[1 << 15] __attribute__((aligned(16)));
    long sum = 0;
    for (int i = 0; i < STORM; i++) {
        int number = i % 100, status = 0;
        pid_t pid = clone(leaves, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, &number);
        waitpid(pid, &status, 0);
        sum += status;
    }
    printf("clones: %ld\n", sum);
}

int main(int argc, char **argv)
{
    pthread_t t[THREADS];
    self = argv[0];
    if (argc > 2)
        return child(argv[2]);
    attributes();
    refused();
    for (int i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, storm, NULL);
    for (int i = 0; i < THREADS; i++) {
        void *sum;
        pthread_join(t[i], &sum);
        printf("storm: %ld\n", (long)sum);
    }
    clones();
    return 3;
}

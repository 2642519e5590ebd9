/* Gives up new privileges, as xz does before it makes its threads, then works in a thread, in a
 * child, and in what the child executes.
 * Arguments: what else comes before that (none: nothing; landlock: a ruleset that forbids to make
 * files; harmless: a filter that refuses what nobody here asks for; flatpak: perf events besides,
 * as flatpak's does; debug: one that kills for these, and for reading memory, as systemd's ~@debug
 * does), then a program. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spin.h"

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define EQUAL(what, jt, jf) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, what, jt, jf)
#define RETURN(what) BPF_STMT(BPF_RET | BPF_K, what)

static volatile unsigned long result;

__attribute__((noinline)) static void *late_worker(void *unused)
{
    result = spin(200000000);
    return unused;
}

static int landlock(void)
{
    struct landlock_ruleset_attr attributes = {.handled_access_fs = LANDLOCK_ACCESS_FS_MAKE_REG};
    int fd = (int)syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0);
    if (fd < 0)
        return errno != ENOSYS && errno != EOPNOTSUPP;
    return (int)syscall(SYS_landlock_restrict_self, fd, 0) || close(fd);
}

static int harmless(bool perf_events)
{
    struct sock_filter code[] = {
        LOAD(nr),
        EQUAL(SYS_ptrace, 5, 0),
        EQUAL(perf_events ? SYS_ptrace : SYS_perf_event_open, 4, 0),
        EQUAL(SYS_mount, 3, 0),
        EQUAL(SYS_ioctl, 0, 3),
        LOAD(args[1]),
        EQUAL(TIOCSTI, 0, 1),
        RETURN(SECCOMP_RET_ERRNO | EPERM),
        RETURN(SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int debug(void)
{
    struct sock_filter code[] = {
        LOAD(nr),
        EQUAL(SYS_ptrace, 2, 0),
        EQUAL(SYS_perf_event_open, 1, 0),
        EQUAL(SYS_process_vm_readv, 0, 1),
        RETURN(SECCOMP_RET_KILL_PROCESS),
        RETURN(SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) ||
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program); /* the second one is read, too */
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "none";
    pthread_t thread;
    int status;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return 1;
    if ((!strcmp(what, "landlock") && landlock()) ||
        (!strcmp(what, "harmless") && harmless(true)) ||
        (!strcmp(what, "flatpak") && harmless(false)) || (!strcmp(what, "debug") && debug()))
        return 2;
    if (pthread_create(&thread, NULL, late_worker, NULL) || pthread_join(thread, NULL))
        return 3;
    pid_t child = fork();
    if (child == 0) {
        late_worker(NULL);
        if (argc > 2)
            execvp(argv[2], argv + 2);
        _exit(0);
    }
    if (waitpid(child, &status, 0) != child || status)
        return 4;
    puts("done");
    return 0;
}

#include "collector/record_launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "sigsafe/preload.h"
#include "sigsafe/spool.h"

#define PRELOAD "LD_PRELOAD="
/* Ctrl-Z stops both; only if the program is still stopped alone after this does it count. */
#define STOP_SETTLES_NS UINT64_C(200000000)

struct launch {
    const char *path;
    char **argv;
    char **envp;
    void (*prepare)(void); /* in the new process; may be NULL */
    const struct recording_callbacks *callbacks;
};

static bool is_our_library(const char *entry, size_t length)
{
    static const char name[] = "/libpenumbra-rt";
    size_t n = sizeof name - 1;
    const char *slash = memrchr(entry, '/', length);
    return slash && (size_t)(entry + length - slash) > n && !memcmp(slash, name, n) &&
           (slash[n] == '.' || slash[n] == '-');
}

/* What was to be preloaded anyway, without another penumbra's library: in a recording inside a
 * recording the inner one has the program. And ours, if there is one. */
static char *preload_setting(const char *runtime, const char *first)
{
    struct buf b = {0};
    size_t size, room = *runtime ? preload_room_as(runtime, first) : 1;
    buf_puts(&b, PRELOAD);
    const char *old = getenv("LD_PRELOAD");
    while (old && *old) {
        size_t n = strcspn(old, ": ");
        if (n && !is_our_library(old, n)) {
            if (b.size >= sizeof PRELOAD)
                buf_put_u8(&b, (uint8_t)old[-1]);
            buf_put(&b, old, n);
        }
        old += n + (old[n] != '\0');
    }
    while (room--)
        buf_put_u8(&b, '\0');
    char *entry = (char *)buf_detach(&b, &size);
    if (entry && *runtime)
        preload_add_as(entry + strlen(PRELOAD), runtime, first);
    return entry;
}

/* The environment with PENUMBRA_SPOOL set and, if anything is to be preloaded, LD_PRELOAD before
 * it. Only the array and these strings are new. */
static char **make_environment(const char *runtime, const char *first, const char *spool_path)
{
    size_t count = 0, kept = 0;
    while (environ && environ[count])
        count++;
    char **envp = calloc(count + 3, sizeof *envp);
    char *preload = preload_setting(runtime, first);
    char *spool;
    if (asprintf(&spool, SPOOL_ENV "=%s", spool_path) < 0)
        spool = NULL;
    if (!envp || !preload || !spool) {
        free(envp);
        free(preload);
        free(spool);
        return NULL;
    }
    for (size_t i = 0; i < count; i++)
        if (strncmp(environ[i], PRELOAD, sizeof PRELOAD - 1) != 0 &&
            strncmp(environ[i], SPOOL_ENV "=", sizeof SPOOL_ENV) != 0)
            envp[kept++] = environ[i];
    if (preload[sizeof PRELOAD - 1])
        envp[kept++] = preload;
    else
        free(preload);
    envp[kept++] = spool;
    return envp;
}

static void free_environment(char **envp)
{
    size_t count = 0;
    while (envp && envp[count])
        count++;
    if (count >= 1)
        free(envp[count - 1]);
    if (count >= 2 && !strncmp(envp[count - 2], PRELOAD, sizeof PRELOAD - 1))
        free(envp[count - 2]);
    free(envp);
}

/* What execvp does with a file that the kernel does not know: hands it to the shell. */
static char **shell_arguments(const char *path, char **argv)
{
    size_t count = 0;
    while (argv[count])
        count++;
    char **shell = calloc(count + 2, sizeof *shell);
    if (!shell)
        return NULL;
    static char sh[] = "/bin/sh";
    shell[0] = sh;
    shell[1] = (char *)(uintptr_t)path;
    for (size_t i = 1; i < count; i++)
        shell[i + 1] = argv[i];
    return shell;
}

/* A raw system call: if the collector itself is being recorded, the outer recording's interposed
 * execve would put its own settings into the environment. */
static _Noreturn void run_child(const struct launch *l, int report)
{
    tell_in_child(l->callbacks);
    if (l->prepare)
        l->prepare();
    syscall(SYS_execve, l->path, l->argv, l->envp);
    int error = errno;
    ssize_t ignored = write(report, &error, sizeof error);
    (void)ignored;
    _exit(127);
}

static bool fork_and_exec(pid_t *pid, const struct launch *l, int *exec_error)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return false;
    *pid = fork();
    if (*pid == 0)
        run_child(l, ends[1]);
    int error = errno;
    close(ends[1]);
    ssize_t n = 0;
    *exec_error = 0;
    if (*pid > 0)
        do
            n = read(ends[0], exec_error, sizeof *exec_error);
        while (n < 0 && errno == EINTR);
    close(ends[0]);
    errno = error;
    if (n == (ssize_t)sizeof *exec_error)
        while (waitpid(*pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    else
        *exec_error = 0;
    return *pid > 0;
}

/* Starts the program with envp; false if there is none, or exec fails. */
static bool launch(pid_t *pid, const struct record_program *program, char **argv, char **envp,
                   void (*prepare)(void), const struct recording_callbacks *callbacks,
                   struct err *e)
{
    char **shell = program->shell_script ? shell_arguments(program->path, argv) : NULL;
    struct launch l = {.path = program->shell_script ? "/bin/sh" : program->path,
                       .argv = program->shell_script ? shell : argv,
                       .envp = envp, .prepare = prepare, .callbacks = callbacks};
    bool ok = false;
    int exec_error = 0;
    if (!l.argv || !l.envp)
        err_set(e, ERR_INTERNAL, "out of memory");
    else if (!fork_and_exec(pid, &l, &exec_error))
        err_set_errno(e, ERR_INTERNAL, errno, "cannot make a process for \"%s\"", program->path);
    else if (exec_error == E2BIG)
        err_set(e, ERR_NOT_EXECUTABLE, "cannot start \"%s\": its arguments and environment are "
                "longer than the kernel allows", program->path);
    else if (exec_error)
        err_set_errno(e, exec_error == ENOENT ? ERR_NOT_FOUND : ERR_NOT_EXECUTABLE, exec_error,
                      "cannot start \"%s\"", program->path);
    else
        ok = true;
    free(shell);
    return ok;
}

bool record_launch(struct record_child *c, const struct record_program *program, char **argv,
                   const char *runtime, const char *spool_path,
                   const struct recording_callbacks *callbacks, struct err *e)
{
    char **envp = make_environment(runtime, program->first, spool_path);
    *c = (struct record_child){.pid = -1};
    bool ok = launch(&c->pid, program, argv, envp, NULL, callbacks, e);
    free_environment(envp);
    return ok;
}

bool record_launch_native(pid_t *pid, const struct record_program *program, char **argv,
                          void (*prepare)(void), const struct recording_callbacks *callbacks,
                          struct err *e)
{
    return launch(pid, program, argv, environ, prepare, callbacks, e);
}

static bool is_terminal_stop(int number)
{
    return number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
}

uint64_t record_used_ns(const struct rusage *used)
{
    const struct timeval *user = &used->ru_utime, *system = &used->ru_stime;
    return (uint64_t)(user->tv_sec + system->tv_sec) * 1000000000u +
           (uint64_t)(user->tv_usec + system->tv_usec) * 1000u;
}

void record_child_poll(struct record_child *c, uint64_t now_ns,
                       const struct recording_callbacks *callbacks)
{
    int status;
    struct rusage used;
    while (!c->ended && wait4(c->pid, &status, WNOHANG | WUNTRACED | WCONTINUED, &used) == c->pid) {
        if (WIFSTOPPED(status)) {
            c->stopped = is_terminal_stop(WSTOPSIG(status));
            c->stopped_ns = now_ns;
        } else if (WIFCONTINUED(status)) {
            c->stopped = false;
        } else {
            c->ended = true;
            c->stopped = false;
            c->status = status;
            c->cpu_ns = record_used_ns(&used);
        }
    }
    if (!c->stopped || now_ns - c->stopped_ns <= STOP_SETTLES_NS || !callbacks->stopped)
        return;
    if (callbacks->stopped(callbacks->context)) {
        kill(c->pid, SIGCONT);
        c->stopped = false;
    } else {
        c->stopped_ns = now_ns;
    }
}

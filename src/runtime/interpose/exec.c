/* exec and spawn: new images are followed, and nothing of ours is pending when they begin.
 *
 * An exec may be called in a vfork child, on its parent's memory: only the stack is written. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/interpose/environment.h"
#include "runtime/interpose/pointers.h"
#include "runtime/interpose/real.h"
#include "runtime/interpose/vfork.h"
#include "runtime/process.h"
#include "runtime/runtime.h"
#include "sigsafe/sys.h"

long call_failed(long result)
{
    errno = (int)-result;
    return -1;
}

/* envp, or a copy of it on this function's stack with our variables. One that cannot be read is for
 * the kernel to refuse. */
#define FOLLOWED(file, search, envp)                                                               \
    ({                                                                                             \
        struct environment_image image;                                                            \
        environment_follows(file, search, &image) && pointer_list_readable_as(envp)                \
            ? environment_build(__builtin_alloca(environment_size(&image, envp)), &image, envp)    \
            : (char **)(uintptr_t)(envp);                                                          \
    })

EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
    char **with = FOLLOWED(path, false, envp);
    struct signals_lent lent = process_before_exec();
    int result = REAL(execve)(path, argv, with);
    process_after_failed_exec(lent);
    return result;
}

EXPORT int execv(const char *path, char *const argv[])
{
    return execve(path, argv, environ);
}

EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
    char **with = FOLLOWED(file, true, envp);
    struct signals_lent lent = process_before_exec();
    int result = REAL(execvpe)(file, argv, with);
    process_after_failed_exec(lent);
    return result;
}

EXPORT int execvp(const char *file, char *const argv[])
{
    return execvpe(file, argv, environ);
}

/* `path` as seen from the directory fd, or the file fd itself, by a name that open()
 * understands. */
static const char *descriptor_path(int fd, const char *path, char *out, size_t size)
{
    if (!path || rt_quiet_as() || !pointer_readable_as(path, 1) || path[0] == '/' ||
        (fd == AT_FDCWD && path[0]))
        return path; /* or it is not looked at */
    int n = snprintf(out, size, "/proc/self/fd/%d%s%s", fd, path[0] ? "/" : "", path);
    return n > 0 && (size_t)n < size ? out : path;
}

EXPORT int execveat(int fd, const char *path, char *const argv[], char *const envp[], int flags)
{
    char file[PATH_MAX];
    const char *named = descriptor_path(fd, path, file, sizeof file);
    char **with = FOLLOWED(named, false, envp);
    struct signals_lent lent = process_before_exec();
    int result = REAL(execveat)(fd, path, argv, with, flags);
    process_after_failed_exec(lent);
    return result;
}

EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
    char path[PATH_MAX];
    /* libc refuses none */
    char **with = envp ? FOLLOWED(descriptor_path(fd, "", path, sizeof path), false, envp) : NULL;
    struct signals_lent lent = process_before_exec();
    int result = REAL(fexecve)(fd, argv, with);
    process_after_failed_exec(lent);
    return result;
}

/* What interpose/syscall.S hands on. The environment is left as it is: the new program is not
 * followed. */
long exec_by_number(long number, long a, long b, long c, long d, long e);
long exec_by_number(long number, long a, long b, long c, long d, long e)
{
    struct signals_lent lent = process_before_exec();
    long result = sys_call6_as(number, a, b, c, d, e, 0);
    process_after_failed_exec(lent);
    return call_failed(result);
}

/* The arguments of execl and its like as an array on this function's stack. */
#define COLLECT(argv, first, list)                                                                 \
    size_t count = 1;                                                                              \
    va_list counting;                                                                              \
    va_start(list, first);                                                                         \
    va_copy(counting, list);                                                                       \
    while (va_arg(counting, char *))                                                               \
        count++;                                                                                   \
    va_end(counting);                                                                              \
    char **argv = __builtin_alloca((count + 1) * sizeof *argv);                                    \
    argv[0] = (char *)(uintptr_t)(first);                                                          \
    for (size_t i = 1; i <= count; i++)                                                            \
        argv[i] = va_arg(list, char *)

EXPORT int execl(const char *path, const char *first, ...)
{
    va_list list;
    COLLECT(argv, first, list);
    va_end(list);
    return execve(path, argv, environ);
}

EXPORT int execlp(const char *file, const char *first, ...)
{
    va_list list;
    COLLECT(argv, first, list);
    va_end(list);
    return execvpe(file, argv, environ);
}

EXPORT int execle(const char *path, const char *first, ...)
{
    va_list list;
    COLLECT(argv, first, list);
    char *const *envp = va_arg(list, char *const *);
    va_end(list);
    return execve(path, argv, envp);
}

EXPORT int posix_spawn(pid_t *restrict pid, const char *restrict path,
                       const posix_spawn_file_actions_t *restrict actions,
                       const posix_spawnattr_t *restrict attributes, char *const argv[restrict],
                       char *const envp[restrict])
{
    pid_t made;
    char **with = FOLLOWED(path, false, envp);
    struct signals_lent lent = signals_lend(false);
    uint64_t begun = vfork_spawn_begins();
    int result = REAL(posix_spawn)(pid ? pid : &made, path, actions, attributes, argv, with);
    vfork_spawned(result == 0 ? (pid ? *pid : made) : 0, begun);
    signals_return(lent);
    return result;
}

EXPORT int posix_spawnp(pid_t *restrict pid, const char *restrict file,
                        const posix_spawn_file_actions_t *restrict actions,
                        const posix_spawnattr_t *restrict attributes, char *const argv[restrict],
                        char *const envp[restrict])
{
    pid_t made;
    char **with = FOLLOWED(file, true, envp);
    struct signals_lent lent = signals_lend(false);
    uint64_t begun = vfork_spawn_begins();
    int result = REAL(posix_spawnp)(pid ? pid : &made, file, actions, attributes, argv, with);
    vfork_spawned(result == 0 ? (pid ? *pid : made) : 0, begun);
    signals_return(lent);
    return result;
}

/* system() and popen() start /bin/sh with `environ` by calls inside libc. */
struct shell {
    struct signals_lent signals;
    bool environment;
};

static struct shell shell_begin(void)
{
    return (struct shell){.environment = environment_lend(), .signals = signals_lend(false)};
}

static void shell_end(void *state)
{
    const struct shell *shell = state;
    int saved = errno;
    signals_return(shell->signals);
    if (shell->environment)
        environment_return();
    errno = saved;
}

EXPORT int system(const char *command)
{
    struct shell shell = shell_begin();
    int result;
    pthread_cleanup_push(shell_end, &shell); /* system() is a cancellation point */
    result = REAL(system)(command);
    pthread_cleanup_pop(1);
    return result;
}

EXPORT FILE *popen(const char *command, const char *modes)
{
    struct shell shell = shell_begin();
    FILE *result = REAL(popen)(command, modes);
    shell_end(&shell);
    return result;
}

EXPORT pid_t _Fork(void)
{
    process_copy_prepare(); /* nothing else of what fork() calls before */
    pid_t pid = REAL(_Fork)();
    if (pid == 0)
        process_fork_child();
    return pid;
}

/* exec and spawn: new images are followed, and nothing of ours is pending when they begin.
 *
 * An exec may be called in a vfork child, on its parent's memory: only the stack is written. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/interpose/environment.h"
#include "runtime/interpose/real.h"
#include "runtime/process.h"

/* envp, or a copy of it on this function's stack with our variables. */
#define FOLLOWED(file, search, envp)                                                               \
    (environment_follows(file, search)                                                             \
         ? environment_build(__builtin_alloca(environment_size(envp)), envp)                       \
         : (char **)(uintptr_t)(envp))

EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
    char **with = FOLLOWED(path, false, envp);
    process_before_exec();
    int result = REAL(execve)(path, argv, with);
    process_after_failed_exec();
    return result;
}

EXPORT int execv(const char *path, char *const argv[])
{
    return execve(path, argv, environ);
}

EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
    char **with = FOLLOWED(file, true, envp);
    process_before_exec();
    int result = REAL(execvpe)(file, argv, with);
    process_after_failed_exec();
    return result;
}

EXPORT int execvp(const char *file, char *const argv[])
{
    return execvpe(file, argv, environ);
}

EXPORT int execveat(int fd, const char *path, char *const argv[], char *const envp[], int flags)
{
    char **with = FOLLOWED(path[0] == '/' ? path : "/proc/self/exe", false, envp);
    process_before_exec();
    int result = REAL(execveat)(fd, path, argv, with, flags);
    process_after_failed_exec();
    return result;
}

EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    char **with = FOLLOWED(path, false, envp);
    process_before_exec();
    int result = REAL(fexecve)(fd, argv, with);
    process_after_failed_exec();
    return result;
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
    return REAL(posix_spawn)(pid, path, actions, attributes, argv, FOLLOWED(path, false, envp));
}

EXPORT int posix_spawnp(pid_t *restrict pid, const char *restrict file,
                        const posix_spawn_file_actions_t *restrict actions,
                        const posix_spawnattr_t *restrict attributes, char *const argv[restrict],
                        char *const envp[restrict])
{
    return REAL(posix_spawnp)(pid, file, actions, attributes, argv, FOLLOWED(file, true, envp));
}

/* system() and popen() start /bin/sh with `environ` by calls inside libc: for their duration it
 * points to a copy with our variables. The copy is kept if the program changed environ meanwhile. */
struct lent {
    char **before, **with;
    size_t size;
};

static struct lent environ_lend(void)
{
    struct lent lent = {environ, NULL, 0};
    if (!environment_follows("/bin/sh", false))
        return lent;
    lent.size = environment_size(environ);
    void *memory = mmap(NULL, lent.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return lent;
    lent.with = environ = environment_build(memory, environ);
    return lent;
}

static void environ_return(const struct lent *lent)
{
    if (!lent->with || environ != lent->with)
        return;
    environ = lent->before;
    munmap(lent->with, lent->size);
}

EXPORT int system(const char *command)
{
    struct lent lent = environ_lend();
    int result = REAL(system)(command);
    environ_return(&lent);
    return result;
}

EXPORT FILE *popen(const char *command, const char *modes)
{
    struct lent lent = environ_lend();
    FILE *result = REAL(popen)(command, modes);
    int saved = errno;
    environ_return(&lent);
    errno = saved;
    return result;
}

EXPORT pid_t _Fork(void)
{
    pid_t pid = REAL(_Fork)();
    if (pid == 0)
        process_fork_child();
    return pid;
}

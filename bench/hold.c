/* hold: starts one copy of a benchmark program, held until all copies are ready.
 *
 *     hold OPTION... -- PROGRAM ARG...
 *       --core N        the program (not hold, not a profiler around it) runs on this core only
 *       --ready FILE    made when the program is about to wait; has its process's number
 *       --gate FIFO     the program starts when the last writer has closed it
 *       --result FILE   gets "user_us system_us maxrss_kb wait_status" of the program and its
 *                       children; without it hold makes no process: it becomes the program
 *       --cwd DIR, --stdin FILE, --stdout FILE, --stderr FILE, --env NAME=VALUE (repeatable): the
 *                       program's
 *
 * With a result the program is a child, so that its own CPU time can be told from the profiler's
 * around it. hold ends as the program ended: with its exit status, or 128 + the signal that killed
 * it. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ENV_MAX = 16 };

struct plan {
    int core;
    const char *ready, *gate, *result, *cwd, *in, *out, *err;
    char *env[ENV_MAX];
    int env_count;
    char **program;
};

static _Noreturn void fail(const char *what, const char *on)
{
    fprintf(stderr, "hold: %s %s: %s\n", what, on, strerror(errno));
    exit(126);
}

static void redirect(const char *path, int flags, int fd)
{
    int opened = open(path, flags, 0600);
    if (opened < 0 || dup2(opened, fd) < 0)
        fail("open", path);
    close(opened);
}

static void wait_at_gate(const struct plan *p)
{
    char byte;
    int fd;
    if (p->ready) {
        fd = open(p->ready, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        if (fd < 0)
            fail("make", p->ready);
        dprintf(fd, "%d\n", (int)getpid());
        close(fd);
    }
    if (!p->gate)
        return;
    fd = open(p->gate, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        fail("open", p->gate);
    while (read(fd, &byte, 1) > 0)
        continue;
    close(fd);
}

static _Noreturn void become_program(const struct plan *p)
{
    if (p->core >= 0) {
        cpu_set_t cores;
        CPU_ZERO(&cores);
        CPU_SET((size_t)p->core, &cores);
        if (sched_setaffinity(0, sizeof cores, &cores) != 0)
            fail("pin to core of", p->program[0]);
    }
    if (p->cwd && chdir(p->cwd) != 0)
        fail("enter", p->cwd);
    redirect(p->in ? p->in : "/dev/null", O_RDONLY, STDIN_FILENO);
    wait_at_gate(p);
    for (int i = 0; i < p->env_count; i++)
        if (putenv(p->env[i]) != 0)
            fail("set", p->env[i]);
    redirect(p->out ? p->out : "/dev/null", O_WRONLY | O_CREAT | O_TRUNC, STDOUT_FILENO);
    redirect(p->err ? p->err : "/dev/null", O_WRONLY | O_CREAT | O_TRUNC, STDERR_FILENO);
    execv(p->program[0], p->program);
    _exit(127);
}

static long long microseconds(struct timeval t)
{
    return (long long)t.tv_sec * 1000000 + t.tv_usec;
}

static void write_result(const char *path, const struct rusage *used, int status)
{
    FILE *f = fopen(path, "w");
    if (!f)
        fail("make", path);
    fprintf(f, "%lld %lld %ld %d\n", microseconds(used->ru_utime), microseconds(used->ru_stime),
            used->ru_maxrss, status);
    if (fclose(f) != 0)
        fail("write", path);
}

static struct plan parse(int argc, char **argv)
{
    struct plan p = {.core = -1};
    int i = 1;
    for (; i + 1 < argc && strcmp(argv[i], "--") != 0; i += 2) {
        const char *option = argv[i];
        char *value = argv[i + 1];
        if (strcmp(option, "--core") == 0)
            p.core = atoi(value);
        else if (strcmp(option, "--ready") == 0)
            p.ready = value;
        else if (strcmp(option, "--gate") == 0)
            p.gate = value;
        else if (strcmp(option, "--result") == 0)
            p.result = value;
        else if (strcmp(option, "--cwd") == 0)
            p.cwd = value;
        else if (strcmp(option, "--stdin") == 0)
            p.in = value;
        else if (strcmp(option, "--stdout") == 0)
            p.out = value;
        else if (strcmp(option, "--stderr") == 0)
            p.err = value;
        else if (strcmp(option, "--env") == 0 && p.env_count < ENV_MAX)
            p.env[p.env_count++] = value;
        else
            break;
    }
    if (i + 1 >= argc || strcmp(argv[i], "--") != 0) {
        fprintf(stderr,
                "usage: hold [--core N] [--ready FILE] [--gate FIFO] [--result FILE] [--cwd DIR] "
                "[--stdin FILE] [--stdout FILE] [--stderr FILE] [--env NAME=VALUE] -- PROGRAM "
                "ARG...\n");
        exit(126);
    }
    p.program = argv + i + 1;
    return p;
}

int main(int argc, char **argv)
{
    struct plan p = parse(argc, argv);
    struct rusage used;
    int status;
    pid_t child = p.result ? fork() : 0;
    if (child < 0)
        fail("fork for", p.program[0]);
    if (child == 0)
        become_program(&p);
    while (wait4(child, &status, 0, &used) < 0)
        if (errno != EINTR)
            fail("wait for", p.program[0]);
    write_result(p.result, &used, status);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Which processes are not attached to, and why. */
#include "collector/attach/record_attach.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/attach/attach_libc.h"
#include "collector/attach/attach_thread.h"

static bool no_process(pid_t pid, struct err *e)
{
    return err_set(e, ERR_NOT_FOUND, "there is no process %d (anymore); ps shows which there are",
                   pid);
}

bool record_attach_runs(const struct record_attach *a)
{
    return attach_view(a->pid) != 0;
}

static pid_t parent_of(pid_t pid)
{
    uint64_t parent = 0;
    attach_status(pid, pid, "PPid", 10, &parent);
    return (pid_t)parent;
}

/* The nearest ancestor of both, or the first process, where that is that of none. */
static pid_t common_ancestor(pid_t one, pid_t other)
{
    enum { DEEP = 1000 };
    for (int i = 0; one > 0 && i < DEEP; i++, one = parent_of(one)) {
        pid_t above = other;
        for (int k = 0; above > 0 && k < DEEP; k++, above = parent_of(above))
            if (above == one)
                return one;
    }
    return 1;
}

/* Filters are inherited: those that an ancestor of ours has too are a container's, in which we are
 * ourselves, and what they allow us they allow the process. */
static bool is_filtered_as_we_are(pid_t pid, uint64_t mode)
{
    enum { FILTERED = 2 }; /* SECCOMP_MODE_FILTER; the other one is a sandbox of its own */
    uint64_t its = 0, ours = 0, above = 0;
    pid_t ancestor = common_ancestor(pid, getpid());
    return mode == FILTERED && attach_status(pid, pid, "Seccomp_filters", 10, &its) &&
           attach_status(getpid(), getpid(), "Seccomp_filters", 10, &ours) &&
           attach_status(ancestor, ancestor, "Seccomp_filters", 10, &above) && its <= above &&
           its <= ours;
}

static bool check_state(pid_t pid, struct err *e)
{
    uint64_t leader = 0, tracer = 0, seccomp = 0;
    if (!attach_status(pid, pid, "Tgid", 10, &leader))
        return no_process(pid, e);
    if (pid == getpid())
        return err_set(e, ERR_USAGE, "process %d is this penumbra itself", pid);
    if (leader != (uint64_t)pid)
        return err_set(e, ERR_USAGE, "%d is a thread of process %d; a recording is about all its "
                       "threads: -p %d", pid, (int)leader, (int)leader);
    if (!attach_view(pid))
        return err_set(e, ERR_NOT_FOUND,
                       "process %d has ended already (its parent has not yet asked "
                       "how)",
                       pid);
    attach_status(pid, pid, "TracerPid", 10, &tracer);
    if (tracer)
        return err_set(e, ERR_ATTACH,
                       "process %d is being traced by process %d (a debugger, strace, "
                       "another penumbra that is just attaching); end that first",
                       pid, (int)tracer);
    attach_status(pid, pid, "Seccomp", 10, &seccomp);
    if (seccomp && !is_filtered_as_we_are(pid, seccomp))
        return err_set(e, ERR_ATTACH,
                       "process %d is in a seccomp sandbox, which might end it for a "
                       "system call of ours. Record it from its start: penumbra record -- PROGRAM",
                       pid);
    return true;
}

static int ptrace_scope(void)
{
    int scope = 0;
    FILE *f = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
    if (!f)
        return 0;
    if (fscanf(f, "%d", &scope) != 1)
        scope = 0;
    fclose(f);
    return scope;
}

static bool no_memory(pid_t pid, struct err *e)
{
    return err_set(e, ERR_ATTACH,
                   "process %d has no memory of its own: it is a thread of the kernel, or "
                   "is just ending",
                   pid);
}

static bool not_permitted(pid_t pid, int error, struct err *e)
{
    uint64_t uid = (uint64_t)-1;
    attach_status(pid, pid, "Uid", 10, &uid);
    if (error == ESRCH)
        return no_memory(pid, e);
    if (error == ENOENT)
        return no_process(pid, e);
    if (geteuid() == 0)
        return err_set_errno(e, ERR_NOT_EXECUTABLE, error, "this process may not attach to process "
                             "%d (a container needs the capability SYS_PTRACE for that)", pid);
    if (uid != geteuid())
        return err_set(e, ERR_NOT_EXECUTABLE,
                       "process %d belongs to user %d; only that user and root "
                       "may attach to it",
                       pid, (int)uid);
    if (ptrace_scope() > 0)
        return err_set(
            e, ERR_NOT_EXECUTABLE,
            "this system lets a process be attached to by its "
            "ancestors and root only (kernel.yama.ptrace_scope is %d); run penumbra as root, "
            "or ask for sysctl kernel.yama.ptrace_scope=0",
            ptrace_scope());
    return err_set_errno(e, ERR_NOT_EXECUTABLE, error, "process %d may not be attached to (it has "
                         "gained or dropped privileges); run penumbra as root", pid);
}

static bool check_program(pid_t pid, struct err *e)
{
    char path[64];
    uint8_t ident[EI_NIDENT + 4] = {0};
    snprintf(path, sizeof path, "/proc/%d/exe", attach_view(pid));
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? pread(fd, ident, sizeof ident, 0) : 0;
    if (fd >= 0)
        close(fd);
    uint16_t machine = (uint16_t)(ident[EI_NIDENT + 2] | ident[EI_NIDENT + 3] << 8);
    if (n == (ssize_t)sizeof ident && (ident[EI_CLASS] != ELFCLASS64 || machine != EM_X86_64))
        return err_set(e, ERR_WRONG_MACHINE,
                       "process %d is no 64-bit x86-64 program (ELF class %u, "
                       "machine %u), and penumbra records no others",
                       pid, ident[EI_CLASS], machine);
    return true;
}

static bool check_libc(const struct attach_maps *maps, pid_t pid, int mem, struct err *e)
{
    struct attach_libc glibc;
    if (attach_libc_find(&glibc, maps, mem))
        return true;
    if (attach_libc_is_musl(maps))
        return err_set(e, ERR_WRONG_MACHINE, "process %d uses musl as its C library, not glibc; "
                       "libpenumbra-rt.so can be loaded into programs of glibc only", pid);
    return err_set(e, ERR_STATIC,
                   "process %d has no dynamic loader and libc of glibc's loaded (it is "
                   "statically linked?), so no library can be loaded into it",
                   pid);
}

/* The library is opened by its number in the process's own /proc. */
static bool check_root(pid_t pid, struct err *e)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/root/proc/version", attach_view(pid));
    if (!access(path, F_OK) || errno != ENOENT)
        return true;
    return err_set(
        e, ERR_ATTACH,
        "process %d has entered a root folder without /proc (chroot), so no library can be loaded "
        "into it; record it from its start",
        pid);
}

bool record_attach_check(struct record_attach *a, pid_t pid, struct err *e)
{
    struct attach_maps maps;
    char path[64];
    *a = (struct record_attach){.pid = pid, .mem = -1, .lifeline = -1};
    if (!check_state(pid, e))
        return false;
    snprintf(path, sizeof path, "/proc/%d/mem", attach_view(pid));
    a->mem = open(path, O_RDWR | O_CLOEXEC);
    if (a->mem < 0)
        return not_permitted(pid, errno, e);
    if (!attach_maps_read(pid, &maps))
        return no_memory(pid, e);
    bool ok = check_program(pid, e) && check_libc(&maps, pid, a->mem, e) && check_root(pid, e);
    attach_maps_free(&maps);
    snprintf(path, sizeof path, "/proc/%d/comm", pid);
    FILE *f = fopen(path, "re");
    if (!f || !fgets(a->name, sizeof a->name, f))
        snprintf(a->name, sizeof a->name, "process");
    if (f)
        fclose(f);
    a->name[strcspn(a->name, "\n/")] = '\0';
    return ok;
}

bool record_attach_signal(struct record_attach *a, struct spool_config *config, struct err *e)
{
    uint64_t caught = 0, ignored = 0;
    a->signal = (int)config->signal;
    if (config->mechanism != MECHANISM_TIMER)
        return true;
    attach_status(a->pid, a->pid, "SigCgt", 16, &caught);
    attach_status(a->pid, a->pid, "SigIgn", 16, &ignored);
    for (int i = a->signal; i < SIGRTMAX; i++)
        if (!((caught | ignored) >> (i - 1) & 1)) {
            a->signal = i;
            config->signal = (uint32_t)i;
            return true;
        }
    return err_set(e, ERR_ATTACH,
                   "process %d uses all real-time signals from %d on, and CPU timers need one "
                   "(perf events cannot be used here)",
                   a->pid, a->signal);
}

char **record_attach_arguments(pid_t pid)
{
    enum { BYTES_MAX = 4096, COUNT_MAX = 256 };
    struct {
        char *argv[COUNT_MAX + 1];
        char text[BYTES_MAX + 1];
    } *block = calloc(1, sizeof *block);
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/cmdline", attach_view(pid));
    FILE *f = block ? fopen(path, "re") : NULL;
    size_t size = f ? fread(block->text, 1, BYTES_MAX, f) : 0, count = 0;
    if (f)
        fclose(f);
    for (size_t at = 0; at < size && count < COUNT_MAX; at += strlen(block->text + at) + 1)
        block->argv[count++] = block->text + at;
    return block ? block->argv : NULL;
}

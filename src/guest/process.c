#include "guest/guest.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <time.h>

#include "guest/images.h"
#include "guest/phases.h"
#include "sigsafe/sys.h"

enum { COMMAND_BYTES = 2048 };

spool_ref guest_command(int argc, char **argv)
{
    char command[COMMAND_BYTES];
    uint64_t n = 0;
    for (int i = 0; i < argc && argv[i]; i++)
        for (const char *c = argv[i]; n < sizeof command; c++) {
            command[n++] = *c;
            if (!*c)
                break;
        }
    return spool_string_as(&guest.spool, command, n);
}

static uint64_t file_read(const char *path, char *text, uint64_t size)
{
    int fd = (int)sys_call6_as(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
    if (fd < 0)
        return 0;
    long n = sys_call3_as(SYS_read, fd, (long)text, (long)size);
    sys_call3_as(SYS_close, fd, 0, 0);
    return n > 0 ? (uint64_t)n : 0;
}

spool_ref guest_command_of_kernel(void)
{
    char text[COMMAND_BYTES];
    uint64_t n = file_read("/proc/thread-self/cmdline", text, sizeof text);
    return spool_string_as(&guest.spool, text, n);
}

void guest_name_of_kernel(struct spool_process *p)
{
    char text[sizeof p->name];
    uint64_t n = file_read("/proc/self/comm", text, sizeof text);
    for (uint64_t i = 0; i < sizeof p->name; i++)
        p->name[i] = i + 1 < n ? text[i] : 0;
}

/* In a fork child in a sandbox. When it began the collector will say. */
static void record_inherit(struct spool_process *p, int32_t pid)
{
    p->pid = pid;
    p->ppid = guest.pid;
    p->sandboxed = 1;
    for (unsigned i = 0; i < sizeof p->name; i++)
        p->name[i] = guest.process->name[i];
}

static void record_ask(struct spool_process *p)
{
    p->pid = (int32_t)sys_call3_as(SYS_getpid, 0, 0, 0);
    p->ppid = (int32_t)sys_call3_as(SYS_getppid, 0, 0, 0);
    p->start_ns = sys_clock_ns_as(CLOCK_MONOTONIC);
    sys_call3_as(SYS_prctl, PR_GET_NAME, (long)p->name, 0);
}

struct spool_process *guest_process_make_as(int32_t pid)
{
    struct spool_process *p = spool_alloc_as(&guest.spool, guest.process_size);
    if (!p)
        return NULL;
    if (guest_quiet_as())
        record_inherit(p, pid);
    else
        record_ask(p);
    guest.pid = p->pid;
    p->state = PROCESS_RUNNING;
    return p;
}

void guest_process_publish_as(struct spool_process *p)
{
    guest.process = p;
    spool_push_as(&guest.spool, &spool_header(&guest.spool)->processes, p);
}

bool guest_process_begin(int argc, char **argv)
{
    struct spool_process *p = guest_process_make_as(0);
    if (!p)
        return false;
    p->command = guest_command(argc, argv);
    guest_process_publish_as(p);
    return true;
}

static const char *base_name(const char *path)
{
    const char *name = path;
    for (const char *c = path; *c; c++)
        if (*c == '/')
            name = c + 1;
    return name;
}

void guest_process_rename_as(const char *from, const char *to)
{
    struct spool_process *p = guest.process;
    const uint64_t most = sizeof p->name - 1;
    from = base_name(from);
    to = base_name(to);
    for (uint64_t i = 0; i < most && (from[i] || p->name[i]); i++)
        if (from[i] != p->name[i])
            return;
    bool ended = false;
    for (uint64_t i = 0; i < most; i++) {
        ended |= !to[i];
        p->name[i] = ended ? 0 : to[i];
    }
}

bool guest_is_foreign_as(void)
{
    return !guest_quiet_as() && sys_call3_as(SYS_getpid, 0, 0, 0) != guest.pid;
}

/* With the time where the clock may be asked. */
static void state_set_as(enum spool_process_state state)
{
    if (!guest_quiet_as())
        guest.process->end_ns = sys_clock_ns_as(CLOCK_MONOTONIC);
    __atomic_store_n(&guest.process->state, state, __ATOMIC_RELEASE);
}

void guest_end_as(void)
{
    state_set_as(PROCESS_EXITED);
}

void guest_exec_as(void)
{
    state_set_as(PROCESS_EXECING);
}

void guest_exec_failed_as(void)
{
    uint32_t execing = PROCESS_EXECING;
    if (__atomic_compare_exchange_n(&guest.process->state, &execing, PROCESS_RUNNING, false,
                                    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        guest.process->end_ns = 0;
}

void guest_fork_child_copy_as(void)
{
    phases_fork_child();
    images_fork_child_as();
}

bool guest_fork_child_as(void)
{
    const struct spool_process *parent = guest.process;
    struct spool_process *p = guest_quiet_as() ? NULL : guest_process_make_as(0);
    if (!p)
        return false;
    p->command = parent->command;
    guest_process_publish_as(p);
    guest_fork_child_copy_as();
    return true;
}

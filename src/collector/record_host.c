#include "collector/record_host.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collector/measure.h"
#include "modules/builtin.h"

/* A callback that uses so much CPU time, or takes so long, without returning does not return. */
#define HUNG_CPU_NS UINT64_C(3000000000)
#define HUNG_WALL_NS UINT64_C(30000000000)
#define FINISH_STEP_NS 2000000
enum { LOAD_MS = 60000 };

/* What the host says once it is ready, or cannot be. */
struct reply {
    bool ready;
    spool_ref capture;
    struct err error;
};

/* ---- in the host ---- */

/* The terminal's signals are for the collector and the program. What the collector does about
 * signals is not done here, and a crash leaves no core. */
static void settle_signals(void)
{
    static const int ignored[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE, SIGUSR1, SIGUSR2};
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    const struct rlimit none = {0, 0};
    sigset_t empty;
    for (unsigned i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal(ignored[i], SIG_IGN);
    for (unsigned i = 0; i < sizeof fatal / sizeof *fatal; i++)
        signal(fatal[i], SIG_DFL);
    sigemptyset(&empty);
    sigprocmask(SIG_SETMASK, &empty, NULL);
    setrlimit(RLIMIT_CORE, &none);
}

static const struct penumbra_module *load(const char *file, const char *name, struct err *e)
{
    if (!file) {
        const struct penumbra_module *module = module_builtin(name);
        if (!module)
            err_set(e, ERR_INTERNAL, "there is no module %s", name);
        return module;
    }
    char *path = realpath(file, NULL);
    if (!path) {
        err_set_errno(e, ERR_NOT_FOUND, errno, "cannot load the module %s", file);
        return NULL;
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    free(path);
    if (!library) {
        err_set(e, ERR_USAGE, "cannot load the module %s: %s", file, dlerror());
        return NULL;
    }
    const struct penumbra_module *module = dlsym(library, "penumbra_module");
    if (!module)
        err_set(e, ERR_USAGE, "%s is not a module: it does not define penumbra_module; see "
                "penumbra/module.h", file);
    return module && host_check_module(module, file, e) ? module : NULL;
}

static void run_host(const char *file, const char *name, const struct host_options *options,
                     struct record_spool *spool, int to)
{
    struct reply reply = {0};
    close(spool->fd); /* its lock says that the collector lives */
    settle_signals();
    const struct penumbra_module *module = load(file, name, &reply.error);
    struct penumbra_host *host =
        module ? host_new(&spool->spool, module, options, &reply.capture, &reply.error) : NULL;
    reply.ready = host != NULL;
    if (host)
        host_protect(host);
    bool said = write(to, &reply, sizeof reply) == (ssize_t)sizeof reply;
    close(to);
    if (host && said)
        host_run(host);
    fflush(NULL);
    _exit(host && said ? 0 : 1);
}

/* ---- in the collector ---- */

static void describe_end(int status, char *out, size_t size)
{
    if (WIFSIGNALED(status))
        snprintf(out, size, "crashed (signal %d, %s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(out, size, "ended its process (status %d)", WEXITSTATUS(status));
}

static void end_host(struct record_host *h)
{
    if (!h->pid)
        return;
    kill(h->pid, SIGKILL);
    while (waitpid(h->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    h->pid = 0;
}

static bool take_reply(struct record_host *h, int from, struct reply *reply, struct err *e)
{
    struct pollfd ready = {.fd = from, .events = POLLIN};
    int status, n;
    do
        n = poll(&ready, 1, LOAD_MS);
    while (n < 0 && errno == EINTR);
    if (n > 0 && read(from, reply, sizeof *reply) == (ssize_t)sizeof *reply)
        return true;
    if (n == 0) {
        end_host(h);
        return err_set(e, ERR_USAGE,
                       "the module %s was not ready within %d s: its capture or begin does "
                       "not return",
                       h->name, LOAD_MS / 1000);
    }
    char how[128];
    while (waitpid(h->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    h->pid = 0;
    describe_end(status, how, sizeof how);
    return err_set(e, ERR_USAGE, "the module %s %s while it was loaded", h->name, how);
}

bool record_host_start(struct record_host *h, const char *file, const char *name,
                       const struct host_options *options, struct record_spool *spool,
                       struct value_settings *settings, const struct recording_callbacks *callbacks,
                       struct err *e)
{
    int ends[2];
    pid_t collector = getpid();
    if (pipe2(ends, O_CLOEXEC))
        return err_set_errno(e, ERR_INTERNAL, errno, "cannot start the module's process");
    *h = (struct record_host){
        .name = file ? file : name, .callbacks = callbacks, .spool = &spool->spool};
    fflush(NULL);
    h->pid = fork();
    if (h->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(ends[0]);
        if (getppid() == collector)
            run_host(file, name, options, spool, ends[1]);
        _exit(1);
    }
    close(ends[1]);
    struct reply reply = {0};
    bool ok =
        h->pid > 0 || err_set_errno(e, ERR_INTERNAL, errno, "cannot start the module's process");
    h->pid = h->pid > 0 ? h->pid : 0;
    ok = ok && take_reply(h, ends[0], &reply, e);
    close(ends[0]);
    if (ok && !reply.ready) {
        *e = reply.error;
        ok = false;
    }
    spool_ref at = spool_header(&spool->spool)->values;
    h->values = ok ? spool_at(&spool->spool, at, sizeof *h->values) : NULL;
    if (!h->values) {
        end_host(h);
        return false;
    }
    settings->capture = reply.capture;
    settings->context |= h->values->context;
    __atomic_store_n(&spool_header(&spool->spool)->host, HOST_READING, __ATOMIC_RELEASE);
    h->wall_ns = clock_ns(CLOCK_MONOTONIC);
    return true;
}

/* The program may wait for a full ring to be emptied: not any more. */
static void close_rings(struct record_host *h)
{
    __atomic_store_n(&spool_header(h->spool)->host, HOST_GONE, __ATOMIC_RELEASE);
}

static void drop_module(struct record_host *h, enum module_end end, uint32_t detail,
                        const char *how)
{
    close_rings(h);
    h->values->module_detail = detail;
    __atomic_store_n(&h->values->module_end, end, __ATOMIC_RELEASE);
    struct err dropped = {0};
    err_set(&dropped, ERR_INTERNAL,
            "the module %s %s; what it had counted until then is kept, and the program "
            "goes on without it",
            h->name, how);
    tell_warning(h->callbacks, &dropped);
}

static bool is_hung(struct record_host *h)
{
    clockid_t clock;
    uint64_t progress = __atomic_load_n(&h->values->progress, __ATOMIC_RELAXED);
    uint64_t wall = clock_ns(CLOCK_MONOTONIC);
    uint64_t cpu = clock_getcpuclockid(h->pid, &clock) ? h->cpu_ns : clock_ns(clock);
    bool busy = __atomic_load_n(&h->values->busy, __ATOMIC_RELAXED);
    if (busy && progress == h->progress)
        return cpu - h->cpu_ns > HUNG_CPU_NS || wall - h->wall_ns > HUNG_WALL_NS;
    h->progress = progress;
    h->cpu_ns = cpu;
    h->wall_ns = wall;
    return false;
}

/* True: it has ended, one way or the other. */
static bool look_after(struct record_host *h, bool finishing)
{
    int status;
    char how[128];
    if (!h->pid)
        return true;
    if (waitpid(h->pid, &status, WNOHANG) == h->pid) {
        h->pid = 0;
        if (finishing && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
            __atomic_store_n(&h->values->module_end, MODULE_ENDED, __ATOMIC_RELEASE);
            return true;
        }
        describe_end(status, how, sizeof how);
        drop_module(h, MODULE_CRASHED, WIFSIGNALED(status) ? (uint32_t)WTERMSIG(status) : 0, how);
        return true;
    }
    if (!is_hung(h))
        return false;
    end_host(h);
    drop_module(h, MODULE_HUNG, 0, "did not return from a callback");
    return true;
}

void record_host_poll(struct record_host *h)
{
    look_after(h, false);
}

void record_host_finish(struct record_host *h)
{
    const struct timespec step = {0, FINISH_STEP_NS};
    if (!h->pid)
        return;
    __atomic_store_n(&h->values->finish, 1, __ATOMIC_RELEASE);
    spool_wake_as(h->spool, &spool_header(h->spool)->tuples_bell);
    while (!look_after(h, true))
        nanosleep(&step, NULL);
    close_rings(h);
}

void record_host_abandon(struct record_host *h)
{
    end_host(h);
}

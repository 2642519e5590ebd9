#include "collector/attach/record_attach.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "collector/attach/attach_call.h"
#include "collector/attach/attach_image.h"
#include "collector/attach/attach_safe.h"
#include "collector/attach/attach_thread.h"
#include "collector/measure.h"
#include "sigsafe/attach.h"

enum {
    STOP_MS = 2000,
    POINT_MS = 5000,
    PATIENT_MS = 300,
    BETWEEN_NS = 2000000,
    MASK_LOOK_NS = 30000000,
    LIBC_DLOPEN_MODE = (int)0x80000000,
    FDS = 3
};

/* What the process gets, by descriptor. */
enum { FD_LIBRARY, FD_SPOOL, FD_LIFELINE };

struct point {
    struct attach_maps maps;
    struct attach_landmarks marks;
    pid_t tid;
};

static void pause_ns(long ns)
{
    struct timespec t = {0, ns};
    nanosleep(&t, NULL);
}

static bool refused(pid_t pid, bool leaving, struct err *e)
{
    if (leaving)
        return err_set_errno(e, ERR_ATTACH, errno,
                             "process %d cannot be stopped for a moment, so the handler for its "
                             "signal stays",
                             pid);
    return err_set_errno(e, errno == EPERM ? ERR_NOT_EXECUTABLE : ERR_ATTACH, errno,
                         "process %d cannot be stopped for a moment, to load libpenumbra-rt.so "
                         "into it",
                         pid);
}

enum look { LOOK_FOUND, LOOK_NONE, LOOK_REFUSED };

/* Stops one thread after the other until one is where it should be: that one stays stopped. `any`:
 * wherever it is. */
static enum look look_for_point(struct point *p, pid_t pid, bool patient, bool any, unsigned *stuck)
{
    unsigned count;
    enum look result = LOOK_NONE;
    pid_t *threads = attach_threads(pid, &count);
    for (unsigned i = 0; i < count && result == LOOK_NONE; i++) {
        switch (attach_thread_stop(threads[i], STOP_MS)) {
        case ATTACH_STOPPED:
            p->tid = threads[i];
            if (any || attach_is_safe(&p->marks, p->tid, patient))
                result = LOOK_FOUND;
            else
                attach_thread_go(pid, p->tid);
            break;
        case ATTACH_STUCK: ++*stuck; break;
        case ATTACH_REFUSED: result = LOOK_REFUSED; break;
        case ATTACH_GONE: break;
        }
    }
    free(threads);
    return result;
}

static void point_end(struct point *p)
{
    attach_maps_free(&p->maps);
}

/* leaving: its calls take no lock, so any point will do, if no better one is found soon. */
static bool point_find(struct point *p, pid_t pid, int mem, bool leaving, struct err *e)
{
    uint64_t start = monotonic_ms(), passed = 0;
    unsigned stuck = 0;
    for (; passed < POINT_MS && !stuck; passed = monotonic_ms() - start) {
        *p = (struct point){.tid = 0};
        if (!attach_maps_read(pid, &p->maps) || !attach_landmarks_find(&p->marks, &p->maps, mem)) {
            point_end(p);
            return err_set(e, ERR_ATTACH, "process %d has ended, or become another program", pid);
        }
        bool patient = passed >= PATIENT_MS;
        enum look found = look_for_point(p, pid, patient, leaving && patient, &stuck);
        if (found == LOOK_FOUND)
            return true;
        int error = errno;
        point_end(p);
        errno = error;
        if (found == LOOK_REFUSED)
            return refused(pid, leaving, e);
        pause_ns(BETWEEN_NS);
    }
    return err_set(
        e, ERR_ATTACH, "process %d %s; try again", pid,
        stuck ? "does not stop (it waits inside the kernel, for a device or for a child "
                "made by vfork)"
              : "was never seen at a point where a library can be loaded: its threads were "
                "inside malloc, libc or the loader at every look");
}

/* ---- descriptors into the process ---- */

static bool send_descriptors(int socket, const int fds[FDS])
{
    char byte = 0;
    union { struct cmsghdr align; char room[CMSG_SPACE(FDS * sizeof(int))]; } control = {0};
    struct iovec data = {&byte, 1};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = control.room,
                             .msg_controllen = sizeof control.room};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(FDS * sizeof(int));
    memcpy(CMSG_DATA(head), fds, FDS * sizeof(int));
    return sendmsg(socket, &message, MSG_NOSIGNAL) == 1;
}

/* recvmsg in the process: its arguments, and what they point to, lie in the data part. */
static bool receive_there(struct attach_call *c, int socket, int32_t got[FDS], struct err *e)
{
    enum { AT_MESSAGE = 0, AT_DATA = 128, AT_BYTE = 160, AT_CONTROL = 192 };
    uint64_t base = c->area + 4096;
    char zeros[CMSG_SPACE(FDS * sizeof(int))] = {0};
    uint64_t data[2] = {base + AT_BYTE, 1};
    struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)(base + AT_DATA),
                             .msg_iovlen = 1,
                             .msg_control = (void *)(uintptr_t)(base + AT_CONTROL),
                             .msg_controllen = sizeof zeros};
    int64_t result;
    if (!attach_call_data(c, AT_CONTROL, zeros, sizeof zeros) ||
        !attach_call_data(c, AT_DATA, data, sizeof data) ||
        !attach_call_data(c, AT_MESSAGE, &message, sizeof message) ||
        !attach_call_system(
            c, SYS_recvmsg,
            (const uint64_t[6]){(uint64_t)socket, base + AT_MESSAGE, MSG_CMSG_CLOEXEC}, &result, e))
        return false;
    union { struct cmsghdr head; char room[sizeof zeros]; } control;
    if (result < 0)
        return err_set_errno(e, ERR_ATTACH, (int)-result, "process %d cannot receive descriptors",
                             c->pid);
    if (!attach_read(c->mem, base + AT_CONTROL, &control, sizeof control) ||
        control.head.cmsg_len != CMSG_LEN(FDS * sizeof(int)))
        return err_set(e, ERR_ATTACH,
                       "process %d has no free descriptors (%d are needed for a moment)", c->pid,
                       FDS + 2);
    memcpy(got, CMSG_DATA(&control.head), FDS * sizeof(int));
    return true;
}

static void close_there(struct attach_call *c, int fd)
{
    struct err ignored = {0};
    int64_t result;
    if (fd >= 0)
        attach_call_system(c, SYS_close, (const uint64_t[6]){(uint64_t)fd}, &result, &ignored);
}

/* Of a process whose first thread has ended, that of another one: from Linux 6.9 on there is such a
 * thing. */
static int process_descriptor(pid_t pid)
{
    enum { OF_THREAD = O_EXCL }; /* PIDFD_THREAD */
    pid_t view = attach_view(pid);
    return (int)syscall(SYS_pidfd_open, view, view == pid ? 0 : OF_THREAD);
}

/* A socket pair is made in the process, and one end of it fetched: the other may then receive. */
static bool pass_descriptors(struct attach_call *c, const int fds[FDS], int32_t got[FDS],
                             struct err *e)
{
    int64_t result;
    int32_t pair[2] = {-1, -1};
    uint64_t at = attach_call_data(c, 0, pair, sizeof pair);
    if (!attach_call_system(c, SYS_socketpair,
                            (const uint64_t[6]){AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, at},
                            &result, e))
        return false;
    if (result < 0 || !attach_read(c->mem, at, pair, sizeof pair))
        return err_set_errno(e, ERR_ATTACH, (int)-result,
                             "process %d cannot make a socket to receive "
                             "the library through",
                             c->pid);
    int process = process_descriptor(c->pid);
    int ours = process >= 0 ? (int)syscall(SYS_pidfd_getfd, process, pair[1], 0) : -1;
    bool ok = ours >= 0 && send_descriptors(ours, fds);
    if (!ok && process < 0 && errno == EINVAL)
        err_set(e, ERR_ATTACH,
                "the first thread of process %d has ended, and before Linux 6.9 such a process "
                "cannot be attached to; record it from its start",
                c->pid);
    else if (!ok)
        err_set_errno(e, ERR_ATTACH, errno, "cannot send descriptors to process %d", c->pid);
    ok = ok && receive_there(c, pair[0], got, e);
    if (ours >= 0)
        close(ours);
    if (process >= 0)
        close(process);
    close_there(c, pair[0]);
    close_there(c, pair[1]);
    return ok;
}

/* ---- loading and calling ---- */

static uint64_t libc_function(const struct point *p, const char *name)
{
    return attach_function(p->marks.mem, &p->marks.glibc.libc, &p->maps, name);
}

static void loader_message(struct attach_call *c, const struct point *p, char *text, size_t size)
{
    struct err ignored = {0};
    uint64_t at = 0, function = libc_function(p, "dlerror");
    snprintf(text, size, "the loader gives no reason");
    if (!function || !attach_call_function(c, function, 0, 0, &at, &ignored) || !at)
        return;
    size_t n = 0;
    while (n + 1 < size && attach_read(c->mem, at + n, text + n, 1) && text[n])
        n++;
    text[n] = '\0';
}

/* Loads the library in the process; *attach and *detach: its functions there. The doubled slash
 * keeps the name apart from any that the program itself may ever ask the loader for. */
static bool load_there(struct attach_call *c, const struct point *p, int fd, uint64_t *attach,
                       uint64_t *detach, struct err *e)
{
    uint64_t open = libc_function(p, "dlopen"), find = libc_function(p, "dlsym");
    uint64_t mode = RTLD_NOW, handle = 0;
    if (!open || !find) { /* before glibc 2.34 they were in another library */
        open = libc_function(p, "__libc_dlopen_mode");
        find = libc_function(p, "__libc_dlsym");
        mode |= (uint64_t)LIBC_DLOPEN_MODE;
    }
    if (!open || !find)
        return err_set(e, ERR_ATTACH, "the libc of process %d offers no dlopen", c->pid);
    char name[64], why[256];
    /* Not /proc/self: that has nothing to show once the first thread has ended. */
    snprintf(name, sizeof name, "/proc/%s/fd//%d",
             attach_view(c->pid) == c->pid ? "self" : "thread-self", fd);
    if (!attach_call_function(c, open, attach_call_data(c, 0, name, sizeof name), mode, &handle, e))
        return false;
    if (!handle) {
        loader_message(c, p, why, sizeof why);
        return err_set(e, ERR_ATTACH, "libpenumbra-rt.so cannot be loaded into process %d: %s",
                       c->pid, why);
    }
    return attach_call_function(c, find, handle,
                                attach_call_data(c, 0, ATTACH_FUNCTION, sizeof ATTACH_FUNCTION),
                                attach, e) &&
           attach_call_function(c, find, handle,
                                attach_call_data(c, 0, DETACH_FUNCTION, sizeof DETACH_FUNCTION),
                                detach, e);
}

static bool result_check(const struct record_attach *a, const struct record_spool *spool,
                         uint64_t result, struct err *e)
{
    const struct spool_process *p =
        spool_at(&spool->spool, spool_header(&spool->spool)->processes, sizeof *p);
    int error = p ? (int)p->arm_error : 0;
    switch ((int)result) {
    case ATTACH_DONE: return true;
    case ATTACH_BUSY:
        return err_set(
            e, ERR_ATTACH,
            "process %d is being recorded already (it was started by penumbra "
            "record, or another penumbra record -p is attached); end that recording first",
            a->pid);
    case ATTACH_VERSION:
        return err_set(e, ERR_ATTACH,
                       "process %d has libpenumbra-rt.so of another version loaded, from "
                       "an earlier recording; it must be started anew to be recorded",
                       a->pid);
    case ATTACH_EVENT:
        return err_set_errno(e, ERR_NO_TRIGGER, error,
                             a->signal == SIGTRAP ? "process %d may not open perf events"
                                                  : "process %d may not set timers",
                             a->pid);
    case ATTACH_SIGNAL:
        return err_set(e, ERR_ATTACH, "process %d cannot be given a handler for signal %d", a->pid,
                       a->signal);
    default:
        return err_set(e, ERR_ATTACH,
                       "process %d has no room for the counters (its address space may "
                       "be limited: ulimit -v)",
                       a->pid);
    }
}

static bool attach_there(struct record_attach *a, struct attach_call *c, const struct point *p,
                         const int fds[FDS], uint64_t *result, struct err *e)
{
    int32_t got[FDS] = {-1, -1, -1};
    uint64_t attach = 0, detach = 0;
    bool ok = pass_descriptors(c, fds, got, e) &&
              load_there(c, p, got[FD_LIBRARY], &attach, &detach, e);
    if (ok && (!attach || !detach))
        ok = err_set(e, ERR_ATTACH,
                     "process %d has a libpenumbra-rt.so loaded that cannot be attached "
                     "to (an older version)",
                     a->pid);
    struct attach_request request = {.layout = SPOOL_LAYOUT, .spool_fd = got[FD_SPOOL],
                                     .lifeline_fd = got[FD_LIFELINE]};
    ok = ok && attach_call_function(c, attach, attach_call_data(c, 0, &request, sizeof request), 0,
                                    result, e);
    for (unsigned i = 0; i < FDS; i++)
        close_there(c, got[i]);
    if (ok)
        a->detach = detach;
    return ok;
}

static bool attach_once(struct record_attach *a, const int fds[FDS], uint64_t *result,
                        struct err *e)
{
    struct point p;
    static struct attach_call c;
    if (!point_find(&p, a->pid, a->mem, false, e))
        return false;
    bool ok = attach_call_begin(&c, a->pid, p.tid, &p.marks, e) &&
              attach_there(a, &c, &p, fds, result, e);
    attach_call_end(&c);
    point_end(&p);
    return ok;
}

/* ---- signal masks ---- */

/* Threads that block the signal of samples would never be sampled. What is blocked for a moment
 * only (while a thread is made, say) is left alone: it must be blocked at two looks. */
static pid_t *threads_blocking(const struct record_attach *a, const pid_t *among,
                               unsigned among_count, unsigned *count)
{
    unsigned all, kept = 0;
    pid_t *threads = attach_threads(a->pid, &all);
    for (unsigned i = 0; i < all; i++) {
        uint64_t blocked = 0;
        bool candidate = !among;
        for (unsigned k = 0; k < among_count && !candidate; k++)
            candidate = among[k] == threads[i];
        if (candidate && attach_status(a->pid, threads[i], "SigBlk", 16, &blocked) &&
            blocked >> (a->signal - 1) & 1)
            threads[kept++] = threads[i];
    }
    *count = kept;
    return threads;
}

static void masks_open(struct record_attach *a, const pid_t *before, unsigned before_count)
{
    if (!before_count)
        return;
    pause_ns(MASK_LOOK_NS);
    a->unblocked = threads_blocking(a, before, before_count, &a->unblocked_count);
    for (unsigned i = 0; i < a->unblocked_count; i++)
        if (attach_thread_stop(a->unblocked[i], STOP_MS) == ATTACH_STOPPED) {
            attach_thread_block_samples(a->unblocked[i], false);
            attach_thread_go(a->pid, a->unblocked[i]);
        }
}

/* ---- leaving ---- */

static bool call_detach_once(const struct record_attach *a, pid_t pid, int mem, int step,
                             uint64_t *result, struct err *e)
{
    struct point p;
    static struct attach_call c;
    if (!point_find(&p, pid, mem, true, e))
        return false;
    bool ok = attach_call_begin(&c, pid, p.tid, &p.marks, e) &&
              attach_call_function(&c, a->detach, (uint64_t)step, 0, result, e);
    attach_call_end(&c);
    point_end(&p);
    return ok;
}

/* A thread that is unloading a library has to come to the end of that first. */
static bool call_detach(const struct record_attach *a, pid_t pid, int mem, int step, struct err *e)
{
    uint64_t result = ATTACH_BUSY, begun = monotonic_ms();
    while ((int)result == ATTACH_BUSY && monotonic_ms() - begun < POINT_MS) {
        if (!call_detach_once(a, pid, mem, step, &result, e))
            return false;
        if ((int)result == ATTACH_BUSY)
            pause_ns(BETWEEN_NS);
    }
    return (int)result != ATTACH_BUSY ||
           err_set(e, ERR_ATTACH,
                   "process %d does not stop changing its libraries: nothing is sampled any "
                   "more, but the handler for its signal stays",
                   pid);
}

static bool was_unblocked(const struct record_attach *a, pid_t tid)
{
    for (unsigned i = 0; i < a->unblocked_count; i++)
        if (a->unblocked[i] == tid)
            return true;
    return false;
}

/* Each thread passes one stop, where signals of events that are silent by now arrive and are
 * dropped: afterwards none can meet a process without our handler. */
static bool drain(const struct record_attach *a, pid_t pid, struct err *e)
{
    struct attach_maps maps = {0};
    uint64_t lo = 0, hi = 0;
    unsigned count;
    attach_maps_read(pid, &maps);
    const struct attach_map *code = attach_maps_at(&maps, a->detach);
    if (code) {
        lo = code->lo;
        hi = code->hi;
    }
    attach_maps_free(&maps);
    bool ok = true;
    pid_t *threads = attach_threads(pid, &count);
    for (unsigned i = 0; i < count; i++) {
        enum attach_stop stop = attach_thread_stop(threads[i], STOP_MS);
        if (stop == ATTACH_STOPPED)
            stop = attach_thread_drain(pid, threads[i], lo, hi, STOP_MS);
        if (stop == ATTACH_STOPPED && pid == a->pid && was_unblocked(a, threads[i]))
            attach_thread_block_samples(threads[i], true);
        if (stop == ATTACH_STOPPED)
            attach_thread_go(pid, threads[i]);
        ok &= stop == ATTACH_STOPPED || stop == ATTACH_GONE;
    }
    free(threads);
    return ok || err_set(e, ERR_ATTACH,
                         "a thread of process %d does not stop: nothing is sampled any "
                         "more, but the handler for its signal stays",
                         pid);
}

/* Whether the process has the spool mapped: it is ours, and not what an exec has put in its
 * place. */
static bool has_spool(pid_t pid, const struct record_spool *spool)
{
    struct attach_maps maps;
    const char *name = strrchr(spool->path, '/');
    bool found = false;
    if (!name || !attach_maps_read(pid, &maps))
        return false;
    for (size_t i = 0; i < maps.count && !found; i++)
        found = strstr(maps.list[i].name, name + 1) == maps.list[i].name;
    attach_maps_free(&maps);
    return found;
}

static bool leave_process(const struct record_attach *a, pid_t pid, struct err *e)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", attach_view(pid));
    int mem = open(path, O_RDWR | O_CLOEXEC);
    if (mem < 0)
        return err_set_errno(e, ERR_ATTACH, errno,
                             "process %d cannot be opened, so the handler for its signal stays",
                             pid);
    bool ok = call_detach(a, pid, mem, ATTACH_SILENCE, e) && drain(a, pid, e) &&
              call_detach(a, pid, mem, ATTACH_LEAVE, e);
    close(mem);
    return ok;
}

/* A process that ends, or becomes another program, is left. */
static bool leave_unless_gone(const struct record_attach *a, pid_t pid,
                              const struct record_spool *spool, struct err *e)
{
    struct err why = {0};
    if (leave_process(a, pid, &why) || !has_spool(pid, spool))
        return true;
    return err_set(e, ERR_ATTACH, "%s", why.message);
}

/* Children have inherited the runtime and its mapping. */
static bool leave_children(const struct record_attach *a, const struct record_spool *spool,
                           struct err *e)
{
    unsigned count;
    bool ok = true;
    const struct spool_process *first =
        spool_at(&spool->spool, spool_header(&spool->spool)->processes, sizeof *first);
    if (!first || !first->next)
        return true;
    pid_t *all = attach_processes(&count);
    for (unsigned i = 0; i < count; i++)
        if (all[i] != a->pid && all[i] != getpid() && has_spool(all[i], spool))
            ok &= leave_unless_gone(a, all[i], spool, e);
    free(all);
    return ok;
}

bool record_attach_leave(struct record_attach *a, const struct record_spool *spool, struct err *e)
{
    bool ok = true;
    if (!a->detach)
        return true;
    if (record_attach_runs(a) && has_spool(a->pid, spool))
        ok = leave_unless_gone(a, a->pid, spool, e);
    ok &= leave_children(a, spool, e);
    a->detach = 0;
    return ok;
}

/* ---- the whole ---- */

bool record_attach_begin(struct record_attach *a, const char *runtime,
                         const struct record_spool *spool, struct err *e)
{
    int pipe_ends[2], fds[FDS];
    uint64_t result = 0;
    unsigned blocking_count;
    struct err ignored = {0};
    if (pipe2(pipe_ends, O_CLOEXEC))
        return err_set_errno(e, ERR_INTERNAL, errno, "cannot make a pipe");
    a->lifeline = pipe_ends[1];
    attach_thread_samples_by(a->signal);
    fds[FD_LIFELINE] = pipe_ends[0];
    /* Opened once more: a lock goes with our own descriptor, and a mapping holds what it is made
     * of. */
    fds[FD_SPOOL] = open(spool->path, O_RDWR | O_CLOEXEC);
    fds[FD_LIBRARY] = open(runtime, O_RDONLY | O_CLOEXEC);
    pid_t *blocking = threads_blocking(a, NULL, 0, &blocking_count);
    bool ok = fds[FD_LIBRARY] >= 0 && fds[FD_SPOOL] >= 0;
    if (!ok)
        err_set_errno(e, ERR_INTERNAL, errno, "cannot open \"%s\"",
                      fds[FD_LIBRARY] >= 0 ? spool->path : runtime);
    ok = ok && attach_once(a, fds, &result, e);
    if (ok && result == ATTACH_STALE) {
        leave_process(a, a->pid, &ignored);
        ok = attach_once(a, fds, &result, e);
    }
    ok = ok && result_check(a, spool, result, e);
    if (!ok)
        a->detach = 0;
    else
        masks_open(a, blocking, blocking_count);
    free(blocking);
    for (unsigned i = 0; i < FDS; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    return ok;
}

void record_attach_end(struct record_attach *a)
{
    if (a->mem >= 0)
        close(a->mem);
    if (a->lifeline >= 0)
        close(a->lifeline);
    free(a->unblocked);
    *a = (struct record_attach){.mem = -1, .lifeline = -1};
}

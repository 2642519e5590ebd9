/* System calls of a shadow: what sigsafe/shadow_calls.inc says of each is acted out here.
 *
 * The program's pointers are used as they are: the memory is the shadow's own, and a pointer that
 * leads nowhere ends it as any fault does. */
#include <asm-generic/errno.h>
#include <asm-generic/ioctls.h>
#include <asm/prctl.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>

#include "runtime/input/input_calls.h"
#include "runtime/carrier/shadow/shadow_self.h"
#include "runtime/carrier/shadow/shadow_threads.h"
#include "sigsafe/sys.h"

typedef enum engine_action call_function(struct engine_thread *t);

enum { YIELDS_MOST = 1000, VECTOR_MOST = 1024, PATH_MOST = 4096 };

/* Arguments in their order. */
#define ARG1(t) ((t)->gpr[ENGINE_RDI])
#define ARG2(t) ((t)->gpr[ENGINE_RSI])
#define ARG3(t) ((t)->gpr[ENGINE_RDX])
#define ARG4(t) ((t)->gpr[ENGINE_R10])
#define ARG5(t) ((t)->gpr[ENGINE_R8])

static uint64_t number_of(const struct engine_thread *t)
{
    uint64_t number = t->gpr[ENGINE_RAX];
    return number < SHADOW_CALLS ? number : SHADOW_CALLS - 1;
}

void shadow_call_done(struct engine_thread *t, long result)
{
    t->gpr[ENGINE_RAX] = (uint64_t)result;
    t->gpr[ENGINE_RCX] = t->rip; /* as the instruction leaves them */
    t->gpr[ENGINE_R11] = t->rflags;
}

static enum engine_action done(struct engine_thread *t, long result)
{
    shadow_call_done(t, result);
    return ENGINE_CONTINUE;
}

_Noreturn void shadow_call_ends_as(const struct engine_thread *t, enum shadow_end why)
{
    __atomic_fetch_add(&shadow_self.record->calls_ended[number_of(t)], 1, __ATOMIC_RELAXED);
    shadow_end_as(why);
}

static _Noreturn void ends(const struct engine_thread *t, enum shadow_end why)
{
    shadow_call_ends_as(t, why);
}

static long plain(const struct engine_thread *t)
{
    const uint64_t *r = t->gpr;
    return sys_call6_as((long)r[ENGINE_RAX], (long)r[ENGINE_RDI], (long)r[ENGINE_RSI],
                        (long)r[ENGINE_RDX], (long)r[ENGINE_R10], (long)r[ENGINE_R8],
                        (long)r[ENGINE_R9]);
}

/* ---- without a look at the arguments ---- */

static enum engine_action call_RUN(struct engine_thread *t)
{
    if (t->gpr[ENGINE_RAX] == SYS_sched_yield && ++shadow_self.yields > YIELDS_MOST)
        ends(t, END_WAIT); /* for a thread that does not run here */
    return done(t, plain(t));
}

static enum engine_action call_NOTHING(struct engine_thread *t)
{
    return done(t, 0);
}

static enum engine_action call_INPUTS(struct engine_thread *t)
{
    ends(t, END_INPUT);
}

static enum engine_action call_ENDS(struct engine_thread *t)
{
    ends(t, END_SYSTEM_CALL);
}

static enum engine_action call_WAITS(struct engine_thread *t)
{
    ends(t, END_WAIT);
}

static enum engine_action call_SIGNALS(struct engine_thread *t)
{
    ends(t, END_SIGNAL);
}

static enum engine_action call_EXITS(struct engine_thread *t)
{
    ends(t, END_EXIT);
}

/* ---- who it is ---- */

static enum engine_action call_SELF(struct engine_thread *t)
{
    const struct shadow_self *self = &shadow_self;
    bool own = !ARG1(t) || (int32_t)ARG1(t) == self->pid;
    switch (t->gpr[ENGINE_RAX]) {
    case SYS_getpid: return done(t, self->pid);
    case SYS_set_tid_address:
    case SYS_gettid: return done(t, self->tid);
    case SYS_getppid: return done(t, self->ppid);
    case SYS_getpgrp: return done(t, self->group);
    case SYS_getpgid: return done(t, own ? self->group : plain(t));
    default: return done(t, own ? self->session : plain(t));
    }
}

static enum engine_action call_LIMIT(struct engine_thread *t)
{
    if (t->gpr[ENGINE_RAX] == SYS_getrlimit)
        return done(t, plain(t));
    if (ARG3(t))
        return done(t, 0);
    bool own = (int32_t)ARG1(t) == shadow_self.pid;
    return done(t, sys_call6_as(SYS_prlimit64, own ? 0 : (long)ARG1(t), (long)ARG2(t), 0,
                                (long)ARG4(t), 0, 0));
}

static enum engine_action call_KILL(struct engine_thread *t)
{
    int32_t to = (int32_t)ARG1(t), thread = (int32_t)ARG2(t);
    uint64_t number = t->gpr[ENGINE_RAX];
    bool by_thread = number == SYS_tgkill || number == SYS_rt_tgsigqueueinfo;
    uint64_t signal = by_thread ? ARG3(t) : ARG2(t);
    bool own = to == shadow_self.pid || to == shadow_self.tid || shadow_threads_know(to) ||
               to == 0 || to == -1 || (by_thread && thread == shadow_self.tid);
    if (own && signal)
        ends(t, END_SIGNAL);
    return done(t, 0);
}

/* ---- descriptors ---- */

static enum engine_action call_CLOSE(struct engine_thread *t)
{
    long result = plain(t);
    if (t->gpr[ENGINE_RAX] == SYS_close)
        shadow_file_close(ARG1(t), ARG1(t));
    else
        shadow_file_close((uint32_t)ARG1(t), (uint32_t)ARG2(t));
    return done(t, result);
}

static enum engine_action call_DUP(struct engine_thread *t)
{
    long result = plain(t);
    if (!sys_failed(result))
        shadow_file_copy(ARG1(t), (uint64_t)result);
    return done(t, result);
}

/* What can be asked only once: with --log-input as the program has been told. */
static enum engine_action call_REPLAY(struct engine_thread *t)
{
    _Static_assert(SOCK_CLOEXEC == O_CLOEXEC && SOCK_NONBLOCK == O_NONBLOCK,
                   "accept4's flags are open's");
    const uint64_t arguments[6] = {ARG1(t), ARG2(t), ARG3(t), ARG4(t), ARG5(t), t->gpr[ENGINE_R9]};
    uint32_t number = (uint32_t)t->gpr[ENGINE_RAX];
    struct input_call call;
    long result;
    if (input_call_describe_as(number, arguments, &call) && shadow_input_as(&call, &result) &&
        (sys_failed(result) || !input_call_opens(number) ||
         shadow_file_accept_as(ARG1(t), (uint64_t)result, call.wanted.flags)))
        return done(t, result);
    ends(t, number == SYS_epoll_ctl ? END_SYSTEM_CALL : END_INPUT);
}

/* Regular files and folders are read by a description of the shadow's own. What would have been
 * written and is not kept is not there. */
static enum engine_action call_READ(struct engine_thread *t)
{
    enum shadow_file kind = shadow_file_of(ARG1(t));
    if (kind >= FILE_PIPE)
        return call_REPLAY(t);
    if (kind == FILE_OWN)
        return done(t, plain(t));
    if (kind == FILE_UNREADABLE && (shadow_file_flags(ARG1(t)) & O_ACCMODE) == O_WRONLY)
        return done(t, -EBADF);
    if ((kind != FILE_REGULAR && kind != FILE_FOLDER) || shadow_file_written(ARG1(t)))
        ends(t, END_INPUT);
    return done(t, plain(t));
}

/* It would have been written: its size is not what it seems. */
static void size_known_as(const struct engine_thread *t)
{
    enum shadow_file kind = shadow_file_of(ARG1(t));
    if ((kind == FILE_REGULAR || kind == FILE_UNREADABLE) && shadow_file_written(ARG1(t)))
        ends(t, END_INPUT);
}

/* The descriptor that the call asks about; SHADOW_NO_FILE: it asks about a name. */
static uint64_t asked(const struct engine_thread *t, uint64_t flags)
{
    return flags & AT_EMPTY_PATH && (!ARG2(t) || !*(const char *)ARG2(t)) ? ARG1(t)
                                                                          : SHADOW_NO_FILE;
}

static enum engine_action call_STAT(struct engine_thread *t)
{
    uint64_t number = t->gpr[ENGINE_RAX];
    bool at = number == SYS_newfstatat;
    long result = plain(t);
    if (!sys_failed(result) && !shadow_file_status_as((struct stat *)(at ? ARG3(t) : ARG2(t)),
                                                  at                    ? asked(t, ARG4(t))
                                                  : number == SYS_fstat ? ARG1(t)
                                                                        : SHADOW_NO_FILE))
        ends(t, END_INPUT);
    return done(t, result);
}

static enum engine_action call_STATX(struct engine_thread *t)
{
    const struct statx *status = (const struct statx *)ARG5(t);
    long result = plain(t);
    if (!sys_failed(result) &&
        shadow_file_changed(asked(t, ARG3(t)),
                            makedev(status->stx_dev_major, status->stx_dev_minor), status->stx_ino))
        ends(t, END_INPUT);
    return done(t, result);
}

static enum engine_action call_SEEK(struct engine_thread *t)
{
    long result;
    if (ARG3(t) == SEEK_END)
        size_known_as(t);
    switch (shadow_file_of(ARG1(t))) {
    case FILE_REGULAR:
    case FILE_OWN:
    case FILE_FOLDER: return done(t, plain(t));
    case FILE_PIPE:
    case FILE_SOCKET: return done(t, -ESPIPE);
    case FILE_UNREADABLE:
        if ((result = plain(t)) != -EBADF)
            return done(t, result); /* fall through */
    default: ends(t, END_INPUT);
    }
}

static enum engine_action written(struct engine_thread *t, uint64_t size, bool position)
{
    enum { RW_MOST = 0x7ffff000 }; /* the kernel's MAX_RW_COUNT */
    if (shadow_file_of(ARG1(t)) == FILE_UNKNOWN)
        ends(t, END_SYSTEM_CALL);
    if (size > RW_MOST)
        size = RW_MOST;
    if (shadow_file_own_as(ARG1(t))) {
        shadow_file_grow_as(size);
        return done(t, plain(t));
    }
    shadow_file_write_as(ARG1(t), size, position);
    return done(t, (long)size);
}

static uint64_t vector_size(uint64_t vector, uint64_t count)
{
    const struct iovec *at = (const struct iovec *)vector;
    uint64_t size = 0;
    for (uint64_t i = 0; i < count && i < VECTOR_MOST; i++)
        size += at[i].iov_len;
    return size;
}

static enum engine_action call_WRITE(struct engine_thread *t)
{
    return written(t, ARG3(t), true);
}

static enum engine_action call_WRITE_AT(struct engine_thread *t)
{
    return written(t, ARG3(t), false);
}

static enum engine_action call_WRITE_VECTOR(struct engine_thread *t)
{
    return written(t, vector_size(ARG2(t), ARG3(t)), true);
}

static enum engine_action call_WRITE_VECTOR_AT(struct engine_thread *t)
{
    return written(t, vector_size(ARG2(t), ARG3(t)), false);
}

static enum engine_action call_SEND(struct engine_thread *t)
{
    return written(t, ARG3(t), false);
}

static enum engine_action call_SEND_MESSAGE(struct engine_thread *t)
{
    const struct msghdr *message = (const struct msghdr *)ARG2(t);
    return written(t, vector_size((uint64_t)message->msg_iov, message->msg_iovlen), false);
}

/* Of a file that is, or becomes, the shadow's own; of others success is assumed. */
static enum engine_action call_SIZE(struct engine_thread *t)
{
    if (!shadow_file_own_as(ARG1(t))) {
        shadow_file_write_as(ARG1(t), 0, false);
        return done(t, 0);
    }
    if (t->gpr[ENGINE_RAX] == SYS_fallocate)
        shadow_file_grow_as(ARG4(t));
    return done(t, plain(t));
}

/* Locks of the program are not in its own way. */
static enum engine_action lock_asked(struct engine_thread *t)
{
    struct flock *lock = (struct flock *)ARG3(t);
    long result = plain(t);
    if (!sys_failed(result) && lock->l_pid == shadow_self.pid)
        lock->l_type = F_UNLCK;
    return done(t, result);
}

static enum engine_action call_FCNTL(struct engine_thread *t)
{
    uint64_t fd = ARG1(t);
    if (shadow_file_of(fd) == FILE_UNKNOWN)
        ends(t, END_SYSTEM_CALL);
    switch ((int)ARG2(t)) {
    case F_GETFD:
    case F_SETFD: return done(t, plain(t));
    case F_DUPFD:
    case F_DUPFD_CLOEXEC: return call_DUP(t);
    case F_GETFL: return done(t, (long)shadow_file_flags(fd));
    case F_SETFL:
        shadow_file_set_flags(fd, (shadow_file_flags(fd) & ~(uint32_t)(O_APPEND | O_NONBLOCK)) |
                                      ((uint32_t)ARG3(t) & (O_APPEND | O_NONBLOCK)));
        return done(t, shadow_file_of(fd) == FILE_OWN ? plain(t) : 0);
    case F_SETLK:
    case F_SETLKW:
    case F_OFD_SETLK:
    case F_OFD_SETLKW: return done(t, 0);
    case F_GETLK: return lock_asked(t);
    default: ends(t, END_SYSTEM_CALL);
    }
}

static enum engine_action call_IOCTL(struct engine_thread *t)
{
    enum shadow_file kind = shadow_file_of(ARG1(t));
    bool asks = ARG2(t) == TCGETS || ARG2(t) == TIOCGWINSZ;
    if (asks && kind != FILE_UNKNOWN && kind != FILE_DEVICE && kind != FILE_OTHER)
        return done(t, -ENOTTY);
    long told;
    if (asks && shadow_terminal_tell(ARG1(t), ARG2(t), (void *)ARG3(t), &told))
        return done(t, told);
    if (kind == FILE_OWN)
        return done(t, plain(t));
    ends(t, END_SYSTEM_CALL);
}

/* ---- opening ---- */

/* /proc shows the shadow where the program would see itself. */
static bool is_in_proc(const char *path)
{
    static const char proc[] = "/proc";
    for (unsigned i = 0; i < sizeof proc - 1; i++)
        if (path[i] != proc[i])
            return false;
    return path[5] == '/' || path[5] == 0;
}

static enum engine_action opened(struct engine_thread *t, long result)
{
    if (result == SHADOW_FILE_LOST)
        ends(t, END_INPUT);
    if (!sys_failed(result) && shadow_file_of((uint64_t)result) == FILE_UNKNOWN)
        ends(t, END_SYSTEM_CALL); /* no room to remember it */
    return done(t, result);
}

static enum engine_action open_new(struct engine_thread *t, long folder, const char *path,
                                   uint64_t flags)
{
    long made = shadow_file_make_as(folder, path, flags);
    if (made == -EEXIST && !(flags & O_EXCL))
        ends(t, END_SYSTEM_CALL); /* a link that leads nowhere yet, which is not followed here */
    return opened(t, made);
}

/* Only what is a regular file or a folder when it is looked at and when it is open: anything else
 * may block, or notice. O_NONBLOCK keeps what was exchanged in between from blocking. */
static enum engine_action call_OPEN(struct engine_thread *t)
{
    bool at = t->gpr[ENGINE_RAX] == SYS_openat;
    long folder = at ? (long)ARG1(t) : AT_FDCWD;
    const char *path = (const char *)(at ? ARG2(t) : ARG1(t));
    uint64_t flags = at ? ARG3(t) : ARG2(t);
    bool writes = (flags & O_ACCMODE) != O_RDONLY || flags & (O_CREAT | O_TRUNC);
    struct stat status;
    if (flags & O_PATH || (flags & O_TMPFILE) == O_TMPFILE || (flags & O_ACCMODE) == O_ACCMODE ||
        is_in_proc(path) || (writes && flags & O_DIRECT) ||
        ((flags & O_ACCMODE) == O_RDONLY && flags & O_TRUNC))
        ends(t, END_SYSTEM_CALL);
    if ((flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL))
        return open_new(t, folder, path, flags);
    long result = sys_call6_as(SYS_newfstatat, folder, (long)path, (long)&status,
                               flags & O_NOFOLLOW ? AT_SYMLINK_NOFOLLOW : 0, 0, 0);
    if (result == -ENOENT && flags & O_CREAT)
        return open_new(t, folder, path, flags);
    if (sys_failed(result))
        return done(t, result);
    if (S_ISDIR(status.st_mode) && writes)
        return done(t, -EISDIR);
    if (S_ISLNK(status.st_mode)) /* and O_NOFOLLOW */
        return done(t, flags & O_DIRECTORY ? -ENOTDIR : -ELOOP);
    if (!S_ISDIR(status.st_mode) && !S_ISREG(status.st_mode))
        ends(t, END_SYSTEM_CALL);
    return opened(t, shadow_file_open_as(folder, path, flags, &status));
}

/* ---- memory ---- */

static bool is_shared(uint64_t at, uint64_t size)
{
    return shadow_memory_is_shared(at, at + size);
}

static enum engine_action call_MMAP(struct engine_thread *t)
{
    uint64_t prot = ARG3(t), flags = ARG4(t);
    bool anonymous = flags & MAP_ANONYMOUS, is_private = (flags & MAP_TYPE) == MAP_PRIVATE;
    bool shows = (flags & MAP_TYPE) == MAP_SHARED && !(prot & PROT_WRITE);
    enum shadow_file kind = anonymous ? FILE_REGULAR : shadow_file_of(ARG5(t));
    if (prot & PROT_EXEC || flags & (MAP_HUGETLB | MAP_LOCKED) ||
        (kind != FILE_REGULAR && kind != FILE_OWN))
        ends(t, END_SYSTEM_CALL);
    if (!anonymous &&
        (shadow_file_written(ARG5(t)) || !(is_private || (shows && shadow_file_show(ARG5(t))))))
        ends(t, END_SYSTEM_CALL);
    return done(t, plain(t));
}

static enum engine_action call_UNMAP(struct engine_thread *t)
{
    return done(t, plain(t));
}

static enum engine_action call_PROTECT(struct engine_thread *t)
{
    if (ARG3(t) & PROT_EXEC || is_shared(ARG1(t), ARG2(t)))
        ends(t, END_SYSTEM_CALL);
    return done(t, plain(t));
}

static enum engine_action call_REMAP(struct engine_thread *t)
{
    if (is_shared(ARG1(t), ARG2(t) ? ARG2(t) : 1) || ARG4(t) & MREMAP_FIXED)
        ends(t, END_SYSTEM_CALL);
    return done(t, plain(t));
}

static enum engine_action call_ADVISE(struct engine_thread *t)
{
    switch (ARG3(t)) {
    case MADV_DONTNEED:
    case MADV_FREE:
        if (is_shared(ARG1(t), ARG2(t)))
            ends(t, END_SYSTEM_CALL);
        return done(t, plain(t));
    case MADV_NORMAL:
    case MADV_RANDOM:
    case MADV_SEQUENTIAL:
    case MADV_WILLNEED:
    case MADV_DONTFORK:
    case MADV_DOFORK:
    case MADV_HUGEPAGE:
    case MADV_NOHUGEPAGE:
    case MADV_DONTDUMP:
    case MADV_DODUMP: return done(t, 0);
    default: ends(t, END_SYSTEM_CALL);
    }
}

/* ---- threads and signals ---- */

static enum engine_action call_FUTEX(struct engine_thread *t)
{
    const uint32_t *word = (const uint32_t *)ARG1(t);
    switch (ARG2(t) & (uint64_t)FUTEX_CMD_MASK) {
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET: return done(t, 0);
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
        if (__atomic_load_n(word, __ATOMIC_RELAXED) != (uint32_t)ARG3(t))
            return done(t, -EAGAIN);
        ends(t, END_WAIT);
    default: ends(t, END_WAIT);
    }
}

static enum engine_action call_MASK(struct engine_thread *t)
{
    const uint64_t *set = (const uint64_t *)ARG2(t);
    uint64_t *old = (uint64_t *)ARG3(t), *mask = &shadow_self.mask, before = *mask;
    if (ARG4(t) != sizeof *mask)
        return done(t, -EINVAL);
    uint64_t wanted = set ? *set : 0;
    if (set && ARG1(t) > SIG_SETMASK)
        return done(t, -EINVAL);
    if (set)
        *mask = ARG1(t) == SIG_BLOCK ? before | wanted
                : ARG1(t) == SIG_UNBLOCK ? before & ~wanted
                                         : wanted;
    if (old)
        *old = before;
    return done(t, 0);
}

static enum engine_action call_ACTION(struct engine_thread *t)
{
    int at = shadow_fault_index((int)ARG1(t));
    if (at < 0)
        return done(t, plain(t));
    const struct shadow_action *wanted = (const struct shadow_action *)ARG2(t);
    struct shadow_action *old = (struct shadow_action *)ARG3(t), *now = &shadow_self.actions[at];
    struct shadow_action before = *now;
    if (wanted)
        *now = *wanted;
    if (old)
        *old = before;
    return done(t, 0);
}

static enum engine_action call_STACK(struct engine_thread *t)
{
    const stack_t *wanted = (const stack_t *)ARG1(t);
    stack_t *old = (stack_t *)ARG2(t), before = shadow_self.stack;
    if (wanted)
        shadow_self.stack = *wanted;
    if (old)
        *old = before;
    return done(t, 0);
}

static enum engine_action call_PRCTL(struct engine_thread *t)
{
    switch (ARG1(t)) {
    case PR_SET_NAME:
    case PR_GET_NAME:
    case PR_GET_TIMERSLACK:
    case PR_GET_NO_NEW_PRIVS:
    case PR_GET_SECCOMP:
    case PR_GET_KEEPCAPS:
    case PR_CAPBSET_READ: return done(t, plain(t));
    case PR_SET_VMA: return done(t, 0);
    default: ends(t, END_SYSTEM_CALL);
    }
}

static enum engine_action call_ARCH(struct engine_thread *t)
{
    if (ARG1(t) != ARCH_GET_FS && ARG1(t) != ARCH_SET_FS)
        ends(t, END_SYSTEM_CALL);
    return done(t, plain(t));
}

/* ---- the table ---- */

#define CALL(number, name, group, how, reason) [number] = call_##how,
static call_function *const calls[SHADOW_CALLS] = {
#include "sigsafe/shadow_calls.inc"
};
#undef CALL

enum engine_action shadow_call_as(struct engine_thread *t)
{
    uint64_t number = number_of(t);
    call_function *function = number == t->gpr[ENGINE_RAX] ? calls[number] : NULL;
    __atomic_fetch_add(&shadow_self.record->calls[number], 1, __ATOMIC_RELAXED);
    if (number != SYS_sched_yield)
        shadow_self.yields = 0;
    if (shadow_threads_call_as(t))
        return ENGINE_CONTINUE;
    if (!function)
        ends(t, END_SYSTEM_CALL);
    return function(t);
}

/* The triggers read and write: bytes that the program moves, by the function that it calls to move
 * them.
 *
 * libc's streams call read and write inside libc, where nothing can stand in between: so their
 * functions are interposed too, and count the bytes that the program takes from or gives to a
 * stream, at the call that does, not those that happen to fill or flush the buffer. At the
 * process's end all that was counted is compared with what the kernel counted (/proc/self/io). The
 * rest (read-ahead, scanf, inlined macros, raw system calls) is charged to [unattributed], so that
 * totals are right. */
#include "runtime/interpose/io.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "runtime/path/tree.h"
#include "runtime/interpose/real.h"
#include "runtime/trigger/turn.h"
#include "sigsafe/sys.h"

uint32_t io_triggers;

/* The result of the call, counted by `count`(trigger, bytes). */
#define COUNTED(count, trigger, call)                                                              \
    ({                                                                                             \
        __typeof__(call) result = (call);                                                          \
        count(trigger, (int64_t)result);                                                           \
        result;                                                                                    \
    })
#define READ(call) COUNTED(io_moved, TRIGGER_READ, call)
#define WRITE(call) COUNTED(io_moved, TRIGGER_WRITE, call)
#define RECEIVE(call) COUNTED(io_moved_unseen, TRIGGER_READ, call)
#define SEND(call) COUNTED(io_moved_unseen, TRIGGER_WRITE, call)

#define READS(call) READ(LOGGED(call, SYS_read, fd, to, size))
#define RECEIVES(call, from, length)                                                               \
    RECEIVE(LOGGED(call, SYS_recvfrom, fd, to, size, flags, from, length))

/* ---- descriptors ---- With 64-bit offsets libc's headers give the names `pread` and so on to
 * pread64 and so on: the plain ones are named to the assembler. */

EXPORT ssize_t read(int fd, void *to, size_t size)
{
    return READS(REAL(read)(fd, to, size));
}

EXPORT ssize_t pread64(int fd, void *to, size_t size, off64_t at)
{
    return READ(REAL(pread64)(fd, to, size, at));
}

EXPORT ssize_t pread_plain(int fd, void *to, size_t size, off_t at) __asm__("pread");
ssize_t pread_plain(int fd, void *to, size_t size, off_t at)
{
    return pread64(fd, to, size, at);
}

EXPORT ssize_t readv(int fd, const struct iovec *to, int count)
{
    return READ(LOGGED(REAL(readv)(fd, to, count), SYS_readv, fd, to, count));
}

EXPORT ssize_t preadv64(int fd, const struct iovec *to, int count, off64_t at)
{
    return READ(REAL(preadv64)(fd, to, count, at));
}

EXPORT ssize_t preadv_plain(int fd, const struct iovec *to, int count, off_t at) __asm__("preadv");
ssize_t preadv_plain(int fd, const struct iovec *to, int count, off_t at)
{
    return preadv64(fd, to, count, at);
}

EXPORT ssize_t preadv64v2(int fd, const struct iovec *to, int count, off64_t at, int flags)
{
    return READ(REAL(preadv64v2)(fd, to, count, at, flags));
}

EXPORT ssize_t preadv2_plain(int fd, const struct iovec *to, int count, off_t at, int flags)
    __asm__("preadv2");
ssize_t preadv2_plain(int fd, const struct iovec *to, int count, off_t at, int flags)
{
    return preadv64v2(fd, to, count, at, flags);
}

EXPORT ssize_t write(int fd, const void *from, size_t size)
{
    return WRITE(REAL(write)(fd, from, size));
}

EXPORT ssize_t pwrite64(int fd, const void *from, size_t size, off64_t at)
{
    return WRITE(REAL(pwrite64)(fd, from, size, at));
}

EXPORT ssize_t pwrite_plain(int fd, const void *from, size_t size, off_t at) __asm__("pwrite");
ssize_t pwrite_plain(int fd, const void *from, size_t size, off_t at)
{
    return pwrite64(fd, from, size, at);
}

EXPORT ssize_t writev(int fd, const struct iovec *from, int count)
{
    return WRITE(REAL(writev)(fd, from, count));
}

EXPORT ssize_t pwritev64(int fd, const struct iovec *from, int count, off64_t at)
{
    return WRITE(REAL(pwritev64)(fd, from, count, at));
}

EXPORT ssize_t pwritev_plain(int fd, const struct iovec *from, int count, off_t at)
    __asm__("pwritev");
ssize_t pwritev_plain(int fd, const struct iovec *from, int count, off_t at)
{
    return pwritev64(fd, from, count, at);
}

EXPORT ssize_t pwritev64v2(int fd, const struct iovec *from, int count, off64_t at, int flags)
{
    return WRITE(REAL(pwritev64v2)(fd, from, count, at, flags));
}

EXPORT ssize_t pwritev2_plain(int fd, const struct iovec *from, int count, off_t at, int flags)
    __asm__("pwritev2");
ssize_t pwritev2_plain(int fd, const struct iovec *from, int count, off_t at, int flags)
{
    return pwritev64v2(fd, from, count, at, flags);
}

/* ---- what is checked at run time (_FORTIFY_SOURCE) ---- */

ssize_t __read_chk(int, void *, size_t, size_t);
ssize_t __pread64_chk(int, void *, size_t, off64_t, size_t);
ssize_t __pread_chk(int, void *, size_t, off_t, size_t);
ssize_t __recv_chk(int, void *, size_t, size_t, int);
ssize_t __recvfrom_chk(int, void *restrict, size_t, size_t, int, struct sockaddr *restrict,
                       socklen_t *restrict);

EXPORT ssize_t __read_chk(int fd, void *to, size_t size, size_t room)
{
    return READS(REAL(__read_chk)(fd, to, size, room));
}

EXPORT ssize_t __pread64_chk(int fd, void *to, size_t size, off64_t at, size_t room)
{
    return READ(REAL(__pread64_chk)(fd, to, size, at, room));
}

EXPORT ssize_t __pread_chk(int fd, void *to, size_t size, off_t at, size_t room)
{
    return __pread64_chk(fd, to, size, at, room);
}

EXPORT ssize_t __recv_chk(int fd, void *to, size_t size, size_t room, int flags)
{
    return RECEIVES(REAL(__recv_chk)(fd, to, size, room, flags), 0, 0);
}

EXPORT ssize_t __recvfrom_chk(int fd, void *restrict to, size_t size, size_t room, int flags,
                              struct sockaddr *restrict from, socklen_t *restrict length)
{
    return RECEIVES(REAL(__recvfrom_chk)(fd, to, size, room, flags, from, length), from, length);
}

/* ---- sockets ---- */

EXPORT ssize_t recv(int fd, void *to, size_t size, int flags)
{
    return RECEIVES(REAL(recv)(fd, to, size, flags), 0, 0);
}

EXPORT ssize_t recvfrom(int fd, void *restrict to, size_t size, int flags,
                        struct sockaddr *restrict from, socklen_t *restrict length)
{
    return RECEIVES(REAL(recvfrom)(fd, to, size, flags, from, length), from, length);
}

EXPORT ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    return RECEIVE(LOGGED(REAL(recvmsg)(fd, message, flags), SYS_recvmsg, fd, message, flags));
}

EXPORT ssize_t send(int fd, const void *from, size_t size, int flags)
{
    return SEND(REAL(send)(fd, from, size, flags));
}

EXPORT ssize_t sendto(int fd, const void *from, size_t size, int flags, const struct sockaddr *to,
                      socklen_t length)
{
    return SEND(REAL(sendto)(fd, from, size, flags, to, length));
}

EXPORT ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    return SEND(REAL(sendmsg)(fd, message, flags));
}

static int64_t messages_bytes(const struct mmsghdr *messages, int count)
{
    int64_t bytes = 0;
    for (int i = 0; i < count; i++)
        bytes += messages[i].msg_len;
    return bytes;
}

EXPORT int recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags,
                    struct timespec *timeout)
{
    int result = REAL(recvmmsg)(fd, messages, count, flags, timeout);
    io_moved_unseen(TRIGGER_READ, messages_bytes(messages, result));
    return result;
}

EXPORT int sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags)
{
    int result = REAL(sendmmsg)(fd, messages, count, flags);
    io_moved_unseen(TRIGGER_WRITE, messages_bytes(messages, result));
    return result;
}

/* ---- from descriptor to descriptor ---- */

EXPORT ssize_t sendfile64(int out, int in, off64_t *at, size_t size)
{
    ssize_t moved = READ(REAL(sendfile64)(out, in, at, size));
    io_moved(TRIGGER_WRITE, moved);
    return moved;
}

EXPORT ssize_t sendfile_plain(int out, int in, off_t *at, size_t size) __asm__("sendfile");
ssize_t sendfile_plain(int out, int in, off_t *at, size_t size)
{
    return sendfile64(out, in, at, size);
}

EXPORT ssize_t copy_file_range(int in, off64_t *in_at, int out, off64_t *out_at, size_t size,
                               unsigned flags)
{
    ssize_t moved = READ(REAL(copy_file_range)(in, in_at, out, out_at, size, flags));
    io_moved(TRIGGER_WRITE, moved);
    return moved;
}

EXPORT ssize_t splice(int in, off64_t *in_at, int out, off64_t *out_at, size_t size, unsigned flags)
{
    ssize_t moved = RECEIVE(REAL(splice)(in, in_at, out, out_at, size, flags));
    io_moved_unseen(TRIGGER_WRITE, moved);
    return moved;
}

/* ---- the family ---- */

/* What can be compared with the kernel's count. */
static struct direction {
    enum trigger_kind trigger;
    const char *name;     /* in /proc/self/io */
    uint64_t start_bytes; /* what the kernel had counted, and we had seen, when we began */
} directions[] = {{TRIGGER_READ, "rchar: ", 0}, {TRIGGER_WRITE, "wchar: ", 0}};
enum { DIRECTIONS = sizeof directions / sizeof directions[0] };

/* A number of /proc/self/io; 0 if it cannot be read. */
static uint64_t kernel_bytes(const struct direction *d)
{
    char text[512];
    int fd = (int)sys_call6_as(SYS_openat, AT_FDCWD, (long)"/proc/self/io", O_RDONLY | O_CLOEXEC, 0,
                               0, 0);
    if (fd < 0)
        return 0;
    long n = sys_call3_as(SYS_read, fd, (long)text, sizeof text - 1);
    sys_call3_as(SYS_close, fd, 0, 0);
    text[n > 0 ? n : 0] = 0;
    const char *at = strstr(text, d->name);
    uint64_t value = 0;
    for (at = at ? at + strlen(d->name) : ""; *at >= '0' && *at <= '9'; at++)
        value = value * 10 + (uint64_t)(*at - '0');
    return value;
}

/* The library may be there for the sake of shadows, or of other triggers, only. */
static void begin(void)
{
    io_triggers = 0;
    for (unsigned i = 0; i < DIRECTIONS; i++) {
        struct direction *d = &directions[i];
        if (!sync_wants(d->trigger))
            continue;
        io_triggers |= 1u << d->trigger;
        d->start_bytes = rt_quiet_as() ? 0 : kernel_bytes(d);
    }
    input_numbered = input_wanted;
}

static void fork_child(void)
{
    for (unsigned i = 0; i < DIRECTIONS; i++)
        rt.seen[i] = 0;
    begin();
}

static uint64_t seen_bytes(unsigned direction)
{
    uint64_t seen = __atomic_load_n(&rt.seen[direction], __ATOMIC_RELAXED);
    uint32_t slots = __atomic_load_n(&rt.slots_used, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < slots; i++) {
        const struct rt_thread *t = __atomic_load_n(&rt.slots[i], __ATOMIC_ACQUIRE);
        seen += t ? t->seen[direction] : 0;
    }
    return seen;
}

/* May come more than once: before an exec that fails, too. */
static void direction_end(struct rt_thread *t, struct direction *d)
{
    uint64_t counted = kernel_bytes(d), seen = seen_bytes((unsigned)(d - directions));
    uint64_t unseen = counted > d->start_bytes + seen ? counted - d->start_bytes - seen : 0;
    uint32_t which = spool_trigger_find(rt.config, d->trigger), before = t->which;
    if (!counted || !rt_running_as() || __atomic_exchange_n(&t->busy, 1, __ATOMIC_ACQUIRE))
        return;
    if (turn_to_as(t, which)) {
        tree_add_unattributed_now_as(t, unseen / t->clock.mean);
        d->start_bytes += unseen / t->clock.mean * t->clock.mean;
        turn_to_as(t, before);
    }
    __atomic_store_n(&t->busy, 0, __ATOMIC_RELEASE);
}

static void end(struct rt_thread *t)
{
    for (unsigned i = 0; i < DIRECTIONS; i++)
        if (io_counts(directions[i].trigger))
            direction_end(t, &directions[i]);
}

static const struct sync_family io = {0, begin, fork_child, end, NULL};

/* Before the runtime's own constructor. */
__attribute__((constructor(101))) static void io_family(void)
{
    sync_family_add(&io);
}

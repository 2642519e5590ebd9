#include "runtime/input/input_calls.h"

#include <asm-generic/errno-base.h>
#include <poll.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>

#include "sigsafe/sys.h"

enum { SET_WORD = 64, PAGE = 4096, MASK_SIZE = 8 };

/* An address that nobody may read is for the kernel to refuse: the call is let go by, undescribed.
 * The kernel reads a mask there before it finds that -1 says nothing about what to do with it. */
static bool readable_as(uint64_t address, uint64_t size)
{
    uint64_t end;
    if (!address || __builtin_add_overflow(address, size, &end))
        return false;
    for (uint64_t page = address & -(uint64_t)PAGE; page < end; page += PAGE)
        if (sys_call6_as(SYS_rt_sigprocmask, -1, (long)page, 0, MASK_SIZE, 0, 0) != -EINVAL)
            return false;
    return true;
}

/* What is asked for, where that is more than a number: FNV-1a. */
static uint64_t digest(uint64_t seed, const void *data, uint64_t size)
{
    const uint8_t *at = data;
    uint64_t sum = UINT64_C(0xcbf29ce484222325) ^ seed;
    for (uint64_t i = 0; i < size; i++)
        sum = (sum ^ at[i]) * UINT64_C(0x100000001b3);
    return sum;
}

static void piece_add(struct input_call *call, uint64_t at, uint64_t size)
{
    if (!at || !size)
        return;
    call->to[call->pieces++] = (struct iovec){(void *)at, size};
    call->fixed += size;
}

/* ---- bytes ---- */

static bool read_describe(const uint64_t *a, struct input_call *call)
{
    call->wanted.size = a[2];
    call->to[call->pieces++] = (struct iovec){(void *)a[1], a[2]};
    call->unit = 1;
    return true;
}

static bool vector_describe(uint64_t vector, uint64_t count, struct input_call *call)
{
    call->wanted.size = count;
    call->more = (const struct iovec *)vector;
    call->more_pieces = count;
    call->unit = 1;
    return true;
}

/* An address and its size, which says before the call how much there may be. */
static bool sized_describe(uint64_t value, uint64_t length, struct input_call *call)
{
    if (!length)
        return true;
    if (!readable_as(length, sizeof(uint32_t)))
        return false;
    uint64_t room = *(const uint32_t *)length;
    piece_add(call, length, sizeof(uint32_t));
    piece_add(call, value, room);
    return true;
}

static bool from_describe(const uint64_t *a, struct input_call *call)
{
    call->wanted.flags = (uint32_t)a[3];
    return sized_describe(a[4], a[5], call) && read_describe(a, call);
}

/* What comes with a message besides (descriptors) is nothing that a shadow can be given. */
static bool message_describe(const uint64_t *a, struct input_call *call)
{
    struct msghdr *message = (struct msghdr *)a[1];
    if (!readable_as(a[1], sizeof *message))
        return false;
    piece_add(call, (uint64_t)&message->msg_namelen, sizeof message->msg_namelen);
    piece_add(call, (uint64_t)&message->msg_controllen, sizeof message->msg_controllen);
    piece_add(call, (uint64_t)&message->msg_flags, sizeof message->msg_flags);
    piece_add(call, (uint64_t)message->msg_name, message->msg_namelen);
    call->control = &message->msg_controllen;
    call->wanted.flags = (uint32_t)a[2];
    return vector_describe((uint64_t)message->msg_iov, message->msg_iovlen, call);
}

/* ---- what has come ---- */

/* Time limits are left out: they are computed from clocks, which are later in a shadow. */
static bool poll_describe(const uint64_t *a, struct input_call *call)
{
    const struct pollfd *list = (const struct pollfd *)a[0];
    uint64_t sum = a[1];
    if (a[1] && (a[1] > UINT32_MAX || !readable_as(a[0], a[1] * sizeof *list)))
        return false;
    for (uint64_t i = 0; i < a[1]; i++)
        sum = digest(sum, &list[i], offsetof(struct pollfd, revents));
    call->wanted.size = sum;
    call->wanted.fd = -1;
    piece_add(call, a[0], a[1] * sizeof *list);
    return true;
}

static bool select_describe(const uint64_t *a, struct input_call *call)
{
    uint64_t count = (uint32_t)a[0], size = (count + SET_WORD - 1) / SET_WORD * sizeof(uint64_t),
             sum = count;
    for (int i = 1; i <= 3; i++) {
        if (a[i] && !readable_as(a[i], size))
            return false;
        sum = a[i] ? digest(sum, (const void *)a[i], size) : sum + (uint64_t)i;
        piece_add(call, a[i], size);
    }
    call->wanted.size = sum;
    call->wanted.fd = -1;
    piece_add(call, a[4], sizeof(struct timespec)); /* what was left of it */
    return true;
}

static bool epoll_describe(const uint64_t *a, struct input_call *call)
{
    call->wanted.size = (uint32_t)a[2];
    call->to[call->pieces++] =
        (struct iovec){(void *)a[1], (uint32_t)a[2] * sizeof(struct epoll_event)};
    call->unit = sizeof(struct epoll_event);
    return true;
}

/* What the program is told later about the descriptor is what it has said here. */
static bool watch_describe(const uint64_t *a, struct input_call *call)
{
    uint64_t which = (uint32_t)a[2];
    if (a[3] && !readable_as(a[3], sizeof(struct epoll_event)))
        return false;
    call->wanted.flags = (uint32_t)a[1];
    call->wanted.size =
        a[3] ? digest(which, (const void *)a[3], sizeof(struct epoll_event)) : which;
    return true;
}

/* ---- which call ---- */

static bool describe_as(const uint64_t *a, struct input_call *call)
{
    switch (call->wanted.system_call) {
    case SYS_read: return read_describe(a, call);
    case SYS_readv: return vector_describe(a[1], a[2], call);
    case SYS_recvfrom: return from_describe(a, call);
    case SYS_recvmsg: return message_describe(a, call);
    case SYS_poll:
    case SYS_ppoll: return poll_describe(a, call);
    case SYS_pselect6: return select_describe(a, call);
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2: return epoll_describe(a, call);
    case SYS_epoll_ctl: return watch_describe(a, call);
    case SYS_accept4: call->wanted.flags = (uint32_t)a[3]; /* fall through */
    case SYS_accept:
    case SYS_getsockname:
    case SYS_getpeername: return sized_describe(a[1], a[2], call);
    case SYS_getsockopt: call->wanted.size =
        a[1] << 32 | (uint32_t)a[2]; return sized_describe(a[3], a[4], call);
    default: return false;
    }
}

/* Nothing is described yet. (A compiler would clear all the pieces by memset.) */
static void call_begin(struct input_call *call, uint32_t system_call, int32_t fd)
{
    call->wanted = (struct input_request){.system_call = system_call, .fd = fd};
    call->more = NULL;
    call->control = NULL;
    call->more_pieces = call->fixed = 0;
    call->unit = call->pieces = 0;
    call->unknown = false;
}

bool input_call_describe_as(uint32_t system_call, const uint64_t arguments[6],
                            struct input_call *call)
{
    call_begin(call, system_call, (int32_t)arguments[0]);
    if (describe_as(arguments, call))
        return true;
    call_begin(call, 0, -1);
    return false;
}

uint64_t input_call_size(const struct input_call *call, int64_t result)
{
    uint64_t room = 0;
    if (result < 0)
        return 0;
    for (uint32_t i = 0; i < call->pieces; i++)
        room += call->to[i].iov_len;
    for (uint64_t i = 0; i < call->more_pieces; i++)
        room += call->more[i].iov_len;
    /* With MSG_TRUNC a result says more than were given. */
    uint64_t size = call->fixed + (uint64_t)result * call->unit;
    return size < room ? size : room;
}

bool input_call_opens(uint32_t system_call)
{
    return system_call == SYS_accept || system_call == SYS_accept4;
}

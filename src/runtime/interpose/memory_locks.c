/* mlock() and its like: what the runtime maps stays out. Reserved and never used it is more than
 * what most programs have, and a part of it is a file in /dev/shm, where others have what they
 * need.
 *
 * The kernel knows no mapping that mlockall() leaves out: what is mapped is locked piece by piece,
 * as /proc/self/maps has it. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "runtime/interpose/real.h"
#include "runtime/runtime.h"
#include "sigsafe/own_memory.h"
#include "sigsafe/sys.h"

enum { PAGE = 4096 };

/* In a vfork child too: the memory that it locks is its parent's. */
static bool is_apart(void)
{
    return rt_profiled_as() && !rt_quiet_as();
}

/* ---- a range ---- */

/* What there is of the program's in [from, to) is locked by `flags` of mlock2. An errno; 0: all of
 * it. */
static int pieces_lock(uint64_t from, uint64_t to, long flags)
{
    int error = 0;
    while (from < to) {
        uint64_t lo = to, hi = to;
        if (!own_memory_find_as(from, to, &lo, &hi))
            lo = hi = to;
        long result = lo > from ? sys_call3_as(flags ? SYS_mlock2 : SYS_mlock, (long)from,
                                               (long)(lo - from), flags) : 0;
        if (result != 0 && !error)
            error = (int)-result;
        from = hi;
    }
    return error;
}

/* True: a part of it is ours, and *lo and *hi are its pages. */
static bool has_ours(const void *at, size_t size, uint64_t *lo, uint64_t *hi)
{
    uint64_t end, own_lo, own_hi;
    if (!is_apart() || __builtin_add_overflow((uint64_t)at, size, &end) || end > UINT64_MAX - PAGE)
        return false;
    *lo = (uint64_t)at & -(uint64_t)PAGE;
    *hi = (end + PAGE - 1) & -(uint64_t)PAGE;
    return own_memory_find_as(*lo, *hi, &own_lo, &own_hi);
}

/* Of nothing, the kernel says whether the program may lock at all. */
EXPORT int mlock(const void *at, size_t size)
{
    uint64_t lo, hi;
    if (!has_ours(at, size, &lo, &hi))
        return REAL(mlock)(at, size);
    if (REAL(mlock)(at, 0) != 0)
        return -1;
    int error = pieces_lock(lo, hi, 0);
    return error ? (int)call_failed(-error) : 0;
}

EXPORT int mlock2(const void *at, size_t size, unsigned flags)
{
    uint64_t lo, hi;
    if (!has_ours(at, size, &lo, &hi))
        return REAL(mlock2)(at, size, flags);
    if (REAL(mlock2)(at, 0, flags) != 0)
        return -1;
    int error = pieces_lock(lo, hi, flags);
    return error ? (int)call_failed(-error) : 0;
}

/* ---- all ---- */

/* The lines of /proc/self/maps, read as far as the two addresses that each begins with. */
struct lines {
    long flags; /* of mlock2 */
    uint64_t value, lo;
    bool in_rest; /* of the line */
};

static void line_character(struct lines *l, char c)
{
    if (c == '\n') {
        l->in_rest = false;
        l->value = 0;
    } else if (l->in_rest) {
        return;
    } else if (c == '-') {
        l->lo = l->value;
        l->value = 0;
    } else if (c == ' ') {
        l->in_rest = true; /* what cannot be locked the kernel does not report either */
        pieces_lock(l->lo, l->value, l->flags);
    } else {
        l->value = l->value << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
}

static bool all_lock(long flags)
{
    char text[2048];
    struct lines l = {.flags = flags};
    long n, fd = sys_call6_as(SYS_openat, AT_FDCWD, (long)"/proc/self/maps", O_RDONLY | O_CLOEXEC,
                              0, 0, 0);
    if (fd < 0)
        return false;
    while ((n = sys_call3_as(SYS_read, fd, (long)text, sizeof text)) > 0)
        for (long i = 0; i < n; i++)
            line_character(&l, text[i]);
    sys_call3_as(SYS_close, fd, 0, 0);
    return n == 0;
}

/* Bytes of address space, from the first number of /proc/self/statm. */
static uint64_t space_used(void)
{
    char text[64];
    uint64_t pages = 0;
    long fd =
        sys_call6_as(SYS_openat, AT_FDCWD, (long)"/proc/self/statm", O_RDONLY | O_CLOEXEC, 0, 0, 0);
    long n = fd < 0 ? 0 : sys_call3_as(SYS_read, fd, (long)text, sizeof text);
    if (fd >= 0)
        sys_call3_as(SYS_close, fd, 0, 0);
    for (long i = 0; i < n && text[i] >= '0' && text[i] <= '9'; i++)
        pages = pages * 10 + (uint64_t)(text[i] - '0');
    return pages * PAGE;
}

static bool is_unlimited(void)
{
    struct __user_cap_header_struct who = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct has[_LINUX_CAPABILITY_U32S_3] = {{0}};
    return sys_call3_as(SYS_capget, (long)&who, (long)has, 0) == 0 &&
           has[0].effective >> CAP_IPC_LOCK & 1;
}

/* The kernel lets nobody lock all who has more than the limit: without what is ours it may be
 * less. */
static bool may_lock_all(void)
{
    struct rlimit64 limit = {0};
    if (is_unlimited())
        return true;
    sys_call6_as(SYS_prlimit64, 0, RLIMIT_MEMLOCK, 0, (long)&limit, 0, 0);
    uint64_t used = space_used(), ours = own_memory_bytes_as();
    return limit.rlim_cur &&
           (limit.rlim_cur == RLIM64_INFINITY || (used > ours ? used - ours : 0) <= limit.rlim_cur);
}

/* Only what is mapped from now on; or, of what was so before, nothing any more. */
static int future_lock(int flags)
{
    int future = flags & (MCL_FUTURE | MCL_ONFAULT), result = 0;
    if (flags & MCL_FUTURE)
        result = REAL(mlockall)(future);
    else if (own_memory_is_locked_as())
        result = REAL(munlockall)();
    if (result == 0)
        own_memory_locks_as(flags & MCL_FUTURE);
    return result;
}

EXPORT int mlockall(int flags)
{
    enum { KNOWN = MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT };
    if (!is_apart() || !flags || flags & ~KNOWN || flags == MCL_ONFAULT ||
        (flags & MCL_CURRENT && !may_lock_all()))
        return REAL(mlockall)(flags);
    int result = future_lock(flags);
    if (result != 0 || !(flags & MCL_CURRENT))
        return result;
    return all_lock(flags & MCL_ONFAULT ? MLOCK_ONFAULT : 0) ? 0 : REAL(mlockall)(flags);
}

EXPORT int munlockall(void)
{
    int result = REAL(munlockall)();
    if (result == 0 && is_apart())
        own_memory_locks_as(false);
    return result;
}

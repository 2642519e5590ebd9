#include "runtime/carrier/shadow_huge.h"

#include <fcntl.h>
#include <linux/ioctl.h>
#include <sys/mman.h>

#include "runtime/thread.h"
#include "sigsafe/sys.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

enum { RANGES = 512, FOUND = 64, FIRST_LOOK_NS = 10000000 };
/* One costs 0.2 to 0.6 ms; more, again and again, where the kernel has to move other memory for it. Once in a while it waits some
 * milliseconds for a virtual machine's other processors. */
enum { USUAL_NS = 500000, DEAR_NS = 3000000 };
#define HUGE_PAGE (2ull << 20)
#define ADDRESSES_END ((1ull << 47) - 4096)

/* linux/fs.h since Linux 6.7. */
enum { IS_FILE = 1 << 2, IS_PRESENT = 1 << 3, IS_ZERO = 1 << 5, IS_HUGE = 1 << 6 };
struct scan_region {
    uint64_t lo, hi, categories;
};
struct scan {
    uint64_t size, flags, lo, hi, walked_to, regions, regions_max, pages_max, inverted, all_of, any_of, reported;
};
#define SCAN _IOWR('f', 16, struct scan)

struct range {
    uint64_t lo, hi;
};

static struct {
    uint32_t count;
    struct range at[RANGES];   /* huge pages at the last fork, and at those before it */
    uint64_t fork_ns, look_ns; /* CPU time of the last fork, and of the next look */
} huge;

/* Pages there of all categories `wanted` and none `unwanted`: their ranges in order, FOUND at most. */
static long scan_as(long fd, const struct range *where, uint64_t wanted, uint64_t unwanted, struct scan_region *found)
{
    struct scan scan = {.size = sizeof scan,
                        .lo = where->lo,
                        .hi = where->hi,
                        .regions = (uint64_t)found,
                        .regions_max = FOUND,
                        .inverted = unwanted,
                        .all_of = wanted | unwanted,
                        .reported = wanted};
    return sys_call3_as(SYS_ioctl, fd, (long)SCAN, (long)&scan);
}

static long pages_open_as(void)
{
    return sys_call6_as(SYS_openat, AT_FDCWD, (long)"/proc/self/pagemap", O_RDONLY | O_CLOEXEC, 0, 0, 0);
}

/* Some may overlap. Where there is no room the older ones are forgotten. */
static void add(uint64_t lo, uint64_t hi)
{
    for (uint32_t i = 0; i < huge.count; i++)
        if (huge.at[i].lo <= lo && hi <= huge.at[i].hi)
            return;
    if (huge.count == RANGES)
        huge.count = 0;
    huge.at[huge.count++] = (struct range){lo, hi};
}

void shadow_huge_note_as(uint64_t cpu_ns)
{
    struct scan_region found[FOUND];
    struct range rest = {0, ADDRESSES_END};
    long fd = pages_open_as(), n = FOUND;
    huge.fork_ns = cpu_ns;
    huge.look_ns = cpu_ns + FIRST_LOOK_NS;
    if (fd < 0)
        return;
    while (n == FOUND) {
        n = scan_as(fd, &rest, IS_HUGE, IS_FILE, found);
        for (long i = 0; i < n; i++)
            add(found[i].lo, found[i].hi);
        if (n > 0)
            rest.lo = found[n - 1].hi;
    }
    sys_call3_as(SYS_close, fd, 0, 0);
}

/* False: no more now. */
static bool restore_one_as(uint64_t page, uint64_t room_ns, struct huge_work *done)
{
    if (done->ns + USUAL_NS > room_ns)
        return false;
    uint64_t begin = thread_cpu_ns_as();
    bool ok = sys_call3_as(SYS_madvise, (long)page, (long)HUGE_PAGE, MADV_COLLAPSE) == 0;
    done->pages += ok;
    done->ns += thread_cpu_ns_as() - begin;
    bool scarce = !ok || done->ns > DEAR_NS * (done->pages + 1);
    if (scarce)
        huge.look_ns = UINT64_MAX; /* not after this fork */
    return !scarce;
}

/* Split, and every page of it there: else the program has given some of it back. */
static bool restore_range_as(long fd, const struct range *range, uint64_t room_ns, struct huge_work *done)
{
    struct scan_region found[FOUND];
    struct range rest = *range;
    long n = FOUND;
    while (n == FOUND) {
        n = scan_as(fd, &rest, IS_PRESENT, IS_HUGE | IS_FILE | IS_ZERO, found);
        for (long i = 0; i < n; i++)
            for (uint64_t at = (found[i].lo + HUGE_PAGE - 1) & -HUGE_PAGE; at + HUGE_PAGE <= found[i].hi; at += HUGE_PAGE)
                if (!restore_one_as(at, room_ns, done))
                    return false;
        if (n > 0)
            rest.lo = found[n - 1].hi;
    }
    return true;
}

bool shadow_huge_due(uint64_t cpu_ns)
{
    return huge.count && cpu_ns >= huge.look_ns;
}

struct huge_work shadow_huge_restore_as(uint64_t cpu_ns, uint64_t room_ns)
{
    struct huge_work done = {0};
    huge.look_ns = cpu_ns + (cpu_ns - huge.fork_ns);
    uint64_t begin = thread_cpu_ns_as();
    long fd = pages_open_as();
    for (uint32_t i = 0; fd >= 0 && i < huge.count && restore_range_as(fd, &huge.at[i], room_ns, &done); i++)
        ;
    if (fd >= 0)
        sys_call3_as(SYS_close, fd, 0, 0);
    done.ns = thread_cpu_ns_as() - begin;
    return done;
}

void shadow_huge_forget(void)
{
    huge.count = 0;
}

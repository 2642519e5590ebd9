#include "runtime/carrier/shadow/shadow_huge.h"

#include <sys/mman.h>

#include "runtime/carrier/shadow/pages_there.h"
#include "runtime/thread.h"
#include "sigsafe/sys.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

enum { RANGES = 512, FIRST_LOOK_NS = 10000000 };
/* One costs 0.2 to 0.6 ms; more, again and again, where the kernel has to move other memory for it.
 * Once in a while it waits some milliseconds for a virtual machine's other processors. */
enum { USUAL_NS = 500000, DEAR_NS = 3000000 };
#define HUGE_PAGE (2ull << 20)
#define ADDRESSES_END ((1ull << 47) - 4096)

static struct {
    uint32_t count;
    struct pages_range at[RANGES]; /* huge pages at the last fork, and at those before it */
    uint64_t fork_ns, look_ns; /* CPU time of the last fork, and of the next look */
} huge;

/* Some may overlap. Where there is no room the older ones are forgotten. */
static void add(uint64_t lo, uint64_t hi)
{
    for (uint32_t i = 0; i < huge.count; i++)
        if (huge.at[i].lo <= lo && hi <= huge.at[i].hi)
            return;
    if (huge.count == RANGES)
        huge.count = 0;
    huge.at[huge.count++] = (struct pages_range){lo, hi};
}

void shadow_huge_note_as(uint64_t cpu_ns)
{
    struct pages_region found[PAGES_FOUND];
    struct pages_range rest = {0, ADDRESSES_END};
    long fd = pages_open_as(), n = PAGES_FOUND;
    huge.fork_ns = cpu_ns;
    huge.look_ns = cpu_ns + FIRST_LOOK_NS;
    if (fd < 0)
        return;
    while (n == PAGES_FOUND) {
        n = pages_scan_as(fd, &rest, PAGES_HUGE, PAGES_FILE, found);
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
static bool restore_range_as(long fd, const struct pages_range *range, uint64_t room_ns,
                             struct huge_work *done)
{
    struct pages_region found[PAGES_FOUND];
    struct pages_range rest = *range;
    long n = PAGES_FOUND;
    while (n == PAGES_FOUND) {
        n = pages_scan_as(fd, &rest, PAGES_PRESENT, PAGES_HUGE | PAGES_FILE | PAGES_ZERO, found);
        for (long i = 0; i < n; i++)
            for (uint64_t at = (found[i].lo + HUGE_PAGE - 1) & -HUGE_PAGE;
                 at + HUGE_PAGE <= found[i].hi; at += HUGE_PAGE)
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
    for (uint32_t i = 0;
         fd >= 0 && i < huge.count && restore_range_as(fd, &huge.at[i], room_ns, &done); i++)
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

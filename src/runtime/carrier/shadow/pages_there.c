#include "runtime/carrier/shadow/pages_there.h"

#include <fcntl.h>
#include <linux/ioctl.h>

#include "sigsafe/sys.h"

/* linux/fs.h, struct pm_scan_arg. */
struct scan {
    uint64_t size, flags, lo, hi, walked_to, regions, regions_max, pages_max, inverted, all_of,
        any_of, reported;
};
#define SCAN _IOWR('f', 16, struct scan)

long pages_open_as(void)
{
    return sys_call6_as(SYS_openat, AT_FDCWD, (long)"/proc/self/pagemap", O_RDONLY | O_CLOEXEC, 0,
                        0, 0);
}

long pages_scan_as(long fd, const struct pages_range *where, uint64_t wanted, uint64_t unwanted,
                   struct pages_region *found)
{
    struct scan scan = {.size = sizeof scan,
                        .lo = where->lo,
                        .hi = where->hi,
                        .regions = (uint64_t)found,
                        .regions_max = PAGES_FOUND,
                        .inverted = unwanted,
                        .all_of = wanted | unwanted,
                        .reported = wanted};
    return sys_call3_as(SYS_ioctl, fd, (long)SCAN, (long)&scan);
}

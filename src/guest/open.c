#include "guest/guest.h"

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sigsafe/own_memory.h"
#include "sigsafe/sys.h"

struct guest guest;

enum { MAPPED_MIN = GUEST_MAPPED_MIN };

static bool header_good(const struct spool_header *h, long file_size)
{
    return h->magic == SPOOL_MAGIC && h->version == SPOOL_VERSION &&
           h->size <= (uint64_t)file_size && h->size >= MAPPED_MIN;
}

/* Copies, which the program cannot change. */
bool guest_sizes_take(void)
{
    const struct spool_header *h = spool_header(&guest.spool);
    guest.process_size = h->process_size;
    guest.thread_size = h->thread_size;
    guest.layout_known = h->layout == SPOOL_LAYOUT &&
                         guest.process_size == sizeof(struct spool_process) &&
                         guest.thread_size == sizeof(struct spool_thread);
    return guest.process_size >= SPOOL_PROCESS_CORE && guest.process_size <= SPOOL_PAGE &&
           guest.thread_size >= SPOOL_THREAD_CORE && guest.thread_size <= SPOOL_PAGE;
}

/* Where the address space is limited, nearly all of it is for the program. */
static uint64_t address_space_share(void)
{
    enum { SHARE = 16 };
    struct rlimit64 limit = {RLIM64_INFINITY, RLIM64_INFINITY};
    sys_call6_as(SYS_prlimit64, 0, RLIMIT_AS, 0, (long)&limit, 0, 0);
    return limit.rlim_cur == RLIM64_INFINITY ? UINT64_MAX : limit.rlim_cur / SHARE;
}

static uint64_t size_of(int fd)
{
    long end = sys_call3_as(SYS_lseek, fd, 0, SEEK_END);
    if (end < MAPPED_MIN)
        return 0;
    struct spool_header h;
    long n = sys_call6_as(SYS_pread64, fd, (long)&h, sizeof h, 0, 0, 0);
    return n == sizeof h && header_good(&h, end) ? h.size : 0;
}

/* References are offsets: a part of the spool will do. */
bool guest_map(int fd, uint64_t at_most)
{
    uint64_t size = size_of(fd), share = address_space_share();
    size = size < at_most ? size : at_most;
    while (size / 2 >= MAPPED_MIN && size > share)
        size /= 2;
    for (; size >= MAPPED_MIN && !guest.spool.base; size /= 2) {
        long at = own_map_as(0, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd);
        if (sys_failed(at))
            continue;
        guest.spool.base = (uint8_t *)at;
        guest.spool.mapped = size;
        sys_call3_as(SYS_madvise, at, (long)size, MADV_DONTDUMP);
    }
    if (!guest.spool.base)
        return false;
    if (guest_sizes_take())
        return true;
    guest_close();
    return false;
}

bool guest_open(const char *path, uint64_t at_most)
{
    int fd = (int)sys_call6_as(SYS_openat, AT_FDCWD, (long)path, O_RDWR | O_CLOEXEC, 0, 0, 0);
    if (fd < 0)
        return false;
    bool mapped = guest_map(fd, at_most);
    guest.executed = getauxval(AT_BASE) != 0;
    sys_call3_as(SYS_close, fd, 0, 0);
    return mapped;
}

void guest_close(void)
{
    own_unmap_as(guest.spool.base, guest.spool.mapped);
    guest.spool = (struct spool){0};
}

#include "engine/mappings.h"

#include <asm-generic/errno-base.h>
#include <fcntl.h>
#include <stdio.h>

#include "sigsafe/sys.h"

/* PROCMAP_QUERY of Linux 6.11 (include/uapi/linux/fs.h). */
struct query {
    uint64_t size, flags, address;
    uint64_t lo, hi, vma_flags, page_size, offset, inode;
    uint32_t dev_major, dev_minor, name_size, build_id_size;
    uint64_t name, build_id;
};
enum { QUERY_SIZE = 104, VMA_READABLE = 1, VMA_WRITABLE = 2, VMA_EXECUTABLE = 4, VMA_SHARED = 8 };
_Static_assert(sizeof(struct query) == QUERY_SIZE, "as the kernel has it");
#define QUERY_COMMAND ((3u << 30) | (QUERY_SIZE << 16) | (0x66u << 8) | 17u) /* _IOWR(0x66, 17) */

static bool query_as(long fd, uint64_t address, struct mapping *out)
{
    struct query q = {.size = sizeof q, .address = address};
    if (sys_call3_as(SYS_ioctl, fd, QUERY_COMMAND, (long)&q) != 0)
        return false;
    *out = (struct mapping){.lo = q.lo,
                            .hi = q.hi,
                            .readable = q.vma_flags & VMA_READABLE,
                            .writable = q.vma_flags & VMA_WRITABLE,
                            .executable = q.vma_flags & VMA_EXECUTABLE,
                            .shared = q.vma_flags & VMA_SHARED};
    return true;
}

/* /proc/self/maps, a line a mapping: 7f01a000-7f01c000 r-xp ... The permissions follow the
 * addresses. */
enum reading { READ_LO, READ_HI, READ_PERMISSIONS, READ_REST };

struct reader {
    enum reading reading;
    uint32_t column;
    struct mapping m;
};

static uint64_t hex_add(uint64_t value, char c)
{
    return value << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
}

/* True when r->m is complete. */
static bool read_character(struct reader *r, char c)
{
    switch (r->reading) {
    case READ_LO:
        if (c == '-')
            r->reading = READ_HI;
        else
            r->m.lo = hex_add(r->m.lo, c);
        return false;
    case READ_HI:
        if (c == ' ')
            r->reading = READ_PERMISSIONS;
        else
            r->m.hi = hex_add(r->m.hi, c);
        return false;
    case READ_PERMISSIONS:
        r->m.readable |= c == 'r';
        r->m.writable |= c == 'w';
        r->m.executable |= c == 'x';
        r->m.shared |= c == 's';
        if (++r->column == 4)
            r->reading = READ_REST;
        return r->column == 4;
    default:
        if (c == '\n')
            *r = (struct reader){0};
        return false;
    }
}

static bool read_all_as(long fd, mapping_function *each, void *data)
{
    static char text[4096];
    struct reader r = {0};
    long n;
    while ((n = sys_call3_as(SYS_read, fd, (long)text, sizeof text)) > 0)
        for (long i = 0; i < n; i++)
            if (read_character(&r, text[i]) && !each(data, &r.m))
                return false;
    return n == 0;
}

/* /proc/self/smaps: behind the line of a mapping others, which begin with a capital letter, up to
 * this one: VmFlags: rd wr dc ... */
static bool read_kept_as(long fd, mapping_function *each, void *data)
{
    static char text[16384];
    const uint32_t kept = ' ' << 24 | 'd' << 16 | 'c' << 8 | ' ';
    struct reader r = {0};
    struct mapping m = {0};
    uint32_t last = 0;
    char line = 0; /* its first character */
    long n;
    while ((n = sys_call3_as(SYS_read, fd, (long)text, sizeof text)) > 0)
        for (long i = 0; i < n; i++) {
            line = line ? line : text[i];
            last = last << 8 | (uint8_t)text[i];
            if (line > 'Z' || line <= '9')
                m = read_character(&r, text[i]) ? r.m : m;
            else if (line == 'V' && last == kept && !m.shared && !each(data, &m))
                return false;
            if (text[i] == '\n')
                line = 0;
        }
    return n == 0;
}

struct search {
    uint64_t address;
    struct mapping *out;
};

static bool is_elsewhere(void *data, const struct mapping *m)
{
    const struct search *s = data;
    if (s->address < m->lo || s->address >= m->hi)
        return true;
    *s->out = *m;
    return false;
}

static bool search_as(long fd, uint64_t address, struct mapping *out)
{
    struct search s = {address, out};
    *out = (struct mapping){0};
    read_all_as(fd, is_elsewhere, &s);
    return out->hi != 0;
}

#define PROC "/proc/"
#define MAPS PROC "self/maps"

static int held = -1; /* atomic */

void mappings_hold(int proc)
{
    __atomic_store_n(&held, proc, __ATOMIC_RELEASE);
}

int mappings_held_as(void)
{
    return __atomic_load_n(&held, __ATOMIC_ACQUIRE);
}

/* atomic; a forked child has other mappings than the file tells of */
static int kept = -1, kept_pid;

void mappings_keep(int maps)
{
    __atomic_store_n(&kept, -1, __ATOMIC_RELEASE);
    __atomic_store_n(&kept_pid, (int)sys_call3_as(SYS_getpid, 0, 0, 0), __ATOMIC_RELEASE);
    __atomic_store_n(&kept, maps, __ATOMIC_RELEASE);
}

int mappings_kept_as(void)
{
    return __atomic_load_n(&kept, __ATOMIC_ACQUIRE);
}

/* A copy of the process has closed what is held. */
static long open_once_as(const char *name)
{
    int proc = mappings_held_as();
    long fd = -1;
    if (proc >= 0)
        fd = sys_call6_as(SYS_openat, proc, (long)(name + sizeof PROC - 1), O_RDONLY | O_CLOEXEC, 0,
                          0, 0);
    return fd >= 0 ? fd
                   : sys_call6_as(SYS_openat, AT_FDCWD, (long)name, O_RDONLY | O_CLOEXEC, 0, 0, 0);
}

struct opened {
    long fd;
    bool is_kept;
};

/* Where the program has used up all descriptors that it may have, or there is no /proc any more,
 * what is kept serves: its number may be above the limit by now. (Where a filter says no, it may
 * not even be asked for more.) */
static struct opened open_as(const char *name, bool is_maps)
{
    struct opened o = {.fd = open_once_as(name)};
    int fd = mappings_kept_as();
    if ((o.fd != -EMFILE && o.fd != -ENOENT) || fd < 0 || !is_maps ||
        sys_call3_as(SYS_getpid, 0, 0, 0) != __atomic_load_n(&kept_pid, __ATOMIC_ACQUIRE) ||
        sys_call3_as(SYS_lseek, fd, 0, SEEK_SET) != 0)
        return o;
    return (struct opened){fd, true};
}

static void close_as(struct opened o)
{
    if (o.fd >= 0 && !o.is_kept)
        sys_call3_as(SYS_close, o.fd, 0, 0);
}

typedef bool reading_function(long fd, mapping_function *each, void *data);

static bool all_of_as(const char *name, reading_function *read, mapping_function *each, void *data)
{
    struct opened o = open_as(name, read == read_all_as);
    bool all = o.fd >= 0 && read(o.fd, each, data);
    close_as(o);
    return all;
}

bool mappings_each_as(mapping_function *each, void *data)
{
    return all_of_as(MAPS, read_all_as, each, data);
}

bool mappings_kept_each_as(mapping_function *each, void *data)
{
    return all_of_as(PROC "self/smaps", read_kept_as, each, data);
}

bool mappings_readable_as(void)
{
    struct opened o = open_as(MAPS, true);
    close_as(o);
    return o.fd >= 0;
}

static bool find_as(long fd, uint64_t address, struct mapping *out)
{
    return query_as(fd, address, out) || search_as(fd, address, out);
}

bool mappings_writable_as(uint64_t address)
{
    struct mapping m;
    struct opened o = open_as(MAPS, true);
    bool writable = o.fd < 0 || (find_as(o.fd, address, &m) && m.writable);
    close_as(o);
    return writable;
}

/* Of memory without the permission to read the processor can read what it may write or execute,
 * unless a protection key forbids it, as the kernel does with memory that may be executed only. A
 * system call that fails, but reads eight bytes first, tells. */
static bool reads_as(uint64_t address)
{
    enum { NO_SUCH_WAY = 1000, MASK_SIZE = 8 };
    uint64_t at = address & ~UINT64_C(7);
    return sys_call6_as(SYS_rt_sigprocmask, NO_SUCH_WAY, (long)at, 0, MASK_SIZE, 0, 0) != -EFAULT;
}

struct trust_range mappings_trust_as(uint64_t address)
{
    struct mapping m;
    struct trust_range nothing = {address, address + 1, TRUST_NONE};
    struct opened o = open_as(MAPS, true);
    if (o.fd < 0)
        return nothing;
    bool found = find_as(o.fd, address, &m);
    close_as(o);
    if (!found || !m.executable || !(m.readable || reads_as(address)))
        return nothing;
    return (struct trust_range){m.lo, m.hi, m.writable || m.shared ? TRUST_CHECKED : TRUST_FIXED};
}

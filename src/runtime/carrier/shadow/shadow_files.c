#include "runtime/carrier/shadow/shadow_files.h"

#include <asm-generic/errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "runtime/carrier/shadow/shadow.h"
#include "sigsafe/sys.h"

enum { MOST = 1 << 20, SPARE = 256, TEXT = 4096, NAME_AT = 19 };

struct shadow_files shadow_files;

/* Where the program's descriptors stood before the fork: it reads on while the shadow parts from
 * it. */
enum { LOOKED_MOST = 508, GAP_MOST = 64, NOWHERE = -1 };

static struct {
    uint64_t count;
    int64_t at[LOOKED_MOST]; /* by descriptor */
} positions;

struct shadow_descriptor *shadow_descriptor_at(uint64_t fd)
{
    return fd < shadow_files.count ? &shadow_files.at[fd] : NULL;
}

void shadow_descriptor_set(struct shadow_descriptor *d, enum shadow_file kind, uint32_t flags,
                           const struct stat *status)
{
    *d = (struct shadow_descriptor){.kind = (uint8_t)kind, .flags = flags,
                                    .description = ++shadow_files.descriptions,
                                    .device = status->st_dev, .inode = status->st_ino};
}

/* ---- asking about what there is ---- */

static long folder_open_as(void)
{
    return sys_call6_as(SYS_openat, AT_FDCWD, (long)"/proc/self/fd",
                        O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, 0, 0);
}

/* The number that a folder entry is named by; -1: "." and "..". */
static long entry_number(const uint8_t *entry)
{
    long number = -1;
    for (const uint8_t *c = entry + NAME_AT; *c >= '0' && *c <= '9'; c++)
        number = (number < 0 ? 0 : number * 10) + (*c - '0');
    return number;
}

/* Calls back with each open descriptor. False: the list could not be read. */
static bool each_as(void (*function)(long fd, void *data), void *data)
{
    static uint8_t text[TEXT] __attribute__((aligned(8)));
    long folder = folder_open_as(), n = folder;
    while (!sys_failed(n) && (n = sys_call3_as(SYS_getdents64, folder, (long)text, TEXT)) > 0)
        for (long i = 0; i < n; i += *(const uint16_t *)(const void *)(text + i + 16)) {
            long number = entry_number(text + i);
            if (number >= 0 && number != folder)
                function(number, data);
        }
    if (!sys_failed(folder))
        sys_call3_as(SYS_close, folder, 0, 0);
    return n == 0;
}

static void greatest(long fd, void *data)
{
    long *most = data;
    if (fd > *most && fd < MOST)
        *most = fd;
}

static enum shadow_file kind_of(uint32_t mode, uint32_t flags)
{
    if (flags & O_PATH)
        return FILE_OTHER;
    switch (mode & S_IFMT) {
    case S_IFREG: return (flags & O_ACCMODE) == O_WRONLY ? FILE_UNREADABLE : FILE_REGULAR;
    case S_IFDIR: return FILE_FOLDER;
    case S_IFIFO: return FILE_PIPE;
    case S_IFSOCK: return FILE_SOCKET;
    case S_IFCHR:
    case S_IFBLK: return FILE_DEVICE;
    default: return FILE_OTHER; /* eventfd, epoll, ...: no file at all */
    }
}

/* ---- in the program ---- */

/* Behind a gap there are none, or none that are known. */
void shadow_files_look_as(void)
{
    uint64_t fd = 0;
    for (unsigned gap = 0; fd < LOOKED_MOST && gap < GAP_MOST; fd++) {
        long position = sys_call3_as(SYS_lseek, (long)fd, 0, SEEK_CUR);
        gap = position == -EBADF ? gap + 1 : 0;
        positions.at[fd] = sys_failed(position) ? NOWHERE : position;
    }
    positions.count = fd;
}

/* ---- parting ---- */

long shadow_reopen_as(uint64_t fd, uint64_t flags)
{
    static const char folder[] = "/proc/self/fd/";
    char name[40], digits[20];
    unsigned n = 0, at = 0;
    for (; folder[at]; at++)
        name[at] = folder[at];
    do
        digits[n++] = (char)('0' + fd % 10);
    while (fd /= 10);
    while (n)
        name[at++] = digits[--n];
    name[at] = 0;
    return sys_call6_as(SYS_openat, AT_FDCWD, (long)name, (long)flags, 0, 0, 0);
}

static int64_t position_of(long fd)
{
    return (uint64_t)fd < positions.count ? positions.at[fd] : NOWHERE;
}

/* A description of the same file: a private one, where the program's was; or its name alone. */
static long describe_as(long fd, bool reads, uint32_t flags)
{
    uint64_t how = reads ? O_RDONLY | O_CLOEXEC | (flags & (O_DIRECTORY | O_NOATIME | O_DIRECT))
                         : O_PATH | O_CLOEXEC;
    long made = shadow_reopen_as((uint64_t)fd, how);
    if (sys_failed(made) || !reads)
        return made;
    sys_call3_as(SYS_lseek, made, position_of(fd), SEEK_SET);
    return made;
}

/* From here on fd leads to nothing that the program has open. */
static void part(long fd, void *data)
{
    struct stat status;
    (void)data;
    long flags = sys_call3_as(SYS_fcntl, fd, F_GETFL, 0);
    long closes = sys_call3_as(SYS_fcntl, fd, F_GETFD, 0);
    struct shadow_descriptor *file = shadow_descriptor_at((uint64_t)fd);
    if (!file || sys_failed(flags) || sys_failed(sys_call3_as(SYS_fstat, fd, (long)&status, 0))) {
        sys_call3_as(SYS_close, fd, 0, 0);
        return;
    }
    enum shadow_file kind = kind_of(status.st_mode, (uint32_t)flags);
    uint8_t terminal =
        kind == FILE_DEVICE ? shadow_terminal_look_as(fd, &status) : TERMINAL_UNKNOWN;
    if ((kind == FILE_REGULAR || kind == FILE_FOLDER) && position_of(fd) == NOWHERE)
        kind = FILE_OTHER;
    bool reads = kind == FILE_REGULAR || kind == FILE_FOLDER ||
                 (kind == FILE_UNREADABLE && position_of(fd) != NOWHERE);
    long made = describe_as(fd, reads, (uint32_t)flags);
    if (sys_failed(made) && reads && kind != FILE_FOLDER) { /* it may not be opened again */
        kind = FILE_UNREADABLE;
        made = describe_as(fd, false, (uint32_t)flags);
    }
    if (sys_failed(made) ||
        sys_failed(sys_call3_as(SYS_dup3, made, fd, closes & FD_CLOEXEC ? O_CLOEXEC : 0)))
        sys_call3_as(SYS_close, fd, 0, 0);
    else {
        shadow_descriptor_set(file, kind, (uint32_t)flags, &status);
        file->terminal = terminal;
    }
    if (!sys_failed(made))
        sys_call3_as(SYS_close, made, 0, 0);
}

/* What is made while the list is read has the numbers of the gaps, and is gone again before it is
 * come to, or is closed as unknown. */
bool shadow_files_part_as(void)
{
    long most = -1;
    if (!each_as(greatest, &most))
        return false;
    shadow_files.count = (uint64_t)most + 1 + SPARE;
    long at = sys_call6_as(SYS_mmap, 0, (long)(shadow_files.count * sizeof *shadow_files.at),
                           PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (sys_failed(at))
        return false;
    shadow_files.at = (struct shadow_descriptor *)at;
    if (!each_as(part, NULL))
        return false;
    /* Another thread of the program may have opened one that the list did not have. */
    return !sys_failed(sys_call3_as(SYS_close_range, (long)shadow_files.count, UINT32_MAX, 0));
}

/* ---- afterwards ---- */

enum shadow_file shadow_file_of(uint64_t fd)
{
    const struct shadow_descriptor *file = shadow_descriptor_at(fd);
    return file ? (enum shadow_file)file->kind : FILE_UNKNOWN;
}

uint32_t shadow_file_flags(uint64_t fd)
{
    const struct shadow_descriptor *file = shadow_descriptor_at(fd);
    return file ? file->flags : 0;
}

void shadow_file_set_flags(uint64_t fd, uint32_t flags)
{
    struct shadow_descriptor *file = shadow_descriptor_at(fd);
    if (file)
        file->flags = flags;
}

bool shadow_file_written(uint64_t fd)
{
    const struct shadow_descriptor *file = shadow_descriptor_at(fd);
    return !file || file->written;
}

/* A mere name has no position, and says so. */
void shadow_file_write_as(uint64_t fd, uint64_t size, bool position)
{
    struct shadow_descriptor *file = shadow_descriptor_at(fd);
    if (!file || (file->kind != FILE_REGULAR && file->kind != FILE_UNREADABLE))
        return;
    for (uint64_t i = 0; i < shadow_files.count && !file->written; i++)
        if (shadow_descriptor_is(&shadow_files.at[i], file->device, file->inode) &&
            &shadow_files.at[i] != file)
            shadow_files.at[i].written = true;
    file->written = shadow_files.changed = true;
    if (position)
        sys_call3_as(SYS_lseek, (long)fd, (long)size, SEEK_CUR);
}

void shadow_file_copy(uint64_t from, uint64_t to)
{
    const struct shadow_descriptor *a = shadow_descriptor_at(from);
    struct shadow_descriptor *b = shadow_descriptor_at(to);
    if (a && b)
        *b = *a;
}

void shadow_file_close(uint64_t first, uint64_t last)
{
    for (uint64_t fd = first; fd <= last && fd < shadow_files.count; fd++)
        shadow_files.at[fd] = (struct shadow_descriptor){0};
}

bool shadow_file_accept_as(uint64_t from, uint64_t fd, uint32_t flags)
{
    struct shadow_descriptor *file = shadow_descriptor_at(fd);
    if (!file || file->kind != FILE_UNKNOWN ||
        sys_call3_as(SYS_fcntl, (long)fd, F_GETFD, 0) != -EBADF ||
        sys_failed(sys_call3_as(SYS_dup3, (long)from, (long)fd, (long)(flags & O_CLOEXEC))))
        return false;
    *file = (struct shadow_descriptor){.kind = FILE_SOCKET, .flags = O_RDWR | (flags & O_NONBLOCK)};
    return true;
}

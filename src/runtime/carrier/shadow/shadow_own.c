/* Files that a shadow makes or writes to: in memory, and nobody else's (docs/shadow.md,
 * "Files"). */
#include <asm-generic/errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "runtime/carrier/shadow/shadow.h"
#include "runtime/carrier/shadow/shadow_files.h"
#include "runtime/runtime.h"
#include "sigsafe/sys.h"

enum { COPIED_MOST = 16, SHOWN_MOST = 64, STATUS_UNIT = 512,
      MAKING = O_CREAT | O_EXCL | O_TRUNC | O_CLOEXEC };

/* What files said of themselves before they were copied. */
static struct stat copied[COPIED_MOST];

/* Files that memory shows, so that nobody may write to them: the descriptor may be closed by
 * now. */
static struct {
    struct {
        uint64_t device, inode;
    } at[SHOWN_MOST];
    unsigned count;
} shown;

static long memory_file_as(uint64_t flags)
{
    enum { MEMFD_CLOEXEC = 1 };
    return sys_call3_as(SYS_memfd_create, (long)"", flags & O_CLOEXEC ? MEMFD_CLOEXEC : 0, 0);
}

static struct shadow_descriptor *known(long fd)
{
    return sys_failed(fd) ? NULL : shadow_descriptor_at((uint64_t)fd);
}

/* A descriptor that leads to this file, of such a kind; FILE_UNKNOWN: of any. NULL: none does. */
static struct shadow_descriptor *another(uint64_t device, uint64_t inode, enum shadow_file kind)
{
    for (uint64_t i = 0; i < shadow_files.count; i++)
        if (shadow_descriptor_is(&shadow_files.at[i], device, inode) &&
            (!kind || shadow_files.at[i].kind == kind))
            return &shadow_files.at[i];
    return NULL;
}

static uint64_t number_of(const struct shadow_descriptor *d)
{
    return (uint64_t)(d - shadow_files.at);
}

/* ---- how much there is ---- */

/* Bytes of the shadow's own files; what is under several descriptors counts once. */
static uint64_t kept_as(void)
{
    struct stat status;
    uint64_t all = 0;
    for (uint64_t i = 0; i < shadow_files.count; i++) {
        const struct shadow_descriptor *d = &shadow_files.at[i];
        if (d->kind == FILE_OWN && another(d->device, d->inode, FILE_OWN) == d &&
            !sys_failed(sys_call3_as(SYS_fstat, (long)i, (long)&status, 0)))
            all += (uint64_t)status.st_blocks * STATUS_UNIT;
    }
    return all;
}

/* What is written again counts again until there seems to be too much: then it is looked at. */
static bool has_room_as(uint64_t size)
{
    static uint64_t all;
    uint64_t most = shadow_settings->memory;
    if (most && all + size > most)
        all = kept_as();
    if (most && all + size > most)
        return false;
    all += size;
    return true;
}

void shadow_file_grow_as(uint64_t size)
{
    if (!has_room_as(size))
        shadow_end_as(END_MEMORY);
}

/* ---- new files ---- */

/* The folder that the file would be in, as far as `path` says. False: the path is too long. */
static bool parent_name(const char *path, char *name, unsigned most)
{
    unsigned end = 0, size = 0;
    for (unsigned i = 0; path[i]; i++)
        if (path[i] == '/')
            end = i ? i : 1;
    if (end >= most - 1)
        return false;
    for (; size < end; size++)
        name[size] = path[size];
    if (!size)
        name[size++] = '.';
    name[size] = 0;
    return true;
}

long shadow_file_make_as(long folder, const char *path, uint64_t flags)
{
    enum { WRITE_AND_SEARCH = 3 };
    char parent[512];
    struct stat status;
    long there =
        sys_call6_as(SYS_newfstatat, folder, (long)path, (long)&status, AT_SYMLINK_NOFOLLOW, 0, 0);
    if (there != -ENOENT)
        return sys_failed(there) ? there : -EEXIST;
    if (!parent_name(path, parent, sizeof parent))
        return -ENAMETOOLONG;
    long may = sys_call6_as(SYS_faccessat, folder, (long)parent, WRITE_AND_SEARCH, 0, 0, 0);
    if (sys_failed(may))
        return may;
    long made = memory_file_as(flags);
    struct shadow_descriptor *file = known(made);
    if (file && !sys_failed(sys_call3_as(SYS_fstat, made, (long)&status, 0)))
        shadow_descriptor_set(file, FILE_OWN, (uint32_t)(flags & ~(uint64_t)MAKING), &status);
    return made;
}

/* ---- files that were there ---- */

/* fd becomes one of this description. */
static bool put_as(long description, uint64_t fd)
{
    long closes = sys_call3_as(SYS_fcntl, (long)fd, F_GETFD, 0);
    return !sys_failed(
        sys_call3_as(SYS_dup3, description, (long)fd, closes & FD_CLOEXEC ? O_CLOEXEC : 0));
}

/* fd leads to `memory` from here on, where it stood. */
static bool lead_as(uint64_t fd, long memory)
{
    const struct shadow_descriptor *d = shadow_descriptor_at(fd);
    long position = sys_call3_as(SYS_lseek, (long)fd, 0, SEEK_CUR);
    long made = shadow_reopen_as((uint64_t)memory, d->flags & (O_ACCMODE | O_APPEND));
    bool led = !sys_failed(position) && !sys_failed(made) &&
               !sys_failed(sys_call3_as(SYS_lseek, made, position, SEEK_SET)) && put_as(made, fd);
    if (!sys_failed(made))
        sys_call3_as(SYS_close, made, 0, 0);
    return led;
}

/* All descriptors of the file under fd; what fails halfway ends the shadow. */
static void lead_all_as(uint64_t fd, long memory)
{
    const struct shadow_descriptor file = shadow_files.at[fd];
    for (uint64_t i = 0; i < shadow_files.count; i++) {
        struct shadow_descriptor *d = &shadow_files.at[i];
        if (!shadow_descriptor_is(d, file.device, file.inode))
            continue;
        const struct shadow_descriptor *twin = shadow_files.at;
        while (twin < d && !(twin->kind == FILE_OWN && twin->description == d->description))
            twin++;
        if (!(twin == d ? lead_as(i, memory) : put_as((long)number_of(twin), i)))
            shadow_end_as(END_SYSTEM_CALL);
        d->kind = FILE_OWN;
        d->written = false;
    }
}

static bool copy_as(long memory, uint64_t fd, uint64_t size)
{
    int64_t at = 0;
    long n = 1;
    while ((uint64_t)at < size && n > 0)
        n = sys_call6_as(SYS_sendfile, memory, (long)fd, (long)&at, (long)(size - (uint64_t)at), 0,
                         0);
    return n >= 0;
}

/* What the file that this one stands for has said of itself. NULL: there was none. */
static const struct stat *before(const struct shadow_descriptor *d)
{
    for (unsigned i = 0; i < COPIED_MOST; i++)
        if (copied[i].st_ino == d->inode && copied[i].st_dev == d->device)
            return &copied[i];
    return NULL;
}

/* A place for what the file says of itself: no copy of one that has it is open. NULL: there is
 * none. */
static struct stat *free_place(void)
{
    for (unsigned i = 0; i < COPIED_MOST; i++)
        if (!another(copied[i].st_dev, copied[i].st_ino, FILE_OWN))
            return &copied[i];
    return NULL;
}

/* empty: its contents are not wanted. */
static bool own_as(uint64_t fd, bool empty)
{
    struct shadow_descriptor *file = shadow_descriptor_at(fd);
    if (file->kind == FILE_OWN)
        return true;
    if ((file->kind != FILE_REGULAR && file->kind != FILE_UNREADABLE) || (file->written && !empty))
        return false;
    const struct shadow_descriptor *source =
        empty ? file : another(file->device, file->inode, FILE_REGULAR);
    struct stat *status = free_place();
    if (!source || !status || sys_failed(sys_call3_as(SYS_fstat, (long)fd, (long)status, 0)) ||
        !has_room_as(empty ? 0 : (uint64_t)status->st_size))
        return false;
    long memory = memory_file_as(O_CLOEXEC);
    bool made = !sys_failed(memory) &&
                (empty || copy_as(memory, number_of(source), (uint64_t)status->st_size));
    if (made) {
        lead_all_as(fd, memory);
        shadow_files.changed = true;
    }
    if (!sys_failed(memory))
        sys_call3_as(SYS_close, memory, 0, 0);
    return made;
}

bool shadow_file_own_as(uint64_t fd)
{
    return shadow_descriptor_at(fd) && own_as(fd, false);
}

/* ---- what memory shows ---- */

static bool is_shown(uint64_t device, uint64_t inode)
{
    for (unsigned i = 0; i < shown.count; i++)
        if (shown.at[i].inode == inode && shown.at[i].device == device)
            return true;
    return false;
}

bool shadow_file_show(uint64_t fd)
{
    const struct shadow_descriptor *file = shadow_descriptor_at(fd);
    if (!file)
        return false;
    for (uint64_t i = 0; i < shadow_files.count; i++)
        if (shadow_descriptor_is(&shadow_files.at[i], file->device, file->inode) &&
            shadow_files.at[i].flags & O_ACCMODE)
            return false;
    if (is_shown(file->device, file->inode))
        return true;
    if (shown.count == SHOWN_MOST)
        return false;
    shown.at[shown.count].device = file->device;
    shown.at[shown.count++].inode = file->inode;
    return true;
}

/* ---- opening ---- */

/* Another description of one that is the shadow's own. */
static long open_own_as(const struct shadow_descriptor *same, uint64_t flags)
{
    long made =
        shadow_reopen_as(number_of(same), flags & (O_ACCMODE | O_APPEND | O_TRUNC | O_CLOEXEC));
    struct shadow_descriptor *file = known(made);
    if (file) {
        *file = *same;
        file->flags = (uint32_t)(flags & ~(uint64_t)MAKING);
        file->description = ++shadow_files.descriptions;
    }
    return made;
}

/* Open for reading, whatever the program wants with it. */
static long open_as(long folder, const char *path, uint64_t flags, const struct stat *status,
                    bool lost)
{
    uint64_t how = (flags & ~(uint64_t)(O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND)) | O_NONBLOCK;
    bool reads = (flags & O_ACCMODE) != O_WRONLY;
    long made = sys_call6_as(SYS_openat, folder, (long)path, (long)how, 0, 0, 0);
    if (made == -EACCES && !reads)
        made = sys_call6_as(SYS_openat, folder, (long)path, (long)((flags & O_CLOEXEC) | O_PATH), 0,
                            0, 0);
    struct shadow_descriptor *file = known(made);
    if (!file)
        return made;
    shadow_descriptor_set(file,
                          S_ISDIR(status->st_mode) ? FILE_FOLDER
                          : reads                  ? FILE_REGULAR
                                                   : FILE_UNREADABLE,
                          (uint32_t)(flags & ~(uint64_t)MAKING), status);
    file->written = lost;
    if (flags & O_TRUNC && !own_as((uint64_t)made, true))
        shadow_file_write_as((uint64_t)made, 0, false);
    return made;
}

long shadow_file_open_as(long folder, const char *path, uint64_t flags, const struct stat *status)
{
    enum { WRITE = 2 };
    const struct shadow_descriptor *same =
        shadow_files.changed ? another(status->st_dev, status->st_ino, FILE_UNKNOWN) : NULL;
    bool lost = same && same->written, writes = (flags & O_ACCMODE) != O_RDONLY;
    long may = writes ? sys_call6_as(SYS_faccessat, folder, (long)path, WRITE, 0, 0, 0) : 0;
    if (sys_failed(may))
        return may;
    if (writes && is_shown(status->st_dev, status->st_ino))
        return SHADOW_FILE_LOST;
    if (same && same->kind == FILE_OWN)
        return open_own_as(same, flags);
    if (lost && (flags & O_ACCMODE) != O_WRONLY && !(flags & O_TRUNC))
        return SHADOW_FILE_LOST;
    return open_as(folder, path, flags, status, lost);
}

/* The file, if the shadow knows of it. */
static const struct shadow_descriptor *asked_about(uint64_t fd, uint64_t device, uint64_t inode)
{
    if (fd != SHADOW_NO_FILE)
        return shadow_descriptor_at(fd);
    return shadow_files.changed ? another(device, inode, FILE_UNKNOWN) : NULL;
}

bool shadow_file_changed(uint64_t fd, uint64_t device, uint64_t inode)
{
    const struct shadow_descriptor *d = asked_about(fd, device, inode);
    return d && (d->written || (d->kind == FILE_OWN && before(d)));
}

bool shadow_file_status_as(struct stat *status, uint64_t fd)
{
    const struct shadow_descriptor *d = asked_about(fd, status->st_dev, status->st_ino);
    const struct stat *was = d && d->kind == FILE_OWN ? before(d) : NULL;
    struct stat now;
    if (!was)
        return !d || !d->written;
    if (sys_failed(sys_call3_as(SYS_fstat, (long)number_of(d), (long)&now, 0)))
        return false;
    status->st_dev = was->st_dev;
    status->st_ino = was->st_ino;
    status->st_mode = was->st_mode;
    status->st_nlink = was->st_nlink;
    status->st_uid = was->st_uid;
    status->st_gid = was->st_gid;
    status->st_size = now.st_size;
    status->st_blocks = now.st_blocks;
    status->st_mtim = now.st_mtim;
    return true;
}

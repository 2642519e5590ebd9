#include "collector/record_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "collector/process_runs.h"

#define LOOK_NS UINT64_C(50000000)
#define LOOK_FIRST_NS UINT64_C(100000000)
#define LOOK_MOST_NS UINT64_C(10000000000)

enum { HELD_MOST = 1024, LIST_MOST = 1 << 20, SEARCHES_MOST = 32 };

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

void record_files_init(struct record_files *f, int32_t attached)
{
    struct rlimit limit;
    *f = (struct record_files){.attached = attached, .searches = SEARCHES_MOST};
    /* Most descriptors are left to the collector. */
    if (!getrlimit(RLIMIT_NOFILE, &limit))
        f->most = limit.rlim_cur / 4 < HELD_MOST ? (uint32_t)(limit.rlim_cur / 4) : HELD_MOST;
}

void record_files_free(struct record_files *f)
{
    for (uint32_t i = 0; i < f->image_count; i++)
        close(f->images[i].fd);
    for (uint32_t i = 0; i < f->process_count; i++) {
        if (f->processes[i].tmp >= 0)
            close(f->processes[i].tmp);
        if (f->processes[i].dump >= 0)
            close(f->processes[i].dump);
    }
    free(f->images);
    free(f->processes);
    record_living_free(&f->living);
    *f = (struct record_files){0};
}

/* ---- processes ---- */

/* The last number of the line "NSpid:" is what the process calls itself; 0. */
static int32_t inner_pid(int32_t outside)
{
    char path[64], line[256];
    int32_t pid = 0;
    snprintf(path, sizeof path, "/proc/%d/status", outside);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, "NSpid:", 6)) {
            const char *last = strrchr(line, '\t');
            pid = last ? atoi(last + 1) : 0;
            break;
        }
    if (file)
        fclose(file);
    return pid;
}

/* Calls `visit` with each line of its maps until that returns true. */
static bool maps_find(int32_t outside, bool (*visit)(void *, const char *), void *context)
{
    char path[64], line[PATH_MAX + 128];
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/maps", outside);
    FILE *file = fopen(path, "re");
    while (file && !found && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        found = visit(context, line);
    }
    if (file)
        fclose(file);
    return found;
}

static bool is_runtime(void *unused, const char *line)
{
    (void)unused;
    return strstr(line, "/libpenumbra-rt.so");
}

/* By its own number there may be another process here. */
static bool is_recorded(int32_t outside, int32_t pid)
{
    return inner_pid(outside) == pid && maps_find(outside, is_runtime, NULL);
}

int32_t record_files_outside(int32_t pid, bool (*is)(const void *context, int32_t outside),
                             const void *context)
{
    if (is_recorded(pid, pid) && is(context, pid))
        return pid;
    DIR *folder = opendir("/proc");
    struct dirent *entry;
    int32_t found = 0;
    while (folder && !found && (entry = readdir(folder))) {
        int32_t outside = atoi(entry->d_name);
        if (outside > 0 && outside != pid && is_recorded(outside, pid) && is(context, outside))
            found = outside;
    }
    if (folder)
        closedir(folder);
    return found;
}

static bool is_any(const void *unused, int32_t outside)
{
    (void)unused;
    return outside > 0;
}

static int32_t find_outside(struct record_files *f, const struct spool_process *process)
{
    int32_t pid = process->pid;
    if (f->attached && inner_pid(f->attached) == pid)
        return f->attached;
    if (is_recorded(pid, pid))
        return pid;
    if (__atomic_load_n(&process->state, __ATOMIC_RELAXED) == PROCESS_EXITED || !f->searches)
        return 0;
    f->searches--;
    return record_files_outside(pid, is_any, NULL);
}

static bool same_link(const char *path, const char *other)
{
    char a[PATH_MAX], b[PATH_MAX];
    ssize_t n = readlink(path, a, sizeof a), m = readlink(other, b, sizeof b);
    return n < 0 || m < 0 || (n == m && !memcmp(a, b, (size_t)n));
}

static bool is_apart(int32_t outside)
{
    char space[64], root[64];
    struct stat mine, its;
    snprintf(space, sizeof space, "/proc/%d/ns/mnt", outside);
    snprintf(root, sizeof root, "/proc/%d/root/", outside);
    if (stat("/", &mine) || stat(root, &its))
        return false;
    return !same_link(space, "/proc/self/ns/mnt") || mine.st_dev != its.st_dev ||
           mine.st_ino != its.st_ino;
}

/* Whether a descriptor is where the process's root folder is; see the header. */
static bool may_hold(struct record_files *f, int fd, int32_t outside)
{
    char root[64] = "/";
    struct stat st, at;
    if (outside)
        snprintf(root, sizeof root, "/proc/%d/root/", outside);
    if (f->open >= f->most || fstat(fd, &st))
        return false;
    /* Nor can the collector's own folder be unmounted. */
    return (!stat(root, &at) && st.st_dev == at.st_dev) ||
           (!stat(".", &at) && st.st_dev == at.st_dev);
}

int record_files_inside(int32_t outside, const char *path, int flags)
{
    char root[64];
    struct open_how how = {.flags = (unsigned)flags | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
    snprintf(root, sizeof root, "/proc/%d/root", outside);
    int folder = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int fd = folder >= 0 ? (int)syscall(SYS_openat2, folder, path, &how, sizeof how) : -1;
    if (folder >= 0)
        close(folder);
    return fd;
}

/* Closes fd and returns -1 if it may not be held. */
static int hold(struct record_files *f, int fd, int32_t outside)
{
    if (fd < 0)
        return -1;
    if (may_hold(f, fd, outside)) {
        f->open++;
        return fd;
    }
    close(fd);
    return -1;
}

static void process_note(struct record_files *f, const struct spool_process *process)
{
    char path[64];
    struct stat st;
    if (!ARRAY_ROOM(f->processes, f->process_count, f->process_capacity))
        return;
    struct held_process *p = &f->processes[f->process_count++];
    *p =
        (struct held_process){.pid = process->pid, .tmp = -1, .dump = -1, .wait_ns = LOOK_FIRST_NS};
    p->outside = find_outside(f, process);
    p->look_ns = clock_ns(CLOCK_MONOTONIC) + LOOK_FIRST_NS;
    snprintf(path, sizeof path, "/proc/%d", p->outside);
    if (!p->outside || stat(path, &st))
        return;
    p->owner = st.st_uid;
    uint64_t now = clock_ns(CLOCK_REALTIME); /* read first: what is between makes it older */
    p->began_ns = now - (clock_ns(CLOCK_BOOTTIME) - process_began_ns(p->outside));
    p->apart = is_apart(p->outside);
    if (!p->apart)
        return;
    p->tmp = hold(f, record_files_inside(p->outside, "/tmp", O_PATH | O_DIRECTORY), p->outside);
}

const struct held_process *record_files_process(const struct record_files *f,
                                                const struct profile_process *p)
{
    for (uint32_t i = f ? f->process_count : 0; i; i--)
        if (f->processes[i - 1].pid == p->pid)
            return &f->processes[i - 1];
    return NULL;
}

/* ---- jitdump: a runtime maps the file, executable, to be found by that ---- */

static bool is_dump(void *path, const char *line)
{
    const char *file = strchr(line, '/'), *name = file ? strrchr(file, '/') : NULL;
    size_t length = name ? strlen(name) : 0;
    if (length < 10 || strncmp(name, "/jit-", 5) != 0 || strcmp(name + length - 5, ".dump") != 0)
        return false;
    snprintf(path, PATH_MAX, "%s", file);
    return true;
}

static void dump_look(struct record_files *f, struct held_process *p, uint64_t now)
{
    char file[PATH_MAX];
    p->look_ns = process_runs(p->outside) ? now + p->wait_ns : UINT64_MAX;
    p->wait_ns = p->wait_ns < LOOK_MOST_NS / 2 ? p->wait_ns * 2 : LOOK_MOST_NS;
    if (!maps_find(p->outside, is_dump, file))
        return;
    p->dump = f->open < f->most
                  ? record_files_inside(p->outside, file, O_RDONLY | O_NONBLOCK | O_NOFOLLOW)
                  : -1;
    f->open += p->dump >= 0;
}

/* ---- images ---- */

static bool is_file_of(int fd, const struct held_image *of)
{
    struct stat st;
    return !fstat(fd, &st) && S_ISREG(st.st_mode) && (uint64_t)st.st_size == of->file_size &&
           (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec == of->mtime_ns;
}

/* Closes fd and returns -1 if it is another file. */
static int checked(int fd, const struct held_image *of)
{
    if (fd >= 0 && !is_file_of(fd, of)) {
        close(fd);
        return -1;
    }
    return fd;
}

/* By the root folder of a process that lives in another one. *outside: which. */
static int open_apart(const struct record_files *f, const char *path, const struct held_image *of,
                      int32_t *outside)
{
    for (uint32_t i = f->process_count; i; i--) {
        const struct held_process *p = &f->processes[i - 1];
        if (!p->apart)
            continue;
        int fd = checked(record_files_inside(p->outside, path, O_RDONLY | O_NONBLOCK), of);
        *outside = p->outside;
        if (fd >= 0)
            return fd;
    }
    return -1;
}

static void processes_note(struct record_files *f, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!f->living.list[i].noted) {
            process_note(f, f->living.list[i].record);
            f->living.list[i].noted = true;
        }
}

static void image_note(struct record_files *f, const struct spool *s,
                       const struct spool_image *image)
{
    char path[SPOOL_PATH_MAX];
    struct held_image held = {.dev = image->dev, .ino = image->ino, .file_size = image->file_size,
                              .mtime_ns = image->mtime_ns};
    const struct spool_string *string = spool_at(s, image->path, sizeof *string);
    uint32_t length = string ? string->length : 0;
    int32_t outside = 0;
    if (!length || length >= sizeof path || image->flags & IMAGE_VDSO ||
        !spool_at(s, image->path, sizeof *string + length))
        return;
    memcpy(path, string->bytes, length);
    path[length] = '\0';
    if (path[0] != '/' || !held.file_size)
        return;
    held.fd = checked(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), &held);
    if (held.fd < 0) {
        record_living_poll(&f->living, s);
        processes_note(f, f->living.count);
        held.fd = open_apart(f, path, &held, &outside);
    }
    held.fd = hold(f, held.fd, outside);
    if (held.fd < 0)
        return;
    if (ARRAY_ROOM(f->images, f->image_count, f->image_capacity))
        f->images[f->image_count++] = held;
    else
        close(held.fd);
}

bool record_files_hold(struct record_files *f, const struct held_image *held, int32_t outside)
{
    if (!may_hold(f, held->fd, outside) ||
        !ARRAY_ROOM(f->images, f->image_count, f->image_capacity))
        return false;
    f->open++;
    f->images[f->image_count++] = *held;
    return true;
}

int record_files_open(const struct record_files *f, const struct profile_image *image)
{
    struct held_image of = {.file_size = image->file_size, .mtime_ns = image->mtime_ns};
    int32_t outside;
    for (uint32_t i = 0; i < f->image_count; i++) {
        const struct held_image *held = &f->images[i];
        char path[64];
        if (held->file_size != of.file_size || held->mtime_ns != of.mtime_ns)
            continue;
        /* A new description: the child and its parent share no file offset. */
        snprintf(path, sizeof path, "/proc/self/fd/%d", held->fd);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        return fd >= 0 ? fd : fcntl(held->fd, F_DUPFD_CLOEXEC, 0);
    }
    return image->path[0] == '/' ? open_apart(f, image->path, &of, &outside) : -1;
}

/* ---- the spool ---- */

static void images_poll(struct record_files *f, const struct spool *s)
{
    spool_ref first = __atomic_load_n(&spool_header(s)->images, __ATOMIC_ACQUIRE), ref = first;
    const struct spool_image *image;
    for (unsigned n = 0; ref != f->images_seen && n < LIST_MOST; n++, ref = image->next) {
        image = spool_at(s, ref, sizeof *image);
        if (!image)
            break;
        image_note(f, s, image);
    }
    f->images_seen = first;
}

/* To look at a process takes longer than many live: those that still run at the second look. */
static void processes_look(struct record_files *f, const struct spool *s, uint64_t now)
{
    f->look_ns = now + LOOK_NS;
    processes_note(f, record_living_poll(&f->living, s));
    for (uint32_t i = 0; i < f->process_count; i++)
        if (f->processes[i].outside && f->processes[i].dump < 0 && now >= f->processes[i].look_ns)
            dump_look(f, &f->processes[i], now);
}

void record_files_poll(struct record_files *f, const struct spool *s)
{
    uint64_t now = clock_ns(CLOCK_MONOTONIC);
    if (now >= f->look_ns)
        processes_look(f, s, now);
    images_poll(f, s);
}

void record_files_last(struct record_files *f, const struct spool *s)
{
    record_living_poll(&f->living, s);
    processes_note(f, f->living.count);
    for (uint32_t i = 0; i < f->process_count; i++)
        if (f->processes[i].look_ns != UINT64_MAX)
            f->processes[i].look_ns = 0;
    processes_look(f, s, clock_ns(CLOCK_MONOTONIC));
    images_poll(f, s);
}

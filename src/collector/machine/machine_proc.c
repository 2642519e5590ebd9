/* What /proc says of processes that the recording did not see begin. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "collector/machine/machine_process.h"
#include "collector/measure.h"

static FILE *file_of(const struct machine_process *p, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", p->pid, name);
    return fopen(path, "re");
}

/* Its effective user: a setuid program's is the file's owner. A name's backslashes and newlines are
 * escaped in `status`, and in no record: it is read from `comm`. */
static void status_read(struct machine_process *p, bool user_alone)
{
    char line[256];
    FILE *f = file_of(p, "status");
    while (f && fgets(line, sizeof line, f)) {
        unsigned user;
        if (sscanf(line, "Uid: %*u %u", &user) == 1)
            p->user = user;
        if (!user_alone && sscanf(line, "PPid: %" SCNd32, &p->ppid) == 1)
            continue;
    }
    if (f)
        fclose(f);
}

void machine_proc_user(struct machine_process *p)
{
    status_read(p, true);
}

static void name_read(struct machine_process *p)
{
    FILE *f = file_of(p, "comm");
    size_t n = f ? fread(p->name, 1, sizeof p->name - 1, f) : 0;
    if (n && p->name[n - 1] == '\n')
        n--;
    p->name[n] = '\0';
    if (f)
        fclose(f);
}

/* 7f00-7f10 r-xp 00001000 08:01 1234      /usr/lib/libc.so.6
 * The first one takes the place of what is known: a process that is over has none. */
static void map_read(struct machine_processes *all, struct machine_process *p, char *line,
                     bool *first)
{
    struct machine_map map = {0};
    char rights[8];
    unsigned major_number, minor_number;
    uint64_t ino;
    int at = 0;
    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %x:%x %" SCNu64 " %n", &map.lo,
               &map.hi, rights, &map.offset, &major_number, &minor_number, &ino, &at) != 7 ||
        rights[2] != 'x' || map.lo >= map.hi || map.hi > INT64_MAX)
        return;
    if (*first)
        p->map_count = 0;
    *first = false;
    char *deleted = strstr(line + at, " (deleted)");
    if (deleted)
        *deleted = '\0';
    map.image = machine_image_of(all->images, makedev(major_number, minor_number), ino, line + at);
    machine_process_map_add(p, &map);
}

static void maps_read(struct machine_processes *all, struct machine_process *p)
{
    char line[PATH_MAX + 128];
    errno = 0;
    FILE *f = file_of(p, "maps");
    p->unreadable = !f && (errno == EACCES || errno == EPERM);
    if (!f)
        return;
    bool first = true;
    while (fgets(line, sizeof line, f))
        map_read(all, p, line, &first);
    fclose(f);
}

void machine_proc_read(struct machine_processes *all, struct machine_process *p)
{
    uint64_t now = monotonic_ns();
    status_read(p, false);
    name_read(p);
    maps_read(all, p);
    p->scanned_ns = now;
    p->known = true;
    free(p->index);
    p->index = NULL;
}

size_t machine_proc_arguments(const struct machine_process *p, char *to, size_t size)
{
    FILE *f = file_of(p, "cmdline");
    size_t n = f ? fread(to, 1, size, f) : 0;
    if (f)
        fclose(f);
    return n;
}

/* A process that comes after its child in the list of numbers: both are there when the tree is
 * looked at. */
static bool tree_grow(struct machine_processes *all)
{
    bool grew = false;
    for (unsigned h = 0; h < MACHINE_PROCESS_HASH; h++)
        for (struct machine_process *p = all->by_pid[h]; p; p = p->next) {
            const struct machine_process *parent = machine_process_find(all, p->ppid);
            if (!p->in_tree && (p->pid == all->selection.pid || (parent && parent->in_tree)))
                grew = p->in_tree = true;
        }
    return grew;
}

void machine_processes_scan(struct machine_processes *all)
{
    DIR *folder = opendir("/proc");
    struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        int32_t pid = atoi(entry->d_name);
        if (pid > 0)
            machine_process_at(all, pid);
    }
    if (folder)
        closedir(folder);
    while (tree_grow(all))
        continue;
}

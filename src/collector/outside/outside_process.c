#include "collector/outside/outside_process.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/measure.h"

/* The process's clock stands still while it has paused the recording. */
static uint64_t clock_of(const struct spool_process *p)
{
    uint64_t now = monotonic_ns(), begun = __atomic_load_n(&p->pause_start_ns, __ATOMIC_RELAXED);
    uint64_t paused = __atomic_load_n(&p->paused_ns, __ATOMIC_RELAXED);
    if (begun && now > begun)
        paused += now - begun;
    return now > paused ? now - paused : 0;
}

/* Process numbers are those of the process's own namespace, and may be reused: ours has the spool
 * mapped. */
static bool has_spool(pid_t pid, const char *name)
{
    char path[64], line[1024];
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    FILE *f = fopen(path, "re");
    while (f && !found && fgets(line, sizeof line, f))
        found = strstr(line, name) != NULL;
    if (f)
        fclose(f);
    return found;
}

struct outside_process *outside_process_open(struct outside_tools *tools,
                                             struct spool_process *record)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", record->pid);
    int tasks = has_spool(record->pid, tools->spool_name)
                    ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                    : -1;
    struct outside_process *p = tasks >= 0 ? calloc(1, sizeof *p) : NULL;
    if (!p) {
        if (tasks >= 0)
            close(tasks);
        return NULL;
    }
    p->record = record;
    p->pid = record->pid;
    p->tasks = tasks;
    return p;
}

/* Where the thread is, or would be. */
static unsigned place_of(const struct outside_process *p, pid_t tid)
{
    unsigned low = 0, high = p->thread_count;
    while (low < high) {
        unsigned middle = low + (high - low) / 2;
        if (p->threads[middle]->tid < tid)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct outside_thread *thread_add(struct outside_process *p, unsigned at, pid_t tid,
                                         uint64_t now)
{
    if (p->thread_count == p->thread_capacity) {
        unsigned capacity = p->thread_capacity ? p->thread_capacity * 2 : 8;
        struct outside_thread **more =
            reallocarray(p->threads, capacity, sizeof(struct outside_thread *));
        if (!more)
            return NULL;
        p->threads = more;
        p->thread_capacity = capacity;
    }
    struct outside_thread *t =
        outside_thread_open(p, tid, p->round_ns ? p->round_ns : now, p->round_ns != 0);
    if (!t)
        return NULL;
    memmove(p->threads + at + 1, p->threads + at,
            (p->thread_count - at) * sizeof(struct outside_thread *));
    p->threads[at] = t;
    p->thread_count++;
    return t;
}

static void thread_visit(struct outside_tools *tools, struct outside_process *p, pid_t tid,
                         uint64_t now)
{
    unsigned at = place_of(p, tid);
    bool known = at < p->thread_count && p->threads[at]->tid == tid;
    struct outside_thread *t = known ? p->threads[at] : thread_add(p, at, tid, now);
    if (!t)
        return;
    t->here = true;
    outside_thread_look(tools, p, t, now);
}

static void ended_close(struct outside_tools *tools, struct outside_process *p)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < p->thread_count; i++)
        if (p->threads[i]->here) {
            p->threads[i]->here = false;
            p->threads[kept++] = p->threads[i];
        } else {
            outside_thread_close(tools, p, p->threads[i]);
        }
    p->thread_count = kept;
}

/* The kernel's struct linux_dirent64. */
struct entry {
    uint64_t inode;
    int64_t offset;
    uint16_t length;
    uint8_t type;
    char name[];
};

bool outside_process_round(struct outside_tools *tools, struct outside_process *p)
{
    char buffer[4096] __attribute__((aligned(8)));
    long n = 0;
    unsigned seen = 0;
    uint64_t now = clock_of(p->record);
    if (__atomic_load_n(&p->record->state, __ATOMIC_ACQUIRE) != PROCESS_RUNNING ||
        lseek(p->tasks, 0, SEEK_SET) != 0)
        return false;
    outside_index_update(tools, p);
    while ((n = syscall(SYS_getdents64, p->tasks, buffer, sizeof buffer)) > 0)
        for (long at = 0; at < n;) {
            const struct entry *entry = (const void *)(buffer + at);
            pid_t tid = (pid_t)atoi(entry->name);
            at += entry->length;
            if (tid <= 0)
                continue;
            thread_visit(tools, p, tid, now);
            seen++;
        }
    ended_close(tools, p);
    p->round_ns = now;
    return seen > 0;
}

void outside_process_close(struct outside_tools *tools, struct outside_process *p)
{
    for (unsigned i = 0; i < p->thread_count; i++)
        outside_thread_close(tools, p, p->threads[i]);
    close(p->tasks);
    free(p->threads);
    free(p->index);
    free(p);
}

#include "collector/outside/outside_process.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "collector/measure.h"
#include "collector/process_runs.h"

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
    return ARRAY_LEADING(p->thread_count, i, p->threads[i]->tid < tid);
}

bool outside_thread_add(struct outside_process *p, struct outside_thread *t)
{
    unsigned at = place_of(p, t->tid);
    if ((at < p->thread_count && p->threads[at]->tid == t->tid) ||
        !ARRAY_ROOM(p->threads, p->thread_count, p->thread_capacity))
        return false;
    memmove(p->threads + at + 1, p->threads + at,
            (p->thread_count - at) * sizeof(struct outside_thread *));
    p->threads[at] = t;
    p->thread_count++;
    return true;
}

/* Since when a thread counts that is there in the first round, and what it had run by then: since
 * the process was first recorded, or the thread's birth after that. The collector may have had to
 * wait for a processor. */
static uint64_t first_began(const struct outside_process *p, pid_t tid, uint64_t now,
                            uint64_t *ran_ns)
{
    const struct spool_process *r = p->record;
    *ran_ns = OUTSIDE_RAN_AS_NOW;
    if (!r->armed_cpu_ns || r->pauses || r->start_ns > now)
        return now;
    if (tid == p->pid) {
        *ran_ns = r->armed_cpu_ns;
        return r->start_ns;
    }
    /* The round may have begun long ago. */
    uint64_t age_ns = thread_age_ns(tid), at = monotonic_ns();
    if (age_ns > at - r->start_ns)
        return now;
    *ran_ns = 0;
    return at - age_ns < now ? at - age_ns : now;
}

static struct outside_thread *thread_begin(struct outside_tools *tools, struct outside_process *p,
                                           pid_t tid, uint64_t now)
{
    uint64_t ran_ns = 0, began = p->round_ns ? p->round_ns : first_began(p, tid, now, &ran_ns);
    struct outside_thread *t = outside_thread_open(p, tid, began, ran_ns);
    if (!t || outside_thread_add(p, t))
        return t;
    outside_thread_close(tools, p, t);
    return NULL;
}

static void thread_visit(struct outside_tools *tools, struct outside_process *p, pid_t tid,
                         uint64_t now)
{
    unsigned at = place_of(p, tid);
    bool known = at < p->thread_count && p->threads[at]->tid == tid;
    struct outside_thread *t = known ? p->threads[at] : thread_begin(tools, p, tid, now);
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

/* Returns how many there are. */
static unsigned all_visit(struct outside_tools *tools, struct outside_process *p, uint64_t now)
{
    char buffer[4096] __attribute__((aligned(8)));
    long n = 0;
    unsigned seen = 0;
    if (lseek(p->tasks, 0, SEEK_SET) != 0)
        return 0;
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
    return seen;
}

bool outside_process_round(struct outside_tools *tools, struct outside_process *p)
{
    uint64_t now = clock_of(p->record);
    bool runs = __atomic_load_n(&p->record->state, __ATOMIC_ACQUIRE) == PROCESS_RUNNING;
    if (tools->watches)
        outside_watched_add(tools, p);
    if (!runs)
        return false;
    outside_index_update(tools, p);
    if (!tools->watches)
        runs = all_visit(tools, p, now) > 0;
    for (unsigned i = 0; tools->watches && i < p->thread_count; i++)
        p->threads[i]->here = outside_thread_look(tools, p, p->threads[i], now);
    ended_close(tools, p);
    p->round_ns = now;
    return runs;
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

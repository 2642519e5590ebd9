/* Threads that wait so often that they have left their waits to us (runtime/trigger/watch.c). */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "collector/outside/outside_process.h"

enum { RECORDS_MOST = 1 << 20 };

bool outside_is_asked(const struct spool_process *record)
{
    return __atomic_load_n(&record->watch, __ATOMIC_ACQUIRE) == WATCH_WANTED;
}

/* The kernel tells whom it would let read the process's memory. */
static bool may_look(const struct outside_process *p)
{
    char path[64], text[256];
    snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", p->pid, p->pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool may = fd >= 0 && read(fd, text, sizeof text) > 0;
    if (fd >= 0)
        close(fd);
    return may;
}

void outside_answer(struct spool_process *record, const struct outside_process *p)
{
    __atomic_store_n(&record->watch, p && may_look(p) ? WATCH_READY : WATCH_REFUSED,
                     __ATOMIC_RELEASE);
}

/* It has waited since then, or ended meanwhile. */
static void add(struct outside_tools *tools, struct outside_process *p,
                const struct spool_thread *record, uint64_t since)
{
    struct outside_thread *t = outside_thread_open(p, record->tid, since, OUTSIDE_RAN_AS_NOW);
    if (!t)
        return;
    t->ran_ns = record->watched_cpu_ns;
    tools->unseen.watched++;
    if (!outside_thread_add(p, t))
        outside_thread_close(tools, p, t);
}

void outside_watched_add(struct outside_tools *tools, struct outside_process *p)
{
    uint32_t watched = __atomic_load_n(&p->record->watched, __ATOMIC_ACQUIRE);
    spool_ref ref = __atomic_load_n(&p->record->threads, __ATOMIC_ACQUIRE);
    for (unsigned n = 0; p->watched != watched && n < RECORDS_MOST; n++) {
        struct spool_thread *record = spool_at(tools->spool, ref, sizeof *record);
        if (!record)
            break;
        ref = record->next;
        uint64_t since = __atomic_load_n(&record->watched_ns, __ATOMIC_ACQUIRE);
        if (!since || record->watch_seen)
            continue;
        record->watch_seen = 1;
        p->watched++;
        add(tools, p, record, since);
    }
}

#include "collector/record_discover.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "collector/perf_event.h"

enum { LOOK_NS = 50000000, TICK_NS = 50000000, SLOT_DISCOVERY = -1 };

/* Thread numbers, sorted once all are there. */
struct numbers {
    int32_t *list;
    uint32_t count, capacity;
};

static int by_number(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static void numbers_sort(struct numbers *n)
{
    if (n->count)
        qsort(n->list, n->count, sizeof *n->list, by_number);
}

static bool is_among(const struct numbers *n, int32_t tid)
{
    return n->count && bsearch(&tid, n->list, n->count, sizeof tid, by_number);
}

static void number_add(struct numbers *n, int32_t tid)
{
    if (ARRAY_ROOM(n->list, n->count, n->capacity))
        n->list[n->count++] = tid;
}

/* The threads that have a record which has not ended. */
static struct numbers known_threads(const struct spool *s, const struct spool_process *p)
{
    struct numbers known = {0};
    spool_ref ref = __atomic_load_n(&p->threads, __ATOMIC_ACQUIRE);
    for (uint64_t n = 0; n < s->mapped / sizeof(struct spool_thread); n++) {
        const struct spool_thread *t = spool_at(s, ref, sizeof *t);
        if (!t)
            break;
        if (!__atomic_load_n(&t->end_ns, __ATOMIC_RELAXED))
            number_add(&known, t->tid);
        ref = t->next;
    }
    numbers_sort(&known);
    return known;
}

/* Without a sample in system calls where the process's other events have none. */
static int event_open(const struct spool_process *p, int32_t tid)
{
    const struct perf_event event = {
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_TASK_CLOCK,
        .period = TICK_NS,
        .value = (uint64_t)p->cookie << 32 | (uint32_t)SLOT_DISCOVERY,
        .exclude_kernel = __atomic_load_n(&p->exclude_kernel, __ATOMIC_RELAXED) != 0,
        .runs = true,
    };
    return perf_event_open(&event, tid);
}

static bool is_watched(const struct record_discover *d, int32_t pid, int32_t tid)
{
    for (uint32_t i = 0; i < d->count; i++)
        if (d->watched[i].pid == pid && d->watched[i].tid == tid)
            return true;
    return false;
}

static void watch(struct record_discover *d, const struct spool_process *p, int32_t tid)
{
    if (is_watched(d, p->pid, tid) || !ARRAY_ROOM(d->watched, d->count, d->capacity))
        return;
    d->watched[d->count++] = (struct record_watched){p->pid, tid, event_open(p, tid)};
}

/* Of the process: threads that are known, or have ended. */
static void forget(struct record_discover *d, int32_t pid, const struct numbers *known,
                   const struct numbers *there)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < d->count; i++) {
        struct record_watched w = d->watched[i];
        if (w.pid != pid || (is_among(there, w.tid) && !is_among(known, w.tid)))
            d->watched[kept++] = w;
        else if (w.fd >= 0)
            close(w.fd);
    }
    d->count = kept;
}

static struct numbers threads_there(int32_t pid)
{
    struct numbers there = {0};
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *folder = opendir(path);
    const struct dirent *entry;
    while (folder && (entry = readdir(folder)) != NULL) {
        int32_t tid = (int32_t)strtol(entry->d_name, NULL, 10);
        if (tid > 0)
            number_add(&there, tid);
    }
    if (folder)
        closedir(folder);
    numbers_sort(&there);
    return there;
}

static void look(struct record_discover *d, const struct spool *s, const struct spool_process *p)
{
    struct numbers there = threads_there(p->pid), known = known_threads(s, p);
    forget(d, p->pid, &known, &there);
    for (uint32_t i = 0; i < there.count; i++)
        if (!is_among(&known, there.list[i]))
            watch(d, p, there.list[i]);
    free(there.list);
    free(known.list);
}

void record_discover_poll(struct record_discover *d, const struct record_living *l,
                          const struct spool *s, uint64_t now_ns)
{
    if (now_ns < d->next_ns)
        return;
    d->next_ns = now_ns + LOOK_NS;
    for (uint32_t i = 0; i < l->count; i++) {
        const struct spool_process *p = l->list[i].record;
        if (__atomic_load_n(&p->undiscovered, __ATOMIC_RELAXED) &&
            __atomic_load_n(&p->state, __ATOMIC_RELAXED) == PROCESS_RUNNING)
            look(d, s, p);
    }
}

void record_discover_end(struct record_discover *d)
{
    for (uint32_t i = 0; i < d->count; i++)
        if (d->watched[i].fd >= 0)
            close(d->watched[i].fd);
    free(d->watched);
    *d = (struct record_discover){0};
}

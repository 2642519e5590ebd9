#include "collector/machine/machine_process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ENDED_MOST = 1024, ARGUMENTS_MOST = 4096 };
#define ENDED_NS UINT64_C(1000000000)

static struct machine_process **place_of(struct machine_processes *all, int32_t pid)
{
    return &all->by_pid[(uint32_t)pid % MACHINE_PROCESS_HASH];
}

struct machine_process *machine_process_find(struct machine_processes *all, int32_t pid)
{
    for (struct machine_process *p = *place_of(all, pid); p; p = p->next)
        if (p->pid == pid)
            return p;
    return NULL;
}

bool machine_process_is_selected(const struct machine_processes *all,
                                 const struct machine_process *p)
{
    const struct machine_selection *s = &all->selection;
    return (!s->pid || p->in_tree) && (s->user < 0 || (int64_t)p->user == s->user);
}

/* ---- they come and go ---- */

static void thread_ends(struct machine_thread *t, uint64_t time)
{
    if (t->record)
        t->record->end_ns = time;
    if (t->waking)
        t->waking->end_ns = time;
}

static void threads_free(struct machine_process *p, uint64_t end_ns)
{
    while (p->threads) {
        struct machine_thread *t = p->threads;
        p->threads = t->next;
        thread_ends(t, t->record && t->record->end_ns ? t->record->end_ns : end_ns);
        free(t->wait.path);
        free(t);
    }
}

/* Its record is final: it has ended, or executes another program. */
static void record_end(struct machine_process *p, enum spool_process_state how, uint64_t time)
{
    threads_free(p, time);
    if (p->record) {
        p->record->end_ns = time;
        __atomic_store_n(&p->record->state, how, __ATOMIC_RELEASE);
    }
    p->record = NULL;
}

static void process_free(struct machine_process *p)
{
    threads_free(p, 0);
    free(p->maps);
    free(p->index);
    free(p);
}

static void process_remove(struct machine_processes *all, struct machine_process **at)
{
    struct machine_process *p = *at;
    *at = p->next;
    all->count--;
    all->ended -= p->ended;
    process_free(p);
}

/* Samples may follow the end of a process, so it stays for a while. */
static void ended_sweep(struct machine_processes *all, uint64_t now)
{
    if (all->ended < all->sweep_at)
        return;
    for (unsigned h = 0; h < MACHINE_PROCESS_HASH; h++)
        for (struct machine_process **at = &all->by_pid[h]; *at;)
            if ((*at)->ended && now - (*at)->end_ns > ENDED_NS)
                process_remove(all, at);
            else
                at = &(*at)->next;
    all->sweep_at = all->ended + ENDED_MOST;
}

static struct machine_process *process_add(struct machine_processes *all, int32_t pid)
{
    struct machine_process *p = calloc(1, sizeof *p), **at = place_of(all, pid);
    if (!p)
        return NULL;
    p->pid = pid;
    p->next = *at;
    *at = p;
    all->count++;
    return p;
}

static void set_outside(struct machine_process *p)
{
    p->known = p->outside = true;
    p->user = (uid_t)-1;
    snprintf(p->name, sizeof p->name, "(outside)");
}

struct machine_process *machine_process_at(struct machine_processes *all, int32_t pid)
{
    struct machine_process *p = machine_process_find(all, pid);
    bool is_new = !p;
    if (is_new)
        p = process_add(all, pid);
    if (!p || p->known)
        return p;
    if (pid == MACHINE_OUTSIDE)
        set_outside(p);
    else
        machine_proc_read(all, p);
    if (all->services)
        p->service = machine_service_find(all->services, pid, p->ppid, p->service);
    if (!p->name[0])
        snprintf(p->name, sizeof p->name, "(ended)"); /* nothing tells its name any more */
    const struct machine_process *parent = machine_process_find(all, p->ppid);
    if (is_new)
        p->in_tree = pid == all->selection.pid || (parent && parent->in_tree);
    return p;
}

void machine_processes_forget(struct machine_processes *all)
{
    for (unsigned h = 0; h < MACHINE_PROCESS_HASH; h++)
        for (struct machine_process *p = all->by_pid[h]; p; p = p->next)
            p->known = p->ended;
}

void machine_processes_move(struct machine_processes *all, const struct spool *to)
{
    all->spool = to;
    for (unsigned h = 0; h < MACHINE_PROCESS_HASH; h++)
        for (struct machine_process *p = all->by_pid[h]; p; p = p->next) {
            p->record = NULL;
            threads_free(p, 0);
        }
}

void machine_processes_free(struct machine_processes *all)
{
    for (unsigned h = 0; h < MACHINE_PROCESS_HASH; h++)
        while (all->by_pid[h])
            process_remove(all, &all->by_pid[h]);
}

/* ---- what is mapped where ---- */

static bool describe(const struct machine_map *map, struct unwind_image *to)
{
    const struct machine_image *image = map->image;
    uint64_t bias;
    if (!image || !image->number || !machine_image_bias(image, map, &bias))
        return false;
    *to = (struct unwind_image){.lo = map->lo,
                                .hi = map->hi,
                                .bias = bias,
                                .number = image->number,
                                .table_ref = &image->table_ref,
                                .table_base = image->table,
                                .table_limit = image->table_size};
    if (image->frames.copy) {
        uint64_t lo = image->frames.vaddr + bias;
        to->eh_frame_hdr = (const uint8_t *)(uintptr_t)(image->frames.hdr + bias);
        to->eh_frame_hdr_size = image->frames.hdr_size;
        to->readable_lo = lo;
        to->readable_hi = lo + image->frames.size;
        to->readable_copy = image->frames.copy;
    }
    return true;
}

const struct unwind_index *machine_process_index(struct machine_processes *all,
                                                 struct machine_process *p)
{
    if (p->index && p->index_changes == all->images->changes)
        return p->index;
    machine_process_index_drop(p);
    struct unwind_index *index = malloc(sizeof *index + p->map_count * sizeof *index->image);
    if (!index)
        return NULL;
    index->count = 0;
    index->generation = ++all->generation;
    for (uint32_t i = 0; i < p->map_count; i++) {
        const struct machine_map *map = &p->maps[i];
        if (map->image)
            machine_image_find(all->images, map->image, p->pid, map);
        index->count += describe(map, &index->image[index->count]);
    }
    p->index = index;
    p->index_changes = all->images->changes;
    return index;
}

/* ---- records ---- */

static void note_map(struct machine_processes *all, struct machine_process *p,
                     const struct machine_record *r)
{
    const struct machine_map map = {.lo = r->lo, .hi = r->hi, .offset = r->offset,
                                    .since = r->time,
                                    .image = machine_image_of(all->images, r->dev, r->ino,
                                                              r->name)};
    machine_process_map_add(p, &map);
}

static void note_name(struct machine_processes *all, struct machine_process *p,
                      const struct machine_record *r)
{
    if (r->exec) {
        record_end(p, PROCESS_EXECING, r->time);
        p->map_count = 0;
        p->known = true;
        p->start_ns = r->time;
        machine_process_index_drop(p);
        if (all->selection.user >= 0)
            machine_proc_user(p);
        if (all->services)
            p->service = machine_service_find(all->services, p->pid, p->ppid, p->service);
    }
    if (r->tid == r->pid) {
        strncpy(p->name, r->name, sizeof p->name - 1);
        if (p->record)
            memcpy(p->record->name, p->name, sizeof p->name);
    }
    struct machine_thread *t = machine_thread_at(p, r->tid);
    if (t)
        strncpy(t->name, r->name, sizeof t->name - 1);
    if (t && t->record)
        memcpy(t->record->name, t->name, sizeof t->name);
}

/* A copy of its parent, whose address space it has. */
static void process_fork(struct machine_processes *all, const struct machine_record *r)
{
    struct machine_process *parent = machine_process_at(all, r->ppid);
    struct machine_process *p = machine_process_find(all, r->pid);
    if (p && !p->ended && p->scanned_ns > r->time)
        return;
    for (struct machine_process **at = place_of(all, r->pid); *at; at = &(*at)->next)
        if ((*at)->pid == r->pid) {
            process_remove(all, at);
            break;
        }
    p = process_add(all, r->pid);
    if (!p || !parent)
        return;
    p->ppid = r->ppid;
    p->user = parent->user;
    p->service = parent->service;
    p->in_tree = parent->in_tree || r->pid == all->selection.pid;
    p->start_ns = r->time;
    memcpy(p->name, parent->name, sizeof p->name);
    p->known = parent->known && !parent->outside &&
               machine_process_maps_room(p, parent->map_count);
    if (p->known && parent->map_count)
        memcpy(p->maps, parent->maps, parent->map_count * sizeof *p->maps);
    p->map_count = p->known ? parent->map_count : 0;
}

static void thread_end(struct machine_process *p, int32_t tid, uint64_t time)
{
    for (struct machine_thread *t = p->threads; t; t = t->next)
        if (t->tid == tid)
            thread_ends(t, time);
}

/* The first thread may end before others do: then the process is over a little early. */
static void note_end(struct machine_processes *all, struct machine_process *p,
                     const struct machine_record *r)
{
    thread_end(p, r->tid, r->time);
    if (r->tid != r->pid || p->ended)
        return;
    p->ended = true;
    p->end_ns = r->time;
    all->ended++;
    if (p->record) {
        p->record->end_ns = r->time;
        __atomic_store_n(&p->record->state, PROCESS_EXITED, __ATOMIC_RELEASE);
    }
    ended_sweep(all, r->time);
}

void machine_processes_note(struct machine_processes *all, const struct machine_record *r)
{
    if (r->kind == MACHINE_FORK && r->pid != r->ppid) {
        process_fork(all, r);
        return;
    }
    struct machine_process *p = machine_process_find(all, r->pid);
    if (!p || p->outside || (p->scanned_ns > r->time && r->kind != MACHINE_EXIT))
        return;
    switch (r->kind) {
    case MACHINE_MAP: note_map(all, p, r); break;
    case MACHINE_COMM: note_name(all, p, r); break;
    case MACHINE_EXIT: note_end(all, p, r); break;
    default: break;
    }
}

/* ---- threads, and records in the spool ---- */

struct machine_thread *machine_thread_at(struct machine_process *p, int32_t tid)
{
    for (struct machine_thread *t = p->threads; t; t = t->next)
        if (t->tid == tid)
            return t;
    struct machine_thread *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->tid = tid;
    memcpy(t->name, p->name, sizeof t->name);
    t->next = p->threads;
    p->threads = t;
    return t;
}

struct spool_process *machine_process_record(struct machine_processes *all,
                                             struct machine_process *p)
{
    const struct spool *s = all->spool;
    char arguments[ARGUMENTS_MOST];
    struct spool_process *record = p->record ? p->record : spool_alloc_as(s, sizeof *record);
    if (!record || p->record)
        return record;
    size_t size = all->services ? (size_t)snprintf(arguments, sizeof arguments, "%u", p->service)
                  : p->ended    ? 0
                                : machine_proc_arguments(p, arguments, sizeof arguments);
    record->pid = p->pid;
    record->ppid = p->ppid;
    record->state = p->ended ? PROCESS_EXITED : PROCESS_RUNNING;
    record->start_ns = p->start_ns ? p->start_ns : spool_header(s)->start_monotonic_ns;
    record->epoch = 1;
    record->mechanism = MECHANISM_PERF;
    memcpy(record->name, p->name, sizeof record->name);
    record->command = size ? spool_string_as(s, arguments, size)
                           : spool_string_as(s, p->name, strlen(p->name));
    spool_push_as(s, &spool_header(s)->processes, record);
    p->record = record;
    all->unreadable += p->unreadable;
    return record;
}

static struct spool_thread *record_make(const struct spool *s, struct spool_process *process,
                                        const struct machine_thread *t)
{
    struct spool_thread *record = spool_alloc_as(s, sizeof *record);
    struct cct_node *root = record ? spool_alloc_as(s, sizeof *root) : NULL;
    if (!root)
        return NULL;
    root->key = key_pseudo(KEY_ROOT);
    record->tid = t->tid;
    record->tree = spool_ref_of(s, root);
    record->start_ns = process->start_ns;
    memcpy(record->name, t->name, sizeof record->name);
    return record;
}

struct spool_thread *machine_thread_record(struct machine_processes *all,
                                           struct machine_process *p, struct machine_thread *t)
{
    const struct spool *s = all->spool;
    struct spool_process *process = machine_process_record(all, p);
    if (!process || t->record)
        return t->record;
    t->record = record_make(s, process, t);
    if (!t->record)
        return NULL;
    t->record->life = spool_ref_of(s, t->record);
    spool_push_as(s, &process->threads, t->record);
    return t->record;
}

struct spool_thread *machine_thread_waking(struct machine_processes *all,
                                           struct machine_process *p, struct machine_thread *t)
{
    const struct spool_thread *first = machine_thread_record(all, p, t);
    if (!first || t->waking)
        return t->waking;
    t->waking = record_make(all->spool, p->record, t);
    if (!t->waking)
        return NULL;
    t->waking->life = first->life;
    t->waking->which = 1;
    spool_push_as(all->spool, &p->record->threads, t->waking);
    return t->waking;
}

/* Trees of waiting, in the spool: one a thread and phase, in a record beside the thread's own. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/measure.h"
#include "collector/outside/outside_process.h"
#include "sigsafe/cct_grow.h"
#include "sigsafe/settings.h"

uint32_t outside_phase_now(const struct spool *s, const struct spool_process *p)
{
    enum { PHASES_MOST = 256 };
    uint32_t id = 0;
    uint64_t latest = 0;
    spool_ref ref = __atomic_load_n(&p->phases, __ATOMIC_ACQUIRE);
    for (unsigned n = 0; n < PHASES_MOST; n++) {
        const struct spool_phase *phase = spool_at(s, ref, sizeof *phase);
        if (!phase)
            break;
        uint64_t begun = __atomic_load_n(&phase->start_ns, __ATOMIC_RELAXED);
        if (begun >= latest && begun) { /* the innermost was begun last */
            latest = begun;
            id = phase->id;
        }
        ref = phase->next;
    }
    return id;
}

static void name_read(const struct outside_process *p, pid_t tid, char name[16])
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/comm", p->pid, tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, name, 15) : 0;
    if (fd >= 0)
        close(fd);
    if (n > 0 && name[n - 1] == '\n')
        name[n - 1] = '\0';
}

static struct spool_thread *record_make(const struct outside_tools *tools,
                                        const struct outside_process *p,
                                        const struct outside_thread *t, uint32_t phase)
{
    struct spool_thread *record = spool_alloc_as(tools->spool, sizeof *record);
    struct cct_node *root = spool_alloc_as(tools->spool, sizeof *root);
    if (!record || !root)
        return NULL;
    root->key = key_pseudo(KEY_ROOT);
    record->tid = t->tid;
    record->tree = spool_ref_of(tools->spool, root);
    record->phase = phase;
    if (t->timeline.record)
        record->timeline = spool_ref_of(tools->spool, t->timeline.record);
    record->start_ns = monotonic_ns();
    name_read(p, t->tid, record->name);
    spool_push_as(tools->spool, &p->record->threads, record);
    return record;
}

/* A record that was made before there was a timeline gets it when it is used again. */
static struct spool_thread *record_again(const struct outside_tools *tools,
                                         const struct outside_thread *t,
                                         struct spool_thread *record)
{
    if (!record->timeline && t->timeline.record)
        __atomic_store_n(&record->timeline, spool_ref_of(tools->spool, t->timeline.record),
                         __ATOMIC_RELEASE);
    return record;
}

struct spool_thread *outside_record(struct outside_tools *tools, const struct outside_process *p,
                                    struct outside_thread *t, uint32_t phase)
{
    for (unsigned i = 0; i < t->phase_count; i++)
        if (t->phases[i].phase == phase)
            return record_again(tools, t, t->phases[i].record);
    struct outside_phase *more = realloc(t->phases, (t->phase_count + 1) * sizeof *more);
    if (!more)
        return NULL;
    t->phases = more;
    struct spool_thread *record = record_make(tools, p, t, phase);
    if (record)
        t->phases[t->phase_count++] = (struct outside_phase){phase, record};
    return record;
}

static spool_ref child(const struct outside_tools *tools, struct outside_thread *t,
                       struct spool_thread *record, spool_ref parent, uint64_t key)
{
    struct cct_store store = {tools->spool, t->block, t->block_end, &record->nodes, NULL};
    spool_ref found = cct_child_as(&store, parent, key);
    t->block = store.block;
    t->block_end = store.block_end;
    return found;
}

spool_ref outside_path_add(struct outside_tools *tools, struct outside_thread *t,
                           struct spool_thread *record, const struct unwind_result *walk)
{
    spool_ref node = record->tree;
    if (walk->truncation != TRUNC_NONE)
        node = child(tools, t, record, node, key_pseudo(KEY_TRUNCATED));
    for (uint32_t i = walk->frames; node && i > 0; i--)
        node = child(tools, t, record, node, tools->frames[i - 1].key);
    return node;
}

/* What was waited for until now. */
static void note_time(const struct outside_tools *tools, struct outside_thread *t,
                      struct spool_thread *record, spool_ref node, uint64_t periods)
{
    const struct spool_header *h = spool_header(tools->spool);
    uint64_t now = monotonic_ns(), start = h->start_monotonic_ns;
    struct timeline_moment m = {.ns = now > start ? now - start : 0,
                                .weight = periods,
                                .node = node,
                                .span_ns = periods > 1 ? periods * tools->period : 0};
    if (settings_sampling(tools->spool)->timeline)
        timeline_add_as(&t->timeline, tools->spool, &record->timeline, &m);
}

void outside_charge(struct outside_tools *tools, struct outside_thread *t,
                    struct spool_thread *record, uint64_t periods)
{
    if (!periods)
        return;
    cct_node_at(tools->spool, t->node)->samples += periods;
    note_time(tools, t, record, t->node, periods);
    record->taken++;
    record->weight += periods;
    record->weight_squares += periods * periods;
    record->guessed += t->guessed;
    if (t->truncation != TRUNC_NONE && t->truncation < TRUNC_COUNT)
        record->truncated[t->truncation] += periods;
}

void outside_charge_unattributed(struct outside_tools *tools, struct outside_thread *t,
                                 struct spool_thread *record, uint64_t periods)
{
    spool_ref node =
        periods ? child(tools, t, record, record->tree, key_pseudo(KEY_UNATTRIBUTED)) : 0;
    if (node) {
        cct_node_at(tools->spool, node)->samples += periods;
        record->weight += periods;
        note_time(tools, t, record, node, periods);
    } else {
        record->drops[DROP_SPOOL_FULL] += periods;
    }
}

#include "profile/spool_read.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profile/merge.h"
#include "profile/simulate.h"
#include "profile/spool_contexts.h"
#include "profile/spool_counts.h"
#include "profile/spool_shadows.h"
#include "profile/spool_timeline.h"
#include "profile/spool_values.h"
#include "profile/table/table.h"
#include "sigsafe/settings.h"
#include "sigsafe/tools.h"

struct reader {
    struct spool_view view;
    const struct spool_header *header;
    struct settings settings;
    struct profile *p;
    uint32_t thread_capacity;
    struct spool_counts_reader counts;
    struct spool_contexts contexts;
    uint32_t *index_of; /* image number -> index in p->images, or UINT32_MAX */
    uint32_t *phase_of; /* of the current process: phase id -> 1 + index in p->phases, or 0 */
    uint32_t phase_limit; /* the greatest id */
    struct spool_tree_kind tree_kind; /* of the current process, by the trigger malloc */
    uint32_t triggers;
    uint32_t metric_of[TRIGGERS_MAX]; /* the first metric of each trigger */
};

static uint64_t load(const uint64_t *at)
{
    return __atomic_load_n(at, __ATOMIC_RELAXED);
}

/* Monotonic time to time since the start; 0 stays 0. */
static uint64_t since_start(const struct reader *r, const uint64_t *at)
{
    uint64_t t = load(at);
    return t > r->header->start_monotonic_ns ? t - r->header->start_monotonic_ns : 0;
}

static uint64_t ticks_to_ns(uint64_t ticks, uint64_t hz)
{
    if (!hz)
        return 0;
    unsigned __int128 ns = (unsigned __int128)ticks * 1000000000u / hz;
    return ns > UINT64_MAX ? UINT64_MAX : (uint64_t)ns;
}

/* The time in `total`, and since *start if it is not 0, until the process's end or, if it has none,
 * the recording's. */
static uint64_t elapsed(const struct reader *r, const struct spool_process *p,
                        const uint64_t *start, const uint64_t *total)
{
    uint64_t began = load(start), end = load(&p->end_ns);
    if (!end)
        end = r->header->start_monotonic_ns + (uint64_t)r->header->elapsed_ms * 1000000u;
    return load(total) + (began && end > began ? end - began : 0);
}

static void get_drops(struct reader *r, uint64_t *to, const uint64_t *from)
{
    for (unsigned i = 0; i < DROP_COUNT; i++)
        to[i] = spool_view_count(&r->view, &from[i]);
}

static char *get_name(const char name[16])
{
    return strndup(name, 16);
}

/* ---- what was recorded ---- */

static bool replace(char **to, const char *s)
{
    char *copy = strdup(s);
    if (!copy)
        return false;
    free(*to);
    *to = copy;
    return true;
}

static void trigger_name(struct spool_trigger c, bool outside, char *out, size_t size)
{
    static const char *const software[] = {
        [TRIGGER_CPU] = "cpu",
        [TRIGGER_WALL] = "wall",
        [TRIGGER_PAGE_FAULTS] = "page-faults",
        [TRIGGER_CONTEXT_SWITCHES] = "context-switches",
        [TRIGGER_MALLOC] = "malloc", [TRIGGER_READ] = "read", [TRIGGER_WRITE] = "write",
        [TRIGGER_LOCK_WAIT] = "lock-wait", [TRIGGER_CHECKS] = "checks", [TRIGGER_WAKING] = "waking",
    };
    static const char *const hardware[] = {
        [PERF_COUNT_HW_CPU_CYCLES] = "cycles",
        [PERF_COUNT_HW_INSTRUCTIONS] = "instructions",
        [PERF_COUNT_HW_CACHE_REFERENCES] = "cache-references",
        [PERF_COUNT_HW_CACHE_MISSES] = "cache-misses",
        [PERF_COUNT_HW_BRANCH_INSTRUCTIONS] = "branches",
        [PERF_COUNT_HW_BRANCH_MISSES] = "branch-misses",
    };
    if (outside)
        snprintf(out, size, "wall");
    else if (c.trigger < sizeof software / sizeof *software && software[c.trigger])
        snprintf(out, size, "%s", software[c.trigger]);
    else if (c.trigger == TRIGGER_HARDWARE && c.perf_type == PERF_TYPE_HARDWARE &&
             c.perf_config < sizeof hardware / sizeof *hardware)
        snprintf(out, size, "%s", hardware[c.perf_config]);
    else
        snprintf(out, size, "perf:%" PRIu32 ":%#" PRIx64, c.perf_type, c.perf_config);
}

static const char *unit_name(uint32_t trigger)
{
    switch (trigger) {
    case TRIGGER_CPU:
    case TRIGGER_WALL:
    case TRIGGER_LOCK_WAIT:
    case TRIGGER_WAKING:
        return "nanoseconds";
    case TRIGGER_MALLOC:
    case TRIGGER_READ:
    case TRIGGER_WRITE:
        return "bytes";
    default:
        return "events";
    }
}

static bool get_carrier(struct reader *r, const struct settings *all)
{
    const struct spool_config *c = &all->sampling;
    bool shadows = c->carrier == CARRIER_SHADOW || c->carrier == CARRIER_AUTO;
    const char *carrier = profile_carrier_name(c->carrier);
    char tools[TOOLS_NAMES_MAX];
    if (c->carrier == CARRIER_HANDLER)
        return true;
    tools_names(c->tools, tools);
    struct profile_counts *counts =
        profile_counts_new(carrier ? carrier : "unknown", *tools ? tools : "unknown");
    if (!counts)
        return false;
    profile_observe(r->p, OBSERVED_CODE, counts);
    counts->length = shadows                       ? all->shadow.length
                     : c->carrier == CARRIER_BURST ? all->burst.length
                                                   : 0;
    counts->native_ns = c->native_ns;
    struct profile_shadows *s = shadows ? calloc(1, sizeof *s) : NULL;
    if (!s)
        return !shadows;
    profile_observe(r->p, OBSERVED_SHADOWS, s);
    s->load_milli = r->header->load_milli;
    s->burst_length = c->carrier == CARRIER_AUTO ? all->burst.length : 0;
    return true;
}

/* The metric was made before, the first by profile_new. */
static bool get_metric(struct profile_metric *m, const struct spool_config *c, uint32_t which)
{
    struct spool_trigger trigger = spool_trigger_at(c, which);
    char name[64];
    trigger_name(trigger, !which && c->outside, name, sizeof name);
    m->period = trigger.period;
    m->how = c->randomize ? METRIC_RANDOMIZED : METRIC_REGULAR;
    return replace(&m->trigger, name) && replace(&m->name, name) &&
           replace(&m->unit, unit_name(trigger.trigger));
}

/* Under the engine from beginning to end there is no trigger: what is counted stands for itself. */
static bool get_exact_metrics(struct profile *p, const struct spool_config *c)
{
    struct profile_metric *m = &p->metrics[0];
    struct tool_about tools = tools_about(c->tools);
    const char *name =
        tools.machine ? SIMULATED_TRIGGER : tools.contexts ? "calls" : "instructions";
    m->period = 1;
    m->how = METRIC_EXACT;
    return replace(&m->trigger, name) && replace(&m->name, name) && replace(&m->unit, "events") &&
           (!tools.machine || profile_simulated_metrics(p));
}

/* A trigger has a name that no earlier one has, and metrics that there is room for: profiles tell
 * triggers apart by their names. */
static bool trigger_fits(const struct reader *r, const struct spool_config *c, uint32_t which)
{
    struct spool_trigger trigger = spool_trigger_at(c, which);
    uint32_t metrics = trigger.trigger == TRIGGER_MALLOC ? HEAP_METRICS : 1;
    char name[64];
    trigger_name(trigger, false, name, sizeof name);
    for (uint32_t m = 0; m < r->p->metric_count; m++)
        if (!strcmp(r->p->metrics[m].trigger, name))
            return false;
    return r->p->metric_count + metrics <= METRICS_MAX;
}

static bool get_metrics(struct reader *r, const struct spool_config *c)
{
    const struct profile_metric none = {
        .name = (char[]){""}, .trigger = (char[]){""}, .unit = (char[]){""}};
    struct profile *p = r->p;
    r->triggers = c->carrier == CARRIER_EXACT ? 1 : spool_triggers(c);
    if (c->carrier == CARRIER_EXACT)
        return get_exact_metrics(p, c);
    for (uint32_t which = 0; which < r->triggers; which++) {
        if (which && !trigger_fits(r, c, which)) {
            r->view.damage++;
            r->triggers = which;
            break;
        }
        if (which && !profile_metric_add(p, &none))
            return false;
        r->metric_of[which] = p->metric_count - 1;
        if (!get_metric(&p->metrics[r->metric_of[which]], c, which) ||
            (spool_trigger_at(c, which).trigger == TRIGGER_MALLOC && !profile_metrics_of_heap(p)))
            return false;
    }
    return true;
}

static bool get_header(struct reader *r)
{
    r->view.damage += !settings_get(&r->view.spool, &r->settings);
    const struct spool_config *c = &r->settings.sampling;
    r->p->budget_ppm = c->budget_ppm;
    r->p->delivery_ns = c->delivery_ns;
    r->p->start_realtime_ns = r->header->start_realtime_ns;
    get_drops(r, r->p->drops, r->header->drops);
    struct tool_about about = tools_about(c->tools);
    r->counts = spool_counts_reader(&r->view, c->tools);
    r->contexts.profile = r->p;
    r->counts.contexts = about.contexts && about.in_context ? &r->contexts : NULL;
    return get_carrier(r, &r->settings) && get_metrics(r, c);
}

/* ---- threads and processes ---- */

static struct profile_thread *add_thread(struct reader *r)
{
    struct profile *p = r->p;
    if (p->thread_count == r->thread_capacity) {
        uint32_t capacity = r->thread_capacity ? r->thread_capacity * 2 : 16;
        struct profile_thread *threads = r->thread_capacity > UINT32_MAX / 4
                                             ? NULL
                                             : realloc(p->threads, capacity * sizeof *threads);
        if (!threads)
            return NULL;
        p->threads = threads;
        r->thread_capacity = capacity;
    }
    struct profile_thread *t = &p->threads[p->thread_count++];
    *t = (struct profile_thread){0};
    return t;
}

/* Where the tool has made the tree, what a node counts is how often it was called. */
static void count_calls(struct profile_thread *t)
{
    t->taken = t->weight = t->weight_squares = 0;
    for (uint32_t i = 0; i < t->node_count; i++) {
        t->nodes[i].calls = t->nodes[i].self;
        /* at most 2^32 nodes of 2^40 at most: may wrap, harmlessly */
        t->weight += t->nodes[i].self;
    }
}

/* Of a trigger after the first: what was counted in the first one's place goes into its own. */
static bool put_in_place(struct reader *r, struct profile_thread *t, uint32_t which)
{
    t->others = profile_sampled_new(r->p);
    if (!t->others)
        return false;
    struct profile_sampled *s = &t->others[which - 1];
    *s = (struct profile_sampled){.taken = t->taken, .weight = t->weight,
                                  .weight_squares = t->weight_squares, .guessed = t->guessed};
    memcpy(s->truncated, t->truncated, sizeof s->truncated);
    memcpy(s->drops, t->drops, sizeof s->drops);
    t->taken = t->weight = t->weight_squares = t->guessed = 0;
    memset(t->truncated, 0, sizeof t->truncated);
    memset(t->drops, 0, sizeof t->drops);
    for (uint32_t i = 0; i < t->node_count; i++) {
        struct profile_node *n = &t->nodes[i];
        uint64_t weights[HEAP_METRICS] = {n->self, n->more[HEAP_LIVE - 1], n->more[HEAP_PEAK - 1]};
        n->self = 0;
        memset(n->more, 0, sizeof n->more);
        uint32_t first = r->metric_of[which];
        for (uint32_t m = 0; m < HEAP_METRICS && first + m < METRICS_MAX; m++)
            n->more[first + m - 1] = weights[m];
    }
    return true;
}

/* The counters are read before the tree: a tree that is growing may be ahead of them, not
 * behind. */
static bool get_thread(struct reader *r, const struct spool_thread *s, uint32_t process)
{
    struct spool_view *v = &r->view;
    uint32_t which = s->which;
    if (which >= r->triggers) {
        v->damage++;
        which = 0;
    }
    struct profile_thread *t = add_thread(r);
    if (!t)
        return false;
    bool heap = r->tree_kind.heap && !strcmp(r->p->metrics[r->metric_of[which]].trigger, "malloc");
    struct spool_tree_kind kind = r->tree_kind;
    spool_ref *refs = NULL;
    kind.heap &= heap;
    if (r->counts.contexts && !kind.refs)
        kind.refs = &refs;
    t->process = process;
    t->life = s->life;
    t->phase = s->phase <= r->phase_limit ? r->phase_of[s->phase] : 0;
    t->tid = s->tid;
    t->name = get_name(s->name);
    t->start_ns = since_start(r, &s->start_ns);
    t->end_ns = since_start(r, &s->end_ns);
    t->cpu_ns = load(&s->cpu_ns);
    t->taken = spool_view_count(v, &s->taken);
    t->weight = spool_view_count(v, &s->weight);
    t->weight_squares = load(&s->weight_squares);
    t->guessed = spool_view_count(v, &s->guessed);
    for (unsigned i = 1; i < TRUNC_COUNT; i++)
        t->truncated[i] = spool_view_count(v, &s->truncated[i]);
    get_drops(r, t->drops, s->drops);
    t->cost_ns = ticks_to_ns(load(&s->cost_ticks), r->header->tsc_hz);
    t->deliveries = spool_view_count(v, &s->deliveries);
    t->delivered_ns = load(&s->delivered_ns);
    t->switches = spool_view_count(v, &s->switches);
    t->switched_ns = load(&s->switched_ns);
    bool ok = t->name && spool_tree_read(v, __atomic_load_n(&s->tree, __ATOMIC_ACQUIRE), kind, t);
    if (ok && r->counts.contexts)
        ok = spool_contexts_add(r->counts.contexts, r->p->thread_count - 1, *kind.refs);
    free(refs);
    if (!ok)
        return false;
    if (which)
        return put_in_place(r, t, which);
    if (tools_about(r->settings.sampling.tools).contexts)
        count_calls(t);
    return true;
}

/* Maps of images whose record cannot be reached are left out. Images are numbers for now. */
static bool get_maps(struct reader *r, struct profile_process *to, const struct record_list *maps)
{
    to->maps = calloc(maps->count ? maps->count : 1, sizeof *to->maps);
    if (!to->maps)
        return false;
    for (uint32_t i = 0; i < maps->count; i++) {
        const struct spool_map *m = maps->records[i];
        const struct spool_image *image = spool_at(&r->view.spool, m->image, sizeof *image);
        if (!image) {
            r->view.damage++;
            continue;
        }
        to->maps[to->map_count++] = (struct profile_map){
            .image = image->number,
            .epoch_first = m->epoch_first,
            .epoch_last = __atomic_load_n(&m->epoch_last, __ATOMIC_RELAXED),
            .bias = m->bias,
            .lo = m->lo,
            .hi = m->hi,
        };
    }
    return true;
}

static uint32_t process_end(uint32_t state)
{
    return state == PROCESS_EXITED    ? PROFILE_END_EXIT
           : state == PROCESS_EXECING ? PROFILE_END_EXEC
                                      : PROFILE_END_RUNNING;
}

/* Phases are in the order of their ids, outer ones first; a spool in which they are not is
 * damaged. */
static bool get_phases(struct reader *r, const struct spool_process *s)
{
    struct record_list list;
    bool ok = spool_view_list(&r->view, &s->phases, sizeof(struct spool_phase), &list);
    free(r->phase_of);
    r->phase_limit = 0;
    r->phase_of = calloc((size_t)list.count + 1, sizeof *r->phase_of);
    ok = ok && r->phase_of;
    for (uint32_t i = 0; ok && i < list.count; i++) {
        const struct spool_phase *phase = list.records[i];
        if (phase->id != i + 1 || phase->outer > i) {
            r->view.damage++;
            break;
        }
        char *name = spool_view_string(&r->view, phase->name);
        uint32_t at = name ? profile_phase_intern(r->p, name, r->phase_of[phase->outer])
                           : UINT32_MAX;
        free(name);
        ok = at != UINT32_MAX;
        if (!ok)
            break;
        r->phase_of[i + 1] = at + 1;
        r->phase_limit = i + 1;
        r->p->phases[at].begun += spool_view_count(&r->view, &phase->begun);
        r->p->phases[at].elapsed_ns += elapsed(r, s, &phase->start_ns, &phase->elapsed_ns);
    }
    free(list.records);
    return ok;
}

/* Timelines first, then trees (spool_timeline.h). */
static bool get_threads(struct reader *r, const struct spool_process *s, uint32_t process)
{
    struct record_list threads = {0};
    struct spool_timelines timelines = {0};
    uint32_t first = r->p->thread_count;
    bool ok = spool_view_list(&r->view, &s->threads, sizeof(struct spool_thread), &threads) &&
              spool_timelines_copy(&r->view, &threads, &timelines);
    for (uint32_t i = 0; ok && i < threads.count; i++) {
        r->tree_kind.refs = spool_timelines_nodes(&timelines, i);
        ok = get_thread(r, threads.records[i], process);
    }
    ok = ok && spool_timelines_put(&r->view, &timelines, r->p, first, r->metric_of, r->triggers);
    spool_timelines_free(&timelines);
    free(threads.records);
    return ok;
}

/* Of threads that are not known, by the triggers after the first: they count for the process's
 * first thread. */
static bool get_foreign(struct reader *r, const struct spool_process *s, uint32_t process)
{
    struct profile_thread *t = NULL;
    for (uint32_t i = r->p->thread_count; i-- > 0 && r->p->threads[i].process == process;)
        t = &r->p->threads[i];
    for (uint32_t k = 0; t && k + 1 < r->triggers; k++) {
        if (!t->others && !(t->others = profile_sampled_new(r->p)))
            return false;
        t->others[k].drops[DROP_FOREIGN] += spool_view_count(&r->view, &s->foreign[k]);
    }
    return true;
}

static bool get_process(struct reader *r, const struct spool_process *s,
                        struct profile_process *to)
{
    struct record_list maps = {0};
    uint32_t index = r->p->process_count++;
    to->pid = s->pid;
    to->ppid = s->ppid;
    to->name = get_name(s->name);
    to->command = spool_view_command(&r->view, s->command);
    to->start_ns = since_start(r, &s->start_ns);
    to->end_ns = since_start(r, &s->end_ns);
    to->end = process_end(__atomic_load_n(&s->state, __ATOMIC_RELAXED));
    to->epochs = __atomic_load_n(&s->epoch, __ATOMIC_RELAXED);
    to->mechanism = s->mechanism;
    to->arm_error = s->arm_error;
    to->ticking = __atomic_load_n(&s->ticking, __ATOMIC_RELAXED);
    to->unarmed = __atomic_load_n(&s->unarmed, __ATOMIC_RELAXED);
    to->exclude_kernel = s->exclude_kernel;
    to->rank = r->settings.sampling.rank;
    if (to->rank > (uint32_t)INT32_MAX + 1) {
        to->rank = 0;
        r->view.damage++;
    }
    get_drops(r, to->drops, s->drops);
    to->pauses = spool_view_count(&r->view, &s->pauses);
    to->paused_ns = elapsed(r, s, &s->pause_start_ns, &s->paused_ns);
    to->phases_refused = s->phases_refused;
    to->sandboxed = spool_sandbox_hides(s);
    if (to->sandboxed) {
        to->sandbox_threads = __atomic_load_n(&s->sandbox_threads, __ATOMIC_RELAXED);
        to->sandbox_processes = __atomic_load_n(&s->sandbox_processes, __ATOMIC_RELAXED);
        to->sandbox_silenced = __atomic_load_n(&s->sandbox_silenced, __ATOMIC_RELAXED);
        for (unsigned i = 0; i < LEFT_COUNT; i++)
            r->p->left.left_out[i] += __atomic_load_n(&s->left_out[i], __ATOMIC_RELAXED);
    }
    r->tree_kind = (struct spool_tree_kind){.heap = profile_metric_of_heap(r->p) != UINT32_MAX,
                                            .peak_id = load(&s->heap.peak_id)};
    if (r->tree_kind.heap) {
        to->heap_peak_ns = since_start(r, &s->heap.peak_ns);
        to->heap_missed = spool_view_count(&r->view, &s->heap.missed);
        to->heap_mapped = load(&s->heap.mapped);
        to->heap_mappings = load(&s->heap.mappings);
        to->heap_grown = load(&s->heap.grown);
    }
    bool ok = to->name && to->command && get_phases(r, s) &&
              spool_view_list(&r->view, &s->maps, sizeof(struct spool_map), &maps) &&
              get_maps(r, to, &maps) && get_threads(r, s, index) && get_foreign(r, s, index);
    if (ok && observed_code(r->p))
        ok = spool_counts_read(&r->counts, __atomic_load_n(&s->counts, __ATOMIC_ACQUIRE), to, index,
                               r->p);
    if (ok && observed_shadows(r->p))
        ok = spool_shadows_read(&r->view, __atomic_load_n(&s->shadows, __ATOMIC_ACQUIRE),
                                r->header->tsc_hz, observed_shadows(r->p));
    free(maps.records);
    return ok;
}

/* With the processes, which hotlists refer to. Results, which no module saw, are there already. */
static bool get_values(struct reader *r, const struct record_list *list)
{
    struct profile_values *values = NULL;
    if (observed_values(r->p))
        return true;
    spool_ref *refs = calloc(list->count ? list->count : 1, sizeof *refs);
    if (!refs)
        return false;
    for (uint32_t i = 0; i < list->count; i++)
        refs[i] = spool_ref_of(&r->view.spool, list->records[i]);
    struct spool_value_processes processes = {refs, list->count};
    bool ok = spool_values_read(&r->view, &processes, &values);
    free(refs);
    if (ok && values && r->settings.sampling.carrier != CARRIER_EXACT)
        values->every = r->settings.burst.every ? r->settings.burst.every : 1;
    if (values)
        profile_observe(r->p, OBSERVED_VALUES, values);
    return ok;
}

/* ---- CPU time across exec ---- */

struct image_start {
    uint32_t process;
    int32_t pid;
    uint64_t start_ns;
    uint64_t former_ns; /* what its first thread had used when it executed this program */
    struct profile_thread *first;
};

static int compare_starts(const void *a, const void *b)
{
    const struct image_start *x = a, *y = b;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static int compare_places(const void *a, const void *b)
{
    const struct image_start *x = a, *y = b;
    return (x->process > y->process) - (x->process < y->process);
}

static void find_first_threads(struct profile *p, struct image_start *by_process)
{
    for (uint32_t i = 0; i < p->thread_count; i++) {
        struct profile_thread *t = &p->threads[i], **first = &by_process[t->process].first;
        if (t->tid == p->processes[t->process].pid && (!*first || t->start_ns < (*first)->start_ns))
            *first = t;
    }
}

/* The first image of the process with this number; NULL: there is none. */
static struct image_start *first_image(struct image_start *by_pid, uint32_t count, int32_t pid)
{
    uint32_t low = ARRAY_LEADING(count, i, by_pid[i].pid < pid);
    return low < count && by_pid[low].pid == pid ? &by_pid[low] : NULL;
}

/* What ran between vfork and exec is the parent's. */
static bool find_vforked(struct reader *r, const struct spool_process *parent,
                         struct image_start *by_pid, uint32_t count)
{
    struct record_list left;
    if (!spool_view_list(&r->view, &parent->left, sizeof(struct spool_left), &left))
        return false;
    for (uint32_t i = 0; i < left.count; i++) {
        const struct spool_left *one = left.records[i];
        struct image_start *image = first_image(by_pid, count, one->pid);
        if (image && r->p->processes[image->process].ppid == parent->pid &&
            load(&one->cpu_ns) > image->former_ns)
            image->former_ns = load(&one->cpu_ns);
    }
    free(left.records);
    return true;
}

/* A thread's clock goes on when it executes another program: what it had used is the former
 * one's. */
static bool divide_cpu_time(struct reader *r, const struct record_list *list)
{
    struct image_start *starts = calloc((size_t)list->count + 1, sizeof *starts);
    if (!starts)
        return false;
    const struct profile_process *p = r->p->processes;
    for (uint32_t i = 0; i < list->count; i++)
        starts[i] = (struct image_start){.process = i, .pid = p[i].pid, .start_ns = p[i].start_ns};
    qsort(starts, list->count, sizeof *starts, compare_starts);
    for (uint32_t i = 1; i < list->count; i++) {
        uint32_t before = starts[i - 1].process;
        const struct spool_process *record = list->records[before];
        if (starts[i - 1].pid == starts[i].pid && p[before].end == PROFILE_END_EXEC)
            starts[i].former_ns = load(&record->exec_cpu_ns);
    }
    for (uint32_t i = 0; i < list->count; i++)
        if (!find_vforked(r, list->records[i], starts, list->count)) {
            free(starts);
            return false;
        }
    qsort(starts, list->count, sizeof *starts, compare_places);
    find_first_threads(r->p, starts);
    for (uint32_t i = 0; i < list->count; i++) {
        const struct spool_process *record = list->records[i];
        uint64_t former = starts[i].former_ns, armed = load(&record->armed_cpu_ns);
        struct profile_thread *t = starts[i].first;
        if (t)
            t->cpu_ns -= t->cpu_ns < former ? t->cpu_ns : former;
        r->p->processes[i].early_cpu_ns = armed > former ? armed - former : 0;
    }
    free(starts);
    return true;
}

static bool get_processes(struct reader *r)
{
    struct record_list list;
    bool ok = spool_view_list(&r->view, &r->header->processes, sizeof(struct spool_process), &list);
    if (ok)
        r->p->processes = calloc(list.count ? list.count : 1, sizeof *r->p->processes);
    ok = ok && r->p->processes;
    for (uint32_t i = 0; ok && i < list.count; i++)
        ok = get_process(r, list.records[i], &r->p->processes[i]);
    ok = ok && (r->triggers == 1 || profile_join_threads(r->p, NULL)) &&
         divide_cpu_time(r, &list) && get_values(r, &list);
    free(list.records);
    return ok;
}

/* ---- images ---- */

static bool same_image(const struct profile_image *a, const struct profile_image *b)
{
    return a->build_id_size == b->build_id_size &&
           memcmp(a->build_id, b->build_id, a->build_id_size) == 0 &&
           a->file_size == b->file_size && a->mtime_ns == b->mtime_ns &&
           strcmp(a->path, b->path) == 0;
}

/* The index of an image like `image`; adds it (and takes its path) if there is none. */
static uint32_t add_image(struct profile *p, struct profile_image *image)
{
    for (uint32_t i = 0; i < p->image_count; i++)
        if (same_image(&p->images[i], image)) {
            p->images[i].flags |= image->flags;
            free(image->path);
            return i;
        }
    p->images[p->image_count] = *image;
    return p->image_count++;
}

static bool get_image(struct reader *r, const struct spool_image *s)
{
    uint32_t number = s->number;
    if (number == 0 || number > KEY_IMAGE_MAX || r->index_of[number] != UINT32_MAX ||
        s->build_id_size > PROFILE_BUILD_ID_MAX) {
        r->view.damage++;
        return true;
    }
    struct profile_image image = {.path = spool_view_string(&r->view, s->path),
                                  .build_id_size = s->build_id_size,
                                  .flags = s->flags,
                                  .file_size = s->file_size,
                                  .mtime_ns = s->mtime_ns,
                                  .first_vaddr = s->first_vaddr,
                                  .last_vaddr = s->last_vaddr};
    if (!image.path)
        return false;
    /* Scribbled on between the check and here, it must still fit. */
    if (image.build_id_size > PROFILE_BUILD_ID_MAX)
        image.build_id_size = 0;
    memcpy(image.build_id, s->build_id, image.build_id_size);
    r->index_of[number] = add_image(r->p, &image);
    return true;
}

enum { INDEX_OF_SIZE = (KEY_IMAGE_MAX + 1) * sizeof(uint32_t) };

/* Read last, so that every image of a tree or a map that was seen is there. */
static bool get_images(struct reader *r)
{
    struct record_list list;
    bool ok = spool_view_list(&r->view, &r->header->images, sizeof(struct spool_image), &list);
    if (ok)
        r->p->images = calloc(list.count ? list.count : 1, sizeof *r->p->images);
    ok = ok && r->p->images;
    memset(r->index_of, 0xff, INDEX_OF_SIZE);
    for (uint32_t i = 0; ok && i < list.count; i++)
        ok = get_image(r, list.records[i]);
    free(list.records);
    return ok;
}

static uint32_t image_index(const struct reader *r, uint32_t number)
{
    return number <= KEY_IMAGE_MAX ? r->index_of[number] : UINT32_MAX;
}

static uint32_t resolve(struct reader *r, uint32_t number)
{
    uint32_t index = number == PROFILE_IMAGE_NONE ? number : image_index(r, number);
    if (index != number && index == PROFILE_IMAGE_NONE)
        r->view.damage++;
    return index;
}

static bool resolve_site(void *data, const struct profile_site *site)
{
    for (uint32_t i = 0; i < site->count; i++)
        *site->of[i].image = resolve(data, *site->of[i].image);
    return true;
}

/* Values name images in other ways, too (spool_values_resolve). */
static bool resolve_observations(struct reader *r)
{
    const struct observations *all = &r->p->observations;
    struct profile_values *values = observed_values(r->p);
    for (uint32_t i = 0; i < all->count; i++)
        if (all->list[i].kind != OBSERVED_VALUES)
            profile_sites_of(&all->list[i], resolve_site, r);
    bool ok = (!observed_code(r->p) || profile_counts_settle(r->p)) &&
              (!values || spool_values_resolve(&r->view, values, r->index_of));
    profile_observations_judge(r->p);
    return ok;
}

/* From image numbers to indices. A frame of an unknown image keeps its offset, in no image. */
static void resolve_images(struct reader *r)
{
    struct profile *p = r->p;
    for (uint32_t i = 0; i < p->process_count; i++) {
        struct profile_process *process = &p->processes[i];
        uint32_t kept = 0;
        for (uint32_t k = 0; k < process->map_count; k++) {
            uint32_t index = image_index(r, process->maps[k].image);
            if (index == UINT32_MAX) {
                r->view.damage++;
                continue;
            }
            process->maps[kept] = process->maps[k];
            process->maps[kept++].image = index;
        }
        process->map_count = kept;
    }
    for (uint32_t i = 0; i < p->thread_count; i++)
        for (uint32_t k = 0; k < p->threads[i].node_count; k++) {
            struct profile_node *n = &p->threads[i].nodes[k];
            if (n->image >= PROFILE_IMAGE_PSEUDO)
                continue;
            n->image = image_index(r, n->image);
            if (n->image == UINT32_MAX)
                r->view.damage++;
        }
}
_Static_assert(PROFILE_IMAGE_NONE == UINT32_MAX, "an unknown image resolves to none");

struct profile *profile_from_spool(const struct spool *s, uint64_t *damage, struct err *e)
{
    uint32_t *index_of = malloc(INDEX_OF_SIZE);
    struct reader r = {.index_of = index_of};
    bool ok = false;
    if (damage)
        *damage = 0;
    if (!spool_view_open(&r.view, s, e)) {
        free(index_of);
        return NULL;
    }
    r.header = spool_header(s);
    r.p = profile_new();
    if (r.p && index_of && get_header(&r) && get_processes(&r) && get_images(&r)) {
        resolve_images(&r);
        ok = resolve_observations(&r) &&
             (!settings_look_outside(&r.settings.sampling) || profile_join_threads(r.p, e));
    }
    if (!ok) {
        err_set(e, ERR_INTERNAL, "out of memory while the spool was read");
        profile_free(r.p);
    }
    if (damage)
        *damage = r.view.damage;
    free(index_of);
    free(r.phase_of);
    spool_contexts_free(&r.contexts);
    spool_counts_close(&r.counts);
    spool_view_close(&r.view);
    return ok ? r.p : NULL;
}

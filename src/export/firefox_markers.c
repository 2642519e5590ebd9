#include "export/firefox_markers.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/array.h"
#include "export/stack.h"
#include "profile/phases.h"

enum { INSTANT = 0, INTERVAL = 1 }; /* phase of a marker, in the format's words */

struct marker {
    uint64_t from_ns, to_ns; /* equal: it has no duration */
    uint32_t name;           /* of the strings */
    const char *type;        /* of the schema */
    struct buf detail;       /* text */
};

struct markers {
    struct marker *list;
    size_t count, capacity;
    struct firefox_tables *tables;
    struct marker nowhere; /* without memory */
    bool failed;
};

/* ---- the schema ---- */

static void put_schema(struct json *j, const char *type, const char *label)
{
    json_open(j, '{');
    json_key_string(j, "name", type);
    json_key_string(j, "tooltipLabel", label);
    json_key_string(j, "tableLabel", "{marker.data.detail}");
    json_key_string(j, "chartLabel", "{marker.name}");
    json_key(j, "display");
    json_open(j, '[');
    json_string(j, "marker-chart");
    json_string(j, "marker-table");
    json_string(j, "timeline-overview");
    json_close(j, ']');
    json_key(j, "fields");
    json_open(j, '[');
    json_open(j, '{');
    json_key_string(j, "key", "detail");
    json_key_string(j, "label", "Detail");
    json_key_string(j, "format", "string");
    json_close(j, '}');
    json_close(j, ']');
    json_close(j, '}');
}

void firefox_put_marker_schema(struct json *j)
{
    json_key(j, "markerSchema");
    json_open(j, '[');
    put_schema(j, "Phase", "Phase {marker.name}");
    put_schema(j, "Process", "{marker.name}");
    put_schema(j, "Dropped", "{marker.name}");
    json_close(j, ']');
}

/* ---- what there is ---- */

static struct marker *add(struct markers *m, const char *type, const char *name, uint64_t from_ns,
                          uint64_t to_ns)
{
    if (!ARRAY_ROOM(m->list, m->count, m->capacity)) {
        m->failed = true;
        return &m->nowhere;
    }
    m->list[m->count] = (struct marker){.from_ns = from_ns, .to_ns = to_ns, .type = type,
                                        .name = intern_add_string(&m->tables->strings, name)};
    return &m->list[m->count++];
}

/* A phase lasts as long as one bin with samples of it follows the other. */
static void add_phase(struct markers *to, uint32_t thread, uint32_t phase,
                      const struct moments *m)
{
    char *path = profile_phase_path(to->tables->profile, phase);
    if (!path) {
        to->failed = true;
        return;
    }
    struct marker *open = NULL;
    for (size_t i = 0; i < m->count; i++) {
        const struct moment *one = &m->list[i];
        if (one->thread != thread)
            continue;
        if (!open || one->from_ns > open->to_ns) {
            open = add(to, "Phase", path, one->from_ns, one->to_ns);
            buf_puts(&open->detail, "as far as bins with samples tell");
        }
        if (one->to_ns > open->to_ns)
            open->to_ns = one->to_ns;
    }
    free(path);
}

static void add_end(struct markers *to, const struct profile_process *process)
{
    static const char *const names[] = {
        [PROFILE_END_EXEC] = "exec", [PROFILE_END_EXIT] = "exit", [PROFILE_END_KILLED] = "killed"};
    if (process->end == PROFILE_END_RUNNING || process->end >= sizeof names / sizeof *names)
        return;
    struct marker *m = add(to, "Process", names[process->end], process->end_ns, process->end_ns);
    buf_printf(&m->detail, "%s, process %" PRId32, process->name, process->pid);
}

/* Of the main thread: the process's children, and its end. */
static void add_process(struct markers *to, const struct profile_process *process)
{
    const struct profile *p = to->tables->profile;
    for (uint32_t i = 0; i < p->process_count; i++) {
        const struct profile_process *child = &p->processes[i];
        if (child->ppid != process->pid || child->pid == process->pid ||
            child->start_ns < process->start_ns ||
            (process->end_ns && child->start_ns > process->end_ns))
            continue;
        struct marker *m = add(to, "Process", "fork", child->start_ns, child->start_ns);
        buf_printf(&m->detail, "%s, process %" PRId32, child->name, child->pid);
    }
    add_end(to, process);
}

static void add_dropped(struct markers *to, const struct profile_thread *t)
{
    for (unsigned i = 0; i < DROP_COUNT; i++) {
        if (!t->drops[i])
            continue;
        struct marker *m = add(to, "Dropped", "dropped samples", t->start_ns, t->end_ns);
        buf_printf(&m->detail, "%" PRIu64 ", some time in the thread's life: %s", t->drops[i],
                   profile_drop_sentence(i));
    }
}

/* ---- the table ---- */

static void column(struct json *j, const char *name)
{
    json_key(j, name);
    json_open(j, '[');
}

static void put_data(struct json *j, struct markers *m)
{
    column(j, "data");
    for (size_t i = 0; i < m->count; i++) {
        struct marker *one = &m->list[i];
        buf_put_u8(&one->detail, 0);
        m->failed |= !buf_ok(&one->detail);
        json_open(j, '{');
        json_key_string(j, "type", one->type);
        json_key_string(j, "detail", buf_ok(&one->detail) ? (char *)one->detail.data : "");
        json_close(j, '}');
        buf_free(&one->detail);
    }
    json_close(j, ']');
}

static void put_times(struct json *j, const struct markers *m)
{
    column(j, "startTime");
    for (size_t i = 0; i < m->count; i++)
        json_millionths(j, m->list[i].from_ns);
    json_close(j, ']');
    column(j, "endTime");
    for (size_t i = 0; i < m->count; i++) {
        if (m->list[i].to_ns > m->list[i].from_ns)
            json_millionths(j, m->list[i].to_ns);
        else
            json_null(j);
    }
    json_close(j, ']');
    column(j, "phase");
    for (size_t i = 0; i < m->count; i++)
        json_u64(j, m->list[i].to_ns > m->list[i].from_ns ? INTERVAL : INSTANT);
    json_close(j, ']');
}

static void put_table(struct json *j, struct markers *m)
{
    json_key(j, "markers");
    json_open(j, '{');
    json_key_u64(j, "length", m->count);
    column(j, "name");
    for (size_t i = 0; i < m->count; i++)
        json_u64(j, m->list[i].name);
    json_close(j, ']');
    column(j, "category");
    for (size_t i = 0; i < m->count; i++)
        json_u64(j, FIREFOX_OTHER);
    json_close(j, ']');
    put_data(j, m);
    put_times(j, m);
    json_close(j, '}');
}

void firefox_put_no_markers(struct json *j)
{
    put_table(j, &(struct markers){0});
}

bool firefox_put_markers(struct json *j, struct firefox_tables *t, const struct lanes *l,
                         uint32_t lane, const struct moments *m)
{
    struct markers markers = {.tables = t};
    const struct profile_thread *first = &t->profile->threads[l->first[lane]];
    const struct profile_process *process = stack_process(t->profile, first);
    for (uint32_t i = l->first[lane]; i != LANE_END; i = l->next[i]) {
        const struct profile_thread *thread = &t->profile->threads[i];
        if (thread->phase)
            add_phase(&markers, i, thread->phase - 1, m);
        add_dropped(&markers, thread);
    }
    if (process && process->pid == first->tid)
        add_process(&markers, process);
    put_table(j, &markers);
    free(markers.list);
    buf_free(&markers.nowhere.detail);
    return !markers.failed;
}

#include "report/marks.h"

#include <inttypes.h>
#include <stdlib.h>

const char *mark_name(enum mark_kind kind)
{
    static const char *const names[MARK_KINDS] = {
        [MARK_FORK] = "fork", [MARK_EXEC] = "exec", [MARK_EXIT] = "exit", [MARK_KILLED] = "killed"};
    return names[kind];
}

static void add(struct marks *m, uint64_t ns, enum mark_kind kind, uint32_t process)
{
    m->list[m->count++] = (struct mark){ns, kind, process};
}

/* executed: it went on in a process that had executed another program before. */
static void add_process(struct marks *m, const struct profile *p, uint32_t process, bool executed)
{
    static const enum mark_kind ends[] = {
        [PROFILE_END_EXEC] = MARK_EXEC, [PROFILE_END_EXIT] = MARK_EXIT,
        [PROFILE_END_KILLED] = MARK_KILLED};
    const struct profile_process *r = &p->processes[process];
    if (process && !executed)
        add(m, r->start_ns, MARK_FORK, process);
    if (r->end > PROFILE_END_RUNNING && r->end <= PROFILE_END_KILLED)
        add(m, r->end_ns, ends[r->end], process);
}

static int compare_marks(const void *a, const void *b)
{
    const struct mark *x = a, *y = b;
    if (x->ns != y->ns)
        return x->ns < y->ns ? -1 : 1;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    return (x->kind > y->kind) - (x->kind < y->kind);
}

static int compare_processes(const void *a, const void *b, void *processes)
{
    const struct profile_process *list = processes;
    uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    if (list[i].pid != list[k].pid)
        return list[i].pid < list[k].pid ? -1 : 1;
    return (i > k) - (i < k);
}

/* By pid: programs that one process executed follow each other. */
static void add_processes(struct marks *m, const struct profile *p, uint32_t *order)
{
    const struct profile_process *before = NULL;
    for (uint32_t i = 0; i < p->process_count; i++)
        order[i] = i;
    if (p->process_count)
        qsort_r(order, p->process_count, sizeof *order, compare_processes, p->processes);
    for (uint32_t i = 0; i < p->process_count; i++) {
        const struct profile_process *r = &p->processes[order[i]];
        add_process(m, p, order[i],
                    before && before->pid == r->pid && before->end == PROFILE_END_EXEC);
        before = r;
    }
}

bool marks_make(struct marks *m, const struct profile *p)
{
    uint32_t *order = calloc(p->process_count + 1u, sizeof *order);
    *m = (struct marks){.list = calloc(2 * (size_t)p->process_count + 1, sizeof *m->list)};
    bool ok = order && m->list;
    if (ok)
        add_processes(m, p, order);
    if (m->count)
        qsort(m->list, m->count, sizeof *m->list, compare_marks);
    free(order);
    if (!ok)
        marks_free(m);
    return ok;
}

void marks_free(struct marks *m)
{
    free(m->list);
    *m = (struct marks){0};
}

void mark_text(const struct mark *mark, const struct profile *p, struct buf *out)
{
    static const char *const what[MARK_KINDS] = {[MARK_FORK] = "began, of",
                                                 [MARK_EXEC] = "executed another program",
                                                 [MARK_EXIT] = "ended",
                                                 [MARK_KILLED] = "was killed"};
    const struct profile_process *r = &p->processes[mark->process];
    buf_printf(out, "%s %" PRId32 " %s", r->name, r->pid, what[mark->kind]);
    if (mark->kind == MARK_FORK)
        buf_printf(out, " %" PRId32, r->ppid);
}

bool marks_json(struct json *j, const struct profile *p)
{
    struct marks m;
    if (!marks_make(&m, p))
        return false;
    bool ok = true;
    json_key(j, "marks");
    json_open(j, '[');
    for (uint32_t i = 0; ok && i < m.count && i < MARKS_MOST; i++) {
        struct buf text = {0};
        mark_text(&m.list[i], p, &text);
        buf_put_u8(&text, 0);
        json_open(j, '{');
        json_key_u64(j, "ns", m.list[i].ns);
        json_key_string(j, "kind", mark_name(m.list[i].kind));
        json_key_string(j, "text", buf_ok(&text) ? (const char *)text.data : "");
        json_close(j, '}');
        ok = buf_ok(&text);
        buf_free(&text);
    }
    json_close(j, ']');
    if (m.count > MARKS_MOST)
        json_key_u64(j, "marks_left_out", m.count - MARKS_MOST);
    marks_free(&m);
    return ok;
}

/* Transfers of edges. An edge that leads into the binary enters a run (report/runs.h). What is
 * executed behind a system call, or was entered without an edge, is what is missing where edges
 * leave, as in report/from_edges.h. */
#include <stdlib.h>

#include "base/saturate.h"
#include "export/transfers_internal.h"

struct runs {
    struct transfers *t;
    const struct binary *b;
    struct transfer_range *entries; /* of each edge; `last` is found later */
    uint32_t entry_count;
    struct points to, from, behind;
};

static void add_edge(struct runs *r, const struct profile_edge *edge)
{
    bool here = binary_has(r->b, edge->from_image), there = binary_has(r->b, edge->to_image);
    struct transfer_insn insn = { .kind = X86_ORDINARY };
    struct transfer_range entry = { .start = edge->to, .count = edge->count };
    if (here && !transfers_insn(r->b, edge->from, &insn)) {
        r->t->unread = add_saturated(r->t->unread, edge->count);
        return;
    }
    if (here)
        points_add(&r->from, 0, edge->from, edge->count);
    if (here && there && insn.conditional && edge->to == insn.next) {
        entry.entry = ENTERED_BY_FALLING;
        entry.before = edge->from;
    } else {
        transfers_branch(r->t, here ? edge->from : TRANSFER_OUTSIDE,
                         there ? edge->to : TRANSFER_OUTSIDE, edge->count);
        if (here ? insn.kind == X86_RET : transfers_is_behind_call(r->b, edge->to))
            entry.entry = ENTERED_BY_RETURN;
    }
    if (!there)
        return;
    points_add(&r->to, 0, edge->to, edge->count);
    r->entries[r->entry_count++] = entry;
}

static void find_runs(struct runs *r, struct points *points, bool late)
{
    points_settle(points);
    for (uint32_t i = points->count; i-- > 0;)
        points_run(points, i, r->b->code, late);
}

/* `count` executions of a run from `start`. */
static void add_range(struct runs *r, const struct transfer_range *entry, const struct run *run)
{
    struct transfer_range range = *entry;
    struct point *from = points_find(&r->from, 0, run->last);
    range.last = run->last;
    if (from)
        from->in = add_saturated(from->in, range.count);
    transfers_range(r->t, &range);
}

static void add_entered(struct runs *r)
{
    for (uint32_t i = 0; i < r->entry_count; i++) {
        const struct point *to = points_find(&r->to, 0, r->entries[i].start);
        if (to->run.bytes)
            add_range(r, &r->entries[i], &to->run);
        else
            r->t->unread = add_saturated(r->t->unread, r->entries[i].count);
    }
    for (uint32_t i = 0; i < r->to.count; i++)
        if (r->to.list[i].run.system)
            points_add(&r->behind, 0, r->to.list[i].address + r->to.list[i].run.bytes, 0);
}

/* How often the instruction was executed that is in no range. */
static uint64_t missing(const struct point *from)
{
    return from && from->count > from->in ? from->count - from->in : 0;
}

static void add_behind_system_calls(struct runs *r)
{
    find_runs(r, &r->behind, true);
    for (uint32_t i = 0; i < r->behind.count; i++) {
        const struct point *at = &r->behind.list[i];
        const struct transfer_range range = {
            .start = at->address, .count = missing(points_find(&r->from, 0, at->run.last))};
        if (at->run.bytes)
            add_range(r, &range, &at->run);
    }
}

/* Of a whole run. In a sample, the missing are those that a burst began in the middle of. */
static void add_entered_without_edge(struct runs *r)
{
    for (uint32_t i = 0; i < r->from.count; i++) {
        struct point *from = &r->from.list[i];
        struct code_function f;
        if (!missing(from) || !code_function(r->b->code, from->address, &f))
            continue;
        const struct transfer_range range = {.start = f.start, .count = missing(from)};
        struct run run = run_from(r->b->code, f.start, true);
        if (run.bytes && run.last == from->address)
            add_range(r, &range, &run);
    }
}

void transfers_of_edges(struct transfers *t, const struct binary *b)
{
    const struct profile_counts *c = observed_code(b->profile);
    struct runs r = { .t = t, .b = b };
    size_t edges = c->edge_count;
    r.entries = calloc(edges, sizeof *r.entries);
    r.to.list = calloc(edges, sizeof *r.to.list);
    r.from.list = calloc(edges, sizeof *r.from.list);
    r.behind.list = calloc(edges, sizeof *r.behind.list);
    if (r.entries && r.to.list && r.from.list && r.behind.list) {
        for (uint32_t i = 0; i < c->edge_count; i++)
            if (binary_has(b, c->edges[i].from_image) || binary_has(b, c->edges[i].to_image))
                add_edge(&r, &c->edges[i]);
        points_settle(&r.from);
        find_runs(&r, &r.to, false);
        add_entered(&r);
        add_behind_system_calls(&r);
        if (profile_is_exact(b->profile))
            add_entered_without_edge(&r);
    } else {
        t->failed = true;
    }
    free(r.entries);
    free(r.to.list);
    free(r.from.list);
    free(r.behind.list);
}

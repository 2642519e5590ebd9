#include "report/from_edges.h"

#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"
#include "report/runs.h"
#include "sigsafe/tools.h"
#include "symbols/code.h"

struct deriver {
    struct profile *p;
    struct symbols_options options;
    struct code **codes; /* by image; NULL: it cannot be read */
    bool *tried;
    struct points to, from, behind;
};

static struct code *code_of(struct deriver *d, uint32_t image)
{
    struct err ignored = { 0 };
    if (image >= d->p->image_count)
        return NULL;
    if (!d->tried[image])
        d->codes[image] = code_open(&d->p->images[image], &d->options, &ignored);
    d->tried[image] = true;
    return d->codes[image];
}

static struct point *find_from(struct deriver *d, uint32_t image, uint64_t address)
{
    return points_find(&d->from, image, address);
}

static void find_runs(struct deriver *d, struct points *points, bool late)
{
    for (uint32_t i = points->count; i-- > 0;)
        points_run(points, i, code_of(d, points->list[i].image), late);
}

static bool is_own(const struct profile *p, uint32_t image)
{
    return image < p->image_count && p->images[image].flags & PROFILE_IMAGE_RUNTIME;
}

/* The profiler's own code is not the program's: it is in edges only so that what they make of the
 * program's is whole. */
static void drop_own(struct profile *p)
{
    struct profile_counts *c = observed_code(p);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < c->edge_count; i++)
        if (!is_own(p, c->edges[i].from_image) && !is_own(p, c->edges[i].to_image))
            c->edges[kept++] = c->edges[i];
    c->edge_count = kept;
}

static void add_block(struct deriver *d, uint32_t image, uint64_t start, const struct run *run,
                      uint64_t count)
{
    struct profile_counts *c = observed_code(d->p);
    struct point *from = find_from(d, image, run->last);
    if (from)
        from->in = add_saturated(from->in, count);
    if (!count || is_own(d->p, image))
        return;
    c->blocks[c->block_count++] = (struct profile_block){.image = image,
                                                         .offset = start,
                                                         .bytes = run->bytes,
                                                         .instructions = run->instructions,
                                                         .count = count};
    c->instructions = add_saturated(c->instructions, multiply_saturated(count, run->instructions));
}

/* How often the last instruction was executed that is in no block. */
static uint64_t missing(const struct point *from)
{
    return from && from->count > from->in ? from->count - from->in : 0;
}

static void add_entered(struct deriver *d)
{
    struct profile_counts *c = observed_code(d->p);
    find_runs(d, &d->to, false);
    for (uint32_t i = 0; i < d->to.count; i++) {
        const struct point *to = &d->to.list[i];
        if (!to->run.bytes) {
            c->unread = add_saturated(c->unread, to->count);
            continue;
        }
        add_block(d, to->image, to->address, &to->run, to->count);
        if (to->run.system)
            points_add(&d->behind, to->image, to->address + to->run.bytes, 0);
    }
}

static void add_behind_system_calls(struct deriver *d)
{
    points_settle(&d->behind);
    find_runs(d, &d->behind, true);
    for (uint32_t i = 0; i < d->behind.count; i++) {
        const struct point *at = &d->behind.list[i];
        if (at->run.bytes)
            add_block(d, at->image, at->address, &at->run,
                      missing(find_from(d, at->image, at->run.last)));
    }
}

static void add_entered_without_edge(struct deriver *d)
{
    for (uint32_t i = 0; i < d->from.count; i++) {
        const struct point *from = &d->from.list[i];
        struct code *code = missing(from) ? code_of(d, from->image) : NULL;
        struct code_function f;
        if (!code)
            continue;
        if (!code_function(code, from->address, &f))
            f.start = from->address;
        struct run run = run_from(code, f.start, true);
        if (run.last != from->address) {
            f.start = from->address;
            run = run_from(code, f.start, true);
        }
        if (run.bytes)
            add_block(d, from->image, f.start, &run, missing(from));
    }
}

static bool make(struct deriver *d)
{
    struct profile_counts *c = observed_code(d->p);
    size_t images = (size_t)d->p->image_count + 1, edges = c->edge_count;
    d->codes = calloc(images, sizeof *d->codes);
    d->tried = calloc(images, sizeof *d->tried);
    d->to.list = calloc(edges, sizeof *d->to.list);
    d->from.list = calloc(edges, sizeof *d->from.list);
    d->behind.list = calloc(edges, sizeof *d->behind.list);
    struct profile_block *blocks = calloc(3 * edges, sizeof *blocks);
    if (!d->codes || !d->tried || !d->to.list || !d->from.list || !d->behind.list || !blocks) {
        free(blocks);
        return false;
    }
    free(c->blocks);
    c->blocks = blocks;
    c->from_edges = true;
    for (uint32_t i = 0; i < c->edge_count; i++) {
        const struct profile_edge *edge = &c->edges[i];
        points_add(&d->to, edge->to_image, edge->to, edge->count);
        points_add(&d->from, edge->from_image, edge->from, edge->count);
    }
    points_settle(&d->to);
    points_settle(&d->from);
    add_entered(d);
    add_behind_system_calls(d);
    add_entered_without_edge(d);
    drop_own(d->p);
    return profile_counts_settle(d->p);
}

bool blocks_from_edges(struct profile *p, const struct symbols_options *options, struct err *e)
{
    const struct profile_counts *c = observed_code(p);
    if (!c || !c->edge_count)
        return true;
    if (c->block_count || !profile_is_exact(p) || !tools_about(c->tools).transfers) {
        drop_own(p);
        return true;
    }
    struct deriver d = { .p = p, .options = *options };
    d.options.detail = SYMBOLS_QUICK;
    bool ok = make(&d);
    for (uint32_t i = 0; d.codes && i < p->image_count; i++)
        if (d.codes[i])
            code_close(d.codes[i]);
    free(d.codes);
    free(d.tried);
    free(d.to.list);
    free(d.from.list);
    free(d.behind.list);
    return ok || err_set(e, ERR_INTERNAL, "cannot make blocks of edges: out of memory");
}

#include "profile/counts.h"

#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"
#include "base/sort.h"
#include "profile/frames.h"
#include "profile/profile.h"
#include "profile/table/table.h"
#include "sigsafe/tools.h"

#define REASON_NAME(id, name, sentence) [id] = {name, sentence},

struct reason {
    const char *name, *sentence;
};

static const struct reason stops[STOP_COUNT] = {STOP_REASONS(REASON_NAME)};
static const struct reason classes[CLASS_COUNT] = {INSTRUCTION_CLASSES(REASON_NAME)};

const char *profile_stop_name(unsigned stop)
{
    return stop < STOP_COUNT ? stops[stop].name : "?";
}

const char *profile_stop_sentence(unsigned stop)
{
    return stop < STOP_COUNT ? stops[stop].sentence : "?";
}

const char *profile_class_name(unsigned instruction_class)
{
    return instruction_class < CLASS_COUNT ? classes[instruction_class].name : "?";
}

const char *profile_class_sentence(unsigned instruction_class)
{
    return instruction_class < CLASS_COUNT ? classes[instruction_class].sentence : "?";
}

const char *profile_carrier_name(unsigned carrier)
{
#define CARRIER_NAME(id, name) [id] = #name,
    static const char *const names[CARRIER_KIND_COUNT] = {CARRIER_KINDS(CARRIER_NAME)};
#undef CARRIER_NAME
    return carrier < CARRIER_KIND_COUNT ? names[carrier] : NULL;
}

struct profile_counts *profile_counts_new(const char *carrier, const char *tool)
{
    struct profile_counts *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->carrier = strdup(carrier);
    c->tool = strdup(tool);
    c->tools = tools_of_names(tool);
    if (c->carrier && c->tool)
        return c;
    profile_counts_free(c);
    return NULL;
}

void profile_counts_free(struct profile_counts *c)
{
    if (!c)
        return;
    free(c->carrier);
    free(c->tool);
    free(c->blocks);
    free(c->edges);
    free(c);
}

/* The order of images in files: no image first (frames.h). */
static uint32_t rank(uint32_t image)
{
    return image + FRAME_IMAGE_FIRST;
}

#define ORDER(x, y)                                                                                \
    if ((x) != (y))                                                                                \
    return (x) < (y) ? -1 : 1

static int compare_blocks(const void *a, const void *b)
{
    const struct profile_block *x = a, *y = b;
    ORDER(rank(x->image), rank(y->image));
    ORDER(x->process, y->process);
    ORDER(x->offset, y->offset);
    ORDER(x->bytes, y->bytes);
    ORDER(x->instructions, y->instructions);
    return 0;
}

static int compare_edges(const void *a, const void *b)
{
    const struct profile_edge *x = a, *y = b;
    ORDER(rank(x->from_image), rank(y->from_image));
    ORDER(rank(x->to_image), rank(y->to_image));
    ORDER(x->process, y->process);
    ORDER(x->from, y->from);
    ORDER(x->to, y->to);
    return 0;
}

struct numbered_block {
    struct profile_block block; /* first: compared as such */
    uint32_t index;
};

/* new_index[i]: where block i is afterwards. */
static bool settle_blocks(struct profile_counts *c, uint32_t *new_index)
{
    struct numbered_block *list = calloc((size_t)c->block_count + 1, sizeof *list);
    uint32_t kept = 0;
    if (!list)
        return false;
    for (uint32_t i = 0; i < c->block_count; i++) {
        list[i] = (struct numbered_block){c->blocks[i], i};
        if (!profile_is_private(list[i].block.image, list[i].block.offset))
            list[i].block.process = 0;
    }
    sort_runs(list, c->block_count, sizeof *list, compare_blocks);
    for (uint32_t i = 0; i < c->block_count; i++) {
        struct profile_block *last = kept ? &c->blocks[kept - 1] : NULL;
        if (last && compare_blocks(last, &list[i].block) == 0)
            last->count = add_saturated(last->count, list[i].block.count);
        else
            c->blocks[kept++] = list[i].block;
        new_index[list[i].index] = kept - 1;
    }
    c->block_count = kept;
    free(list);
    return true;
}

static void settle_edges(struct profile_counts *c)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < c->edge_count; i++) {
        struct profile_edge *e = &c->edges[i];
        if (!profile_is_private(e->from_image, e->from) && !profile_is_private(e->to_image, e->to))
            e->process = 0;
    }
    sort_runs(c->edges, c->edge_count, sizeof *c->edges, compare_edges);
    for (uint32_t i = 0; i < c->edge_count; i++) {
        struct profile_edge *last = kept ? &c->edges[kept - 1] : NULL;
        if (last && compare_edges(last, &c->edges[i]) == 0)
            last->count = add_saturated(last->count, c->edges[i].count);
        else
            c->edges[kept++] = c->edges[i];
    }
    c->edge_count = kept;
}

static bool settle_tables(struct profile *p, const uint32_t *new_index)
{
    bool ok = true;
    for (unsigned i = 0; ok && profile_tables[i]; i++)
        ok = !observed_table(p, i) || profile_tables[i]->settle(observed_table(p, i), new_index);
    return ok;
}

bool profile_counts_settle(struct profile *p)
{
    struct profile_counts *c = observed_code(p);
    uint32_t *new_index = calloc((size_t)c->block_count + 1, sizeof *new_index);
    bool ok = new_index && settle_blocks(c, new_index);
    settle_edges(c);
    ok = ok && settle_tables(p, new_index);
    free(new_index);
    return ok;
}

uint32_t profile_counts_image_in(const uint32_t *image_of, uint32_t image)
{
    return image == PROFILE_IMAGE_NONE ? image : image_of[image];
}

/* With what refers to blocks by their index. */
static bool append_tables(struct profile *into, const struct profile *from,
                          const struct table_append *how)
{
    bool ok = true;
    for (unsigned i = 0; ok && profile_tables[i]; i++) {
        const void *added = observed_table(from, i);
        void *table = observed_table(into, i), *had = table;
        ok = !added || profile_tables[i]->append(&table, added, how);
        if (table && !had)
            profile_observe(into, OBSERVED_TABLES + i, table);
    }
    return ok;
}

static bool append_records(struct profile_counts *into, const struct profile_counts *from,
                           const uint32_t *image_of, uint32_t first_process)
{
    if (from->block_count > UINT32_MAX - 2 - into->block_count ||
        from->edge_count > UINT32_MAX - 2 - into->edge_count)
        return false;
    size_t blocks = (size_t)into->block_count + from->block_count;
    size_t edges = (size_t)into->edge_count + from->edge_count;
    struct profile_block *b = realloc(into->blocks, (blocks ? blocks : 1) * sizeof *b);
    if (b)
        into->blocks = b;
    struct profile_edge *e = realloc(into->edges, (edges ? edges : 1) * sizeof *e);
    if (e)
        into->edges = e;
    if (!b || !e)
        return false;
    for (uint32_t i = 0; i < from->block_count; i++) {
        struct profile_block *block = &into->blocks[into->block_count++];
        *block = from->blocks[i];
        block->image = profile_counts_image_in(image_of, block->image);
        block->process += first_process;
    }
    for (uint32_t i = 0; i < from->edge_count; i++) {
        struct profile_edge *edge = &into->edges[into->edge_count++];
        *edge = from->edges[i];
        edge->from_image = profile_counts_image_in(image_of, edge->from_image);
        edge->to_image = profile_counts_image_in(image_of, edge->to_image);
        edge->process += first_process;
    }
    return true;
}

#define ROW(field, how, unit, what)                                                                \
    FIGURE_ROW("engine", struct profile_counts, field, how, unit, what),
#define ROW_MANY(field, count, names, unit, what)                                                  \
    FIGURE_ROW_MANY("engine", struct profile_counts, field, count, names, unit, what),
#define ROW_LATENCY(id, name, what)                                                                \
    {"latency." name ".ns", "ns", what, NULL,                                                      \
     offsetof(struct profile_counts, latencies[id].sum_ns), 0, FIGURE_SUM},                        \
    {"latency." name, "times", "by how long they took (sigsafe/latency.h)", NULL,                  \
     offsetof(struct profile_counts, latencies[id].counts), LATENCY_BUCKETS, FIGURE_SUM},
static const struct figure_row rows[] = {
    ENGINE_FIGURES(ROW, ROW_MANY) LATENCY_KINDS(ROW_LATENCY)
};

static void *of(const struct profile *p)
{
    return observed_code(p);
}

const struct figure_family engine_figures = {
    .rows = rows, .count = sizeof rows / sizeof *rows, .of = of};

uint64_t profile_latency_count(const struct latency *l)
{
    uint64_t all = 0;
    for (unsigned i = 0; i < LATENCY_BUCKETS; i++)
        all = add_saturated(all, l->counts[i]);
    return all;
}

double profile_latency_ns(const struct latency *l, double share)
{
    double rank = share * (double)profile_latency_count(l), before = 0;
    for (uint32_t i = 0; i < LATENCY_BUCKETS; i++) {
        double count = (double)l->counts[i], low = (double)latency_bucket_low(i);
        if (count > 0 && before + count >= rank)
            return low + (2 * ((double)latency_bucket_ns(i) - low)) * (rank - before) / count;
        before += count;
    }
    return 0;
}

bool profile_counts_merge(struct profile *into, const struct profile *from,
                          const uint32_t *image_of, uint32_t first_process)
{
    struct profile_counts *c = observed_code(into);
    const struct profile_counts *added = observed_code(from);
    const struct table_append how = {image_of, first_process, c->block_count};
    if (!append_tables(into, from, &how) ||
        !append_records(c, added, image_of, first_process) || !profile_counts_settle(into))
        return false;
    /* What is known of one part only is not known of the whole. */
    c->native_ns =
        c->native_ns && added->native_ns ? add_saturated(c->native_ns, added->native_ns) : 0;
    c->counted &= added->counted;
    c->classified &= added->classified;
    return true;
}

double profile_counts_slowdown(const struct profile_counts *c, uint64_t cpu_ns)
{
    return c->native_ns && cpu_ns ? (double)cpu_ns / (double)c->native_ns : 0;
}

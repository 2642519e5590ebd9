/* A runtime for the tests of the compiler plugin: counts in arrays, and prints the counts of all
 * events and values, by name, to the file that TEST_INST_OUT names, when a module is unregistered.
 *
 * TEST_INST_INTERVAL: the interval of samples, 0: disarmed. Its counts are exact in programs with
 * one thread only. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "penumbra/inst.h"

struct counts {
    uint64_t samples;
    uint64_t *blocks;
    uint64_t *values, *sums;
};

static int32_t interval = -1;

/* Sites that were conditional jumps of the program's own. */
static unsigned branch_sites;

static void read_interval(void)
{
    const char *text = getenv("TEST_INST_INTERVAL");
    interval = text ? atoi(text) : 0;
}

static void sample(struct penumbra_inst_module *m, int32_t *counter)
{
    struct counts *c = m->data;
    *counter = interval ? interval - 1 : INT32_MAX;
    __atomic_fetch_add(&c->samples, 1, __ATOMIC_RELAXED);
}

static void event(struct penumbra_inst_module *m, const struct penumbra_inst_block *block)
{
    struct counts *c = m->data;
    if (interval)
        __atomic_fetch_add(&c->blocks[block - m->blocks], 1, __ATOMIC_RELAXED);
}

/* ---- paths: without libc, which uses vector registers ---- */

enum { BLOCKS_MOST = 1 << 20, DEPTH_MOST = 4096, PATHS_MOST = 1 << 14 };

struct walk {
    uint64_t frame;
    const struct penumbra_inst_function *function;
    uint32_t first, length; /* of its blocks, in `walked` */
};
struct path {
    const struct penumbra_inst_function *function; /* NULL: free */
    uint32_t first, length; /* in `kept` */
    uint64_t times;
};

static struct walk walks[DEPTH_MOST];
static uint32_t walked[BLOCKS_MOST], kept[BLOCKS_MOST], depth, keeps; /* lines */
static struct path paths[PATHS_MOST];
static uint64_t paths_cut;

static int is_path(const struct path *p, const struct walk *w)
{
    if (p->function != w->function || p->length != w->length)
        return 0;
    for (uint32_t i = 0; i < w->length; i++)
        if (kept[p->first + i] != walked[w->first + i])
            return 0;
    return 1;
}

static void path_count(const struct walk *w)
{
    uint32_t hash = 5381;
    for (uint32_t i = 0; i < w->length; i++)
        hash = hash * 33 + walked[w->first + i];
    struct path *p = &paths[hash % (PATHS_MOST / 2)];
    while (p->function && !is_path(p, w))
        if (++p == paths + PATHS_MOST)
            abort();
    if (!p->function) {
        *p = (struct path){w->function, keeps, w->length, 0};
        for (uint32_t i = 0; i < w->length; i++, keeps++)
            kept[keeps % BLOCKS_MOST] = walked[w->first + i];
        if (keeps >= BLOCKS_MOST)
            abort();
    }
    p->times++;
}

/* The frame's; NULL: it has none. Those below it are gone. */
static struct walk *walk_of(uint64_t frame)
{
    for (; depth && walks[depth - 1].frame < frame; depth--)
        paths_cut += walks[depth - 1].length != 0;
    return depth && walks[depth - 1].frame == frame ? &walks[depth - 1] : NULL;
}

static void path_begin(const struct penumbra_inst_value *v, uint64_t frame)
{
    struct walk *w = walk_of(frame);
    paths_cut += w && w->length;
    if (!w && depth == DEPTH_MOST)
        abort();
    w = w ? w : &walks[depth++];
    struct walk *before = depth > 1 ? &walks[depth - 2] : NULL;
    *w = (struct walk){frame, penumbra_inst_at(&v->function),
                       before ? before->first + before->length : 0, 0};
}

static void path_step(const struct penumbra_inst_value *v, uint64_t frame)
{
    struct walk *w = v->index == PENUMBRA_INST_PATH_BEGIN ? NULL : walk_of(frame);
    if (v->index == PENUMBRA_INST_PATH_BEGIN) {
        path_begin(v, frame);
    } else if (w && v->index == PENUMBRA_INST_PATH_BLOCK) {
        if (w->first + w->length == BLOCKS_MOST)
            abort();
        walked[w->first + w->length++] = v->line;
    } else if (w) {
        if (w->length)
            path_count(w);
        depth--;
    }
}

static void value(struct penumbra_inst_module *m, const struct penumbra_inst_value *v, uint64_t is)
{
    struct counts *c = m->data;
    if (!interval)
        return;
    if (v->kind == PENUMBRA_INST_PATH) {
        path_step(v, is + (uint64_t)(int64_t)v->frame);
        return;
    }
    if (v->bytes < 8)
        is &= (1ull << v->bytes * 8) - 1;
    __atomic_fetch_add(&c->values[v - m->values], 1, __ATOMIC_RELAXED);
    if (v->kind != PENUMBRA_INST_TARGET && (v->kind != PENUMBRA_INST_ARGUMENT || v->bytes < 8))
        /* addresses differ from run to run */
        __atomic_fetch_add(&c->sums[v - m->values], is, __ATOMIC_RELAXED);
}

static const struct penumbra_inst_ops ops = {sample, event, value};

static const char *text(const int32_t *reference)
{
    const char *string = penumbra_inst_at(reference);
    return string ? string : "";
}

static const char *function_name(const int32_t *reference)
{
    const struct penumbra_inst_function *f = penumbra_inst_at(reference);
    return f ? text(&f->name) : "?";
}

static void print_event(FILE *out, const struct penumbra_inst_block *b,
                        const struct penumbra_inst_event *e, uint64_t times)
{
    static const char *const kinds[] = {"?", "call", "read", "write", "edge", "inlined", "entry"};
    fprintf(out, "%s %s:%u", kinds[e->kind], function_name(&b->function), e->line);
    if (e->kind == PENUMBRA_INST_READ || e->kind == PENUMBRA_INST_WRITE) {
        const struct penumbra_inst_field *f = penumbra_inst_at(&e->what);
        const struct penumbra_inst_type *t = penumbra_inst_at(&f->type);
        fprintf(out, " %s.%s depth %u", t ? text(&t->name) : "?", text(&f->name), e->site);
    } else if (e->kind == PENUMBRA_INST_EDGE) {
        fprintf(out, " %u", e->aux);
    } else {
        fprintf(out, " %s site %u", text(&e->what), e->site);
    }
    fprintf(out, " %llu\n", (unsigned long long)times);
}

static void print_values(FILE *out, const struct penumbra_inst_module *m)
{
    const struct counts *c = m->data;
    for (const struct penumbra_inst_value *v = m->values; v < m->values_end; v++)
        if (c->values[v - m->values])
            fprintf(out, "value %u %s:%u %s index %u: %llu sum %llu\n", v->kind,
                    function_name(&v->function), v->line, text(&v->name), v->index,
                    (unsigned long long)c->values[v - m->values],
                    (unsigned long long)c->sums[v - m->values]);
}

static void print_paths(FILE *out)
{
    for (const struct path *p = paths; p < paths + PATHS_MOST; p++) {
        if (!p->function)
            continue;
        fprintf(out, "path %s:", text(&p->function->name));
        for (uint32_t i = 0; i < p->length; i++)
            fprintf(out, " %u", kept[p->first + i]);
        fprintf(out, " times %llu\n", (unsigned long long)p->times);
    }
    fprintf(out, "# paths cut %llu\n", (unsigned long long)paths_cut);
}

static void print_module(const struct penumbra_inst_module *m)
{
    const struct counts *c = m->data;
    const char *file = getenv("TEST_INST_OUT");
    FILE *out = file ? fopen(file, "a") : NULL;
    if (!out)
        return;
    fprintf(out, "# samples %llu checks %llu entries %llu back_edges %llu flags %u "
                 "branch_sites %u\n",
            (unsigned long long)c->samples, (unsigned long long)m->checks,
            (unsigned long long)m->entries, (unsigned long long)m->back_edges, m->flags,
            branch_sites);
    for (const struct penumbra_inst_block *b = m->blocks; b < m->blocks_end; b++) {
        uint64_t times = c->blocks[b - m->blocks];
        const struct penumbra_inst_event *e = penumbra_inst_at(&b->events);
        for (uint32_t i = 0; times && i < b->n; i++)
            print_event(out, b, &e[i], times);
    }
    print_values(out, m);
    print_paths(out);
    fclose(out);
}

/* Makes the sites jump to their checks. */
static void arm(const struct penumbra_inst_module *m)
{
    for (const struct penumbra_inst_site *s = m->sites; s < m->sites_end; s++) {
        uint8_t *at = (uint8_t *)(uintptr_t)penumbra_inst_at(&s->at);
        int nop = memcmp(at, "\x0f\x1f\x44\x00\x00", 5) == 0;
        int jcc = at[0] == 0x0f && at[1] >> 4 == 8;
        uint8_t *distance_at = at + (jcc ? 2 : 1);
        const uint8_t *check = penumbra_inst_at(&s->check);
        int32_t distance = (int32_t)(check - (distance_at + 4));
        uintptr_t page = (uintptr_t)at & ~(uintptr_t)4095;
        if ((!nop && !jcc && at[0] != 0xe9) ||
            mprotect((void *)page, (uintptr_t)at + 6 - page, PROT_READ | PROT_WRITE | PROT_EXEC))
            abort();
        branch_sites += jcc ? 1 : 0;
        if (nop)
            at[0] = 0xe9;
        memcpy(distance_at, &distance, sizeof distance);
    }
}

void __penumbra_inst_register(struct penumbra_inst_module *m)
{
    if (m->abi != PENUMBRA_INST_ABI || m->bytes != sizeof *m)
        abort();
    if (interval < 0)
        read_interval();
    size_t blocks = (size_t)(m->blocks_end - m->blocks);
    size_t values = (size_t)(m->values_end - m->values);
    struct counts *c = calloc(1, sizeof *c);
    c->blocks = calloc(blocks + 1, sizeof *c->blocks);
    c->values = calloc(values + 1, sizeof *c->values);
    c->sums = calloc(values + 1, sizeof *c->sums);
    m->data = c;
    m->ops = &ops;
    if (m->flags & PENUMBRA_INST_PATCHED && interval)
        arm(m);
    if (m->armed)
        *m->armed = interval != 0;
}

void __penumbra_inst_unregister(struct penumbra_inst_module *m)
{
    print_module(m);
    m->ops = NULL;
}

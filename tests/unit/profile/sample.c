#include "sample.h"

#include "profile/timeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

uint64_t sample_random(uint64_t *state, uint64_t bound)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    return cct_hash(*state) % bound;
}

static char *text(const char *what, unsigned i)
{
    char *s = NULL;
    if (asprintf(&s, "%s-%u", what, i) < 0)
        abort();
    return s;
}

static void set(char **to, const char *s)
{
    free(*to);
    *to = strdup(s);
}

static void sample_drops(uint64_t *drops, uint64_t *state)
{
    for (unsigned i = 0; i < DROP_COUNT; i++)
        drops[i] = sample_random(state, 3) * sample_random(state, 1000);
}

static void sample_images(struct profile *p, uint64_t *state)
{
    p->image_count = 5;
    p->images = calloc(p->image_count, sizeof *p->images);
    for (uint32_t i = 0; i < p->image_count; i++) {
        struct profile_image *m = &p->images[i];
        m->path = text("/usr/lib/library", i);
        m->build_id_size = i == 3 ? 0 : 20;
        for (uint32_t k = 0; k < m->build_id_size; k++)
            m->build_id[k] = (uint8_t)sample_random(state, 256);
        m->flags = i;
        m->file_size = sample_random(state, 1u << 30);
        m->mtime_ns = i == 2 ? -5 : (int64_t)sample_random(state, UINT64_C(1) << 60);
        m->last_vaddr = m->first_vaddr = 4096 * i;
        m->last_vaddr += sample_random(state, 1u << 24);
    }
}

static void sample_one_process(struct profile_process *r, uint32_t index, uint64_t *state)
{
    *r = (struct profile_process){.pid = (int32_t)(100 + index), .ppid = index ? 100 : 1,
                                  .start_ns = sample_random(state, 1u << 30), .end = index & 3,
                                  .epochs = 1 + index, .mechanism = index, .arm_error = 13,
                                  .exclude_kernel = 1, .map_count = 4, .jit_count = index * 3,
                                  .pauses = index * 7, .paused_ns = index * 123456789,
                                  .phases_refused = index, .rank = index * 1000,
                                  .sandboxed = index & 1, .sandbox_threads = index * 5,
                                  .sandbox_processes = index * 300,
                                  .sandbox_silenced = index & 1 ? index * 2 : 0,
                                  .early_cpu_ns = index * 1000003};
    r->end_ns = r->start_ns * 2;
    r->name = text("name", index);
    r->command = text("command 'with blanks'", index);
    r->maps = calloc(r->map_count, sizeof *r->maps);
    for (uint32_t i = 0; i < r->map_count; i++) {
        uint64_t lo = UINT64_C(0x7f0000000000) - i * UINT64_C(0x100000000);
        r->maps[i] = (struct profile_map){.image = i, .epoch_first = 1, .epoch_last = i,
                                          .bias = lo - 4096, .lo = lo, .hi = lo + 65536};
    }
    r->jit = calloc(r->jit_count ? r->jit_count : 1, sizeof *r->jit);
    for (uint32_t i = 0; i < r->jit_count; i++)
        r->jit[i] = (struct profile_jit_symbol){.address = UINT64_MAX - 1000 + 10 * i, .size = 10,
                                                .name = text("js~function", i)};
    sample_drops(r->drops, state);
}

/* A random tree in preorder: each node is a child of the one before it or of one of its
 * ancestors. */
static void sample_tree(struct profile_thread *t, uint32_t nodes, uint64_t *state)
{
    t->nodes = calloc(nodes ? nodes : 1, sizeof *t->nodes);
    t->node_count = nodes;
    for (uint32_t i = 0; i < nodes; i++) {
        struct profile_node *n = &t->nodes[i];
        *n = (struct profile_node){.parent = UINT32_MAX, .subtree = 1,
                                   .image = PROFILE_IMAGE_PSEUDO, .offset = KEY_ROOT};
        if (i == 0)
            continue;
        uint32_t kind = (uint32_t)sample_random(state, 20);
        n->parent = i - 1;
        while (n->parent && sample_random(state, 3) == 0)
            n->parent = t->nodes[n->parent].parent;
        n->image = kind == 0 ? PROFILE_IMAGE_NONE : kind == 1 ? PROFILE_IMAGE_PSEUDO : kind % 5;
        n->offset = kind == 1 ? KEY_UNATTRIBUTED : 0x1000 + 0x35 * sample_random(state, 300);
        if (kind == 0)
            n->offset += UINT64_C(0x7f1200000000);
        n->guessed = sample_random(state, 10) == 0;
        n->self = sample_random(state, 3) == 0 ? sample_random(state, 500) : 0;
        n->calls = sample_random(state, 50) == 0 ? sample_random(state, UINT64_C(1) << 60) : 0;
    }
    for (uint32_t i = nodes; i-- > 1;)
        t->nodes[t->nodes[i].parent].subtree += t->nodes[i].subtree;
}

static void sample_one_thread(struct profile_thread *t, uint32_t index, uint32_t nodes,
                              uint64_t *state)
{
    *t = (struct profile_thread){.process = index % 3, .phase = index % 4,
                                 .tid = (int32_t)(100 + index),
                                 .name = text("thread", index), .start_ns = index * 1000,
                                 .end_ns = index * 2000, .cpu_ns = index * 900,
                                 .taken = sample_random(state, 100000),
                                 .weight = sample_random(state, 100000),
                                 .weight_squares = sample_random(state, UINT64_C(1) << 62),
                                 .guessed = sample_random(state, 100), .cost_ns = 123456 + index,
                                 .deliveries = sample_random(state, 100000),
                                 .delivered_ns = sample_random(state, 1000000000),
                                 .switches = sample_random(state, 100000),
                                 .switched_ns = sample_random(state, 1000000000)};
    for (unsigned i = 1; i < TRUNC_COUNT; i++)
        t->truncated[i] = sample_random(state, 9);
    sample_drops(t->drops, state);
    sample_tree(t, nodes, state);
}

/* Moments of nodes that have weight, and rests of what those have left. */
static void sample_timeline(struct profile *p, struct profile_thread *t, uint64_t *state)
{
    enum { ROUNDS = 40 };
    uint64_t left[2] = {0, 0};
    struct profile_moment m = {0};
    for (uint32_t i = 0; i < t->node_count; i++)
        for (m.metric = 0; m.metric < p->metric_count && m.metric < 2; m.metric++) {
            uint64_t weight = m.metric ? t->nodes[i].more[0] : t->nodes[i].self;
            for (unsigned k = 0; k < ROUNDS && weight; k++, weight -= m.weight) {
                m.node = i;
                m.bin = (uint32_t)sample_random(state, 5000);
                m.span = sample_random(state, 9) ? 0 : (uint32_t)sample_random(state, m.bin + 1);
                m.weight = 1 + sample_random(state, weight);
                profile_timeline_add(&t->timeline, &m);
            }
            left[m.metric] += weight;
        }
    m = (struct profile_moment){.node = PROFILE_REST};
    for (; m.metric < 2; m.metric++)
        for (uint64_t weight = left[m.metric]; weight; weight -= m.weight) {
            m.bin = (uint32_t)sample_random(state, 5000);
            m.weight = 1 + sample_random(state, weight);
            profile_timeline_add(&t->timeline, &m);
        }
    profile_timeline_settle(t->timeline);
    if (!t->timeline)
        return;
    t->timeline->shift = 20 + (uint32_t)sample_random(state, 9);
    t->timeline->start_ns = sample_random(state, 3) * 777;
}

static void sample_phases(struct profile *p)
{
    uint32_t outer = profile_phase_intern(p, "load", 0) + 1;
    profile_phase_intern(p, "parse \x01\xff", outer);
    profile_phase_intern(p, "", 0);
    for (uint32_t i = 0; i < p->phase_count; i++) {
        p->phases[i].begun = 1 + i * 100;
        p->phases[i].elapsed_ns = i * UINT64_C(10000000001);
    }
}

/* Of any blocks: some twice, some begin alike, one is as long as paths get. */
static struct profile_paths *sample_paths(uint32_t blocks, uint64_t *state)
{
    enum { PATHS = 120, LONGEST = 128 };
    struct profile_paths *p = profile_paths_new();
    uint32_t sequence[LONGEST];
    for (uint32_t i = 0; i < PATHS; i++) {
        uint32_t length = i ? 1 + (uint32_t)sample_random(state, 7) : LONGEST;
        for (uint32_t k = 0; k < length; k++)
            sequence[k] = (uint32_t)sample_random(state, k ? 4 : blocks);
        profile_paths_add(p, sequence, length, sample_random(state, UINT64_C(1) << i % 40));
    }
    p->dropped_paths = sample_random(state, 1000);
    p->dropped = sample_random(state, 100000);
    p->dropped_instructions = sample_random(state, UINT64_C(1) << 40);
    p->cut = sample_random(state, 1000);
    p->cut_instructions = sample_random(state, 100000);
    return p;
}

static struct profile_streams *sample_streams(uint64_t *state)
{
    struct profile_streams *s = profile_streams_new();
    for (uint32_t i = 0; i < 70; i++) {
        struct profile_stream stream = {
            .image = (uint32_t)sample_random(state, 4), .offset = 0x1000 + sample_random(state, 40),
            .bytes = 1u << i % 7, .kind = 1 + i % 3, .count = sample_random(state, 100000),
            .span = sample_random(state, UINT64_C(1) << i % 60), .runs = i, .same_line = 3 * i,
            .others = sample_random(state, 50)};
        if (stream.image == 3) {
            stream.image = PROFILE_IMAGE_NONE;
            stream.process = i % 3;
        }
        for (unsigned k = 0; k < i % (STREAM_STRIDES + 1); k++) {
            stream.strides[k] = (int64_t)sample_random(state, 400) - 200;
            stream.times[k] = 1000 - k;
        }
        profile_streams_add(s, &stream);
    }
    s->missed = sample_random(state, 1000);
    return s;
}

/* Some share their image, some their offset; code without an image is of one process. */
static void sample_engine(struct profile *p, uint64_t *state)
{
    enum { BLOCKS = 90, EDGES = 70 };
    struct profile_counts *c = profile_counts_new("exact", "edges");
    c->length = 1000;
    c->native_ns = 77777777;
    c->counted = c->classified = true;
    c->instructions = UINT64_C(1) << 50;
    for (unsigned i = 0; i < CLASS_COUNT; i++)
        c->classes[i] = sample_random(state, UINT64_C(1) << 40);
    for (unsigned i = 0; i < STOP_COUNT; i++)
        c->stopped[i] = sample_random(state, 1000);
    uint64_t *numbers[] = {&c->bursts, &c->burst_instructions, &c->burst_ns, &c->translated,
                           &c->code_bytes, &c->translation_ns, &c->dispatches, &c->dispatch_ns};
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++)
        *numbers[i] = sample_random(state, UINT64_C(1) << 33);
    for (unsigned k = 0; k < LATENCY_KIND_COUNT; k++)
        for (uint64_t i = 0; i < 20; i++)
            latency_add_as(&c->latencies[k], sample_random(state, UINT64_C(1) << 2 * i));
    c->blocks = calloc(BLOCKS, sizeof *c->blocks);
    c->edges = calloc(EDGES, sizeof *c->edges);
    for (; c->block_count < BLOCKS; c->block_count++) {
        struct profile_block *b = &c->blocks[c->block_count];
        *b = (struct profile_block){.image = (uint32_t)sample_random(state, 5),
                                    .offset = 0x1000 + 4 * sample_random(state, 60),
                                    .bytes = 8, .instructions = 2, .count = c->block_count};
        if (b->image == 4) {
            b->image = PROFILE_IMAGE_NONE;
            b->process = (uint32_t)sample_random(state, 3);
        }
    }
    for (; c->edge_count < EDGES; c->edge_count++) {
        struct profile_edge *g = &c->edges[c->edge_count];
        *g = (struct profile_edge){.from_image = (uint32_t)sample_random(state, 3),
                                   .from = 0x1000 + 4 * sample_random(state, 50),
                                   .to = 0x1000 + 4 * sample_random(state, 50),
                                   .count = UINT64_C(1) << c->edge_count % 40};
        g->to_image = sample_random(state, 2) ? g->from_image : PROFILE_IMAGE_NONE;
        g->process = g->to_image == PROFILE_IMAGE_NONE ? 2 : 0;
    }
    profile_observe(p, OBSERVED_CODE, c);
    profile_observe(p, OBSERVED_TABLES + TABLE_PATHS, sample_paths(c->block_count, state));
    profile_observe(p, OBSERVED_TABLES + TABLE_STREAMS, sample_streams(state));
    profile_observe(p, OBSERVED_TABLES + TABLE_WASTE, sample_waste(state));
    profile_observe(p, OBSERVED_TABLES + TABLE_PRODUCTIONS, sample_productions(state));
    profile_counts_settle(p);
}

/* Chains of up to four names, of which many share their end; two images of which nothing is
 * known. */
static struct profile_names *sample_names(uint32_t images, uint64_t *state)
{
    struct profile_names *n = profile_names_new(images);
    for (uint32_t i = 1; i < images - 1; i++) {
        uint64_t offset = 0x1000;
        n->images[i].level = 1 + i % 3;
        for (uint32_t k = 0; k < 40; k++, offset += 1 + sample_random(state, 3)) {
            uint32_t name = UINT32_MAX;
            for (uint32_t depth = 0; depth <= sample_random(state, 4); depth++) {
                char *function = text("void f<int>()", (unsigned)sample_random(state, 9));
                char *file = text("/src/file.c", depth);
                struct profile_name one = {
                    .function = profile_names_string(n, k % 10 ? function : ""),
                    .file = profile_names_string(n, file),
                    .line = (uint32_t)sample_random(state, 5),
                    .outer = depth ? name + 1 : 0, .start = depth ? 0 : offset - k};
                name = profile_names_add(n, &one);
                free(function);
                free(file);
            }
            profile_names_place(n, i, offset, name);
        }
    }
    return n;
}

static struct profile_shadows *sample_shadows(uint64_t *state)
{
    struct profile_shadows *s = calloc(1, sizeof *s);
    for (uint32_t i = 0; i < shadow_figures.count; i++) {
        const struct figure_row *row = &shadow_figures.rows[i];
        for (uint32_t k = 0; k < figure_count(row); k++)
            figure_numbers(row, s)[k] = sample_random(state, k % 64 ? 1 : UINT64_C(1) << 40);
    }
    return s;
}

/* By the triggers after the first; one thread has not met them. */
static void sample_others(struct profile *p, uint64_t *state)
{
    for (uint32_t i = 1; i < p->thread_count; i++) {
        struct profile_sampled *s = p->threads[i].others = profile_sampled_new(p);
        for (uint32_t k = 0; k + 1 < profile_triggers(p); k++, s++) {
            s->taken = sample_random(state, 1000);
            s->weight = sample_random(state, UINT64_C(1) << 40);
            s->weight_squares = sample_random(state, UINT64_MAX);
            s->guessed = sample_random(state, 3);
            sample_drops(s->drops, state);
            for (unsigned r = 1; r < TRUNC_COUNT; r++)
                s->truncated[r] = sample_random(state, 300);
        }
    }
}

/* One of each kind and of a later one; the second node of every third thread is one of them. */
static void sample_entities(struct profile *p)
{
    for (uint32_t i = 0; i <= ENTITY_KIND_COUNT; i++) {
        struct profile_entity entity = {
            .kind = i, .name = text("entity", i), .scope = text("scope", i / 2), .at = i * 1000,
            .number = i};
        uint64_t id = profile_entity_add(p, &entity);
        const struct profile_hit hit = {id, i * 100};
        if (i % 3 != 2 && !profile_hits_add(p, &hit, 1))
            abort();
        for (uint32_t t = i; t < p->thread_count; t += ENTITY_KIND_COUNT + 1)
            if (t % 3 == 0 && p->threads[t].node_count > 1) {
                p->threads[t].nodes[1].image = PROFILE_IMAGE_NONE;
                p->threads[t].nodes[1].offset = id;
            }
        free(entity.name);
        free(entity.scope);
    }
}

struct profile *sample_profile(uint32_t threads, uint32_t nodes, uint64_t seed)
{
    struct profile *p = profile_new();
    uint64_t *state = &seed;
    set(&p->command, "xz -9 'a file'");
    set(&p->metrics[0].trigger, "cpu");
    set(&p->metrics[0].unit, "nanoseconds");
    set(&p->kernel, "6.1.0-18-amd64");
    set(&p->cpu, "Some Processor @ 2.00GHz");
    set(&p->notes, "one thing\nanother");
    p->metrics[0].period = 1003009;
    set(&p->metrics[0].name, "time");
    p->metrics[0].how = METRIC_EXACT;
    profile_metric_add(p, &(struct profile_metric){(char[]){"faults"}, (char[]){"page-faults"},
                                                   (char[]){"events"}, 7, METRIC_RANDOMIZED});
    profile_metric_add(p, &(struct profile_metric){(char[]){"read"}, (char[]){"read"},
                                                   (char[]){"bytes"}, 65536, METRIC_REGULAR});
    p->budget_ppm = 10000;
    p->delivery_ns = 1300;
    p->start_realtime_ns = UINT64_C(1700000000000000000);
    p->duration_ns = UINT64_C(12345678901);
    p->kernel_cpu_ns = UINT64_C(9876543210);
    p->cpus = 8;
    p->recovered = 1;
    p->exit_status = -1;
    sample_drops(p->drops, state);
    sample_images(p, state);
    sample_phases(p);
    p->process_count = 3;
    p->processes = calloc(3, sizeof *p->processes);
    for (uint32_t i = 0; i < 3; i++)
        sample_one_process(&p->processes[i], i, state);
    p->thread_count = threads;
    p->threads = calloc(threads ? threads : 1, sizeof *p->threads);
    for (uint32_t i = 0; i < threads; i++)
        sample_one_thread(&p->threads[i], i, nodes, state);
    sample_engine(p, state);
    profile_observe(p, OBSERVED_VALUES, sample_values(state));
    p->names = sample_names(p->image_count, state);
    profile_observe(p, OBSERVED_SHADOWS, sample_shadows(state));
    for (uint32_t i = 0; i < threads; i++)
        for (uint32_t k = 0; k < p->threads[i].node_count; k++)
            for (unsigned m = 0; m < 2; m++)
                p->threads[i].nodes[k].more[m] =
                    sample_random(state, 3) ? 0 : sample_random(state, 1000);
    sample_others(p, state);
    sample_entities(p);
    for (uint32_t i = 0; i < threads; i++)
        if (i % 3 != 2)
            sample_timeline(p, &p->threads[i], state);
    figures_keep(p, &(struct figure){(char[]){"later.figure"}, (char[]){"things"}, FIGURE_SUM, 5});
    return p;
}

/* ---- comparison ---- */

#define SAME(field)                                                                                \
    if (a->field != b->field)                                                                      \
    return #field
#define SAME_STRING(field)                                                                         \
    if (strcmp(a->field, b->field) != 0)                                                           \
    return #field
#define SAME_ARRAY(field)                                                                          \
    if (memcmp(a->field, b->field, sizeof a->field) != 0)                                          \
    return #field

static const char *image_difference(const struct profile_image *a, const struct profile_image *b)
{
    SAME_STRING(path);
    SAME(build_id_size);
    SAME_ARRAY(build_id);
    SAME(flags);
    SAME(file_size);
    SAME(mtime_ns);
    SAME(first_vaddr);
    SAME(last_vaddr);
    return "";
}

static const char *map_difference(const struct profile_map *a, const struct profile_map *b)
{
    SAME(image);
    SAME(epoch_first);
    SAME(epoch_last);
    SAME(bias);
    SAME(lo);
    SAME(hi);
    return "";
}

static const char *process_difference(const struct profile_process *a,
                                      const struct profile_process *b)
{
    SAME(pid);
    SAME(ppid);
    SAME_STRING(name);
    SAME_STRING(command);
    SAME(start_ns);
    SAME(end_ns);
    SAME(end);
    SAME(epochs);
    SAME(mechanism);
    SAME(arm_error);
    SAME(exclude_kernel);
    SAME(rank);
    SAME(pauses);
    SAME(paused_ns);
    SAME(phases_refused);
    SAME(heap_peak_ns);
    SAME(heap_missed);
    SAME(sandboxed);
    SAME(sandbox_threads);
    SAME(sandbox_silenced);
    SAME(sandbox_processes);
    SAME(early_cpu_ns);
    SAME(recording);
    SAME(map_count);
    SAME(jit_count);
    SAME_ARRAY(drops);
    for (uint32_t i = 0; i < a->map_count; i++)
        if (*map_difference(&a->maps[i], &b->maps[i]))
            return map_difference(&a->maps[i], &b->maps[i]);
    for (uint32_t i = 0; i < a->jit_count; i++) {
        SAME(jit[i].address);
        SAME(jit[i].size);
        SAME_STRING(jit[i].name);
    }
    return "";
}

static const char *node_difference(const struct profile_node *a, const struct profile_node *b)
{
    SAME(parent);
    SAME(subtree);
    SAME(image);
    SAME(guessed);
    SAME(offset);
    SAME(self);
    SAME(calls);
    SAME_ARRAY(more);
    return "";
}

static const char *timeline_difference(const struct profile_timeline *a,
                                       const struct profile_timeline *b)
{
    if (!a || !b)
        return a == b ? "" : "timeline";
    SAME(start_ns);
    SAME(shift);
    SAME(count);
    for (uint32_t i = 0; i < a->count; i++) {
        SAME(list[i].bin);
        SAME(list[i].span);
        SAME(list[i].node);
        SAME(list[i].metric);
        SAME(list[i].weight);
    }
    return "";
}

/* None are zeros. */
static const char *others_difference(const struct profile_sampled *x,
                                     const struct profile_sampled *y, uint32_t count)
{
    static const struct profile_sampled none;
    for (uint32_t k = 0; k < count; k++) {
        const struct profile_sampled *a = x ? &x[k] : &none, *b = y ? &y[k] : &none;
        SAME(taken);
        SAME(weight);
        SAME(weight_squares);
        SAME(guessed);
        SAME_ARRAY(truncated);
        SAME_ARRAY(drops);
    }
    return "";
}

static const char *thread_difference(const struct profile_thread *a, const struct profile_thread *b,
                                     uint32_t others)
{
    SAME(process);
    SAME(phase);
    SAME(tid);
    SAME_STRING(name);
    SAME(start_ns);
    SAME(end_ns);
    SAME(cpu_ns);
    SAME(taken);
    SAME(weight);
    SAME(weight_squares);
    SAME(guessed);
    SAME_ARRAY(truncated);
    SAME_ARRAY(drops);
    SAME(cost_ns);
    SAME(deliveries);
    SAME(delivered_ns);
    SAME(switches);
    SAME(switched_ns);
    SAME(node_count);
    if (*others_difference(a->others, b->others, others))
        return others_difference(a->others, b->others, others);
    for (uint32_t i = 0; i < a->node_count; i++)
        if (*node_difference(&a->nodes[i], &b->nodes[i]))
            return node_difference(&a->nodes[i], &b->nodes[i]);
    return timeline_difference(a->timeline, b->timeline);
}

static const char *head_difference(const struct profile *a, const struct profile *b)
{
    SAME_STRING(command);
    SAME(metric_count);
    for (uint32_t i = 0; i < a->metric_count; i++) {
        SAME_STRING(metrics[i].name);
        SAME_STRING(metrics[i].trigger);
        SAME_STRING(metrics[i].unit);
        SAME(metrics[i].period);
        SAME(metrics[i].how);
    }
    SAME(budget_ppm);
    SAME(delivery_ns);
    SAME(start_realtime_ns);
    SAME(duration_ns);
    SAME(begun.executed);
    SAME(begun.forked);
    SAME(begun.ns);
    SAME(kernel_cpu_ns);
    SAME_STRING(kernel);
    SAME_STRING(cpu);
    SAME(cpus);
    SAME(recovered);
    SAME(exit_status);
    SAME_STRING(notes);
    SAME_ARRAY(drops);
    SAME(entity_count);
    for (uint32_t i = 0; i < a->entity_count; i++) {
        SAME(entities[i].id);
        SAME(entities[i].kind);
        SAME_STRING(entities[i].name);
        SAME_STRING(entities[i].scope);
        SAME(entities[i].at);
        SAME(entities[i].number);
    }
    SAME(hit_count);
    for (uint32_t i = 0; i < a->hit_count; i++) {
        SAME(hits[i].entity);
        SAME(hits[i].weight);
    }
    SAME(recording_count);
    for (uint32_t i = 0; i < a->recording_count; i++) {
        SAME(recordings[i].start_realtime_ns);
        SAME(recordings[i].duration_ns);
    }
    SAME(image_count);
    SAME(process_count);
    SAME(thread_count);
    SAME(phase_count);
    for (uint32_t i = 0; i < a->phase_count; i++) {
        SAME_STRING(phases[i].name);
        SAME(phases[i].outer);
        SAME(phases[i].begun);
        SAME(phases[i].elapsed_ns);
    }
    return "";
}

static const char *paths_difference(const struct profile_paths *a, const struct profile_paths *b)
{
    if (!a || !b)
        return a == b ? "" : "paths";
    SAME(count);
    SAME(sequence_count);
    SAME(dropped_paths);
    SAME(dropped);
    SAME(dropped_instructions);
    SAME(cut);
    SAME(cut_instructions);
    for (uint32_t i = 0; i < a->count; i++) {
        SAME(paths[i].count);
        SAME(paths[i].first);
        SAME(paths[i].length);
    }
    for (uint32_t i = 0; i < a->sequence_count; i++)
        SAME(sequence[i]);
    return "";
}

static const char *streams_difference(const struct profile_streams *a,
                                      const struct profile_streams *b)
{
    if (!a || !b)
        return a == b ? "" : "streams";
    SAME(count);
    SAME(missed);
    for (uint32_t i = 0; i < a->count; i++) {
        SAME(list[i].image);
        SAME(list[i].process);
        SAME(list[i].offset);
        SAME(list[i].bytes);
        SAME(list[i].kind);
        SAME(list[i].count);
        SAME(list[i].span);
        SAME(list[i].runs);
        SAME(list[i].same_line);
        SAME(list[i].others);
        SAME_ARRAY(list[i].strides);
        SAME_ARRAY(list[i].times);
    }
    return "";
}

static const char *counts_difference(const struct profile_counts *a,
                                     const struct profile_counts *b)
{
    if (!a || !b)
        return a == b ? "" : "counts";
    SAME_STRING(carrier);
    SAME_STRING(tool);
    SAME(length);
    SAME(native_ns);
    SAME(counted);
    SAME(classified);
    SAME(instructions);
    SAME_ARRAY(classes);
    SAME_ARRAY(stopped);
    SAME(bursts);
    SAME(burst_instructions);
    SAME(burst_ns);
    SAME(translated);
    SAME(code_bytes);
    SAME(translation_ns);
    SAME(dispatches);
    SAME(dispatch_ns);
    for (unsigned k = 0; k < LATENCY_KIND_COUNT; k++) {
        SAME(latencies[k].sum_ns);
        SAME_ARRAY(latencies[k].counts);
    }
    SAME(block_count);
    SAME(edge_count);
    for (uint32_t i = 0; i < a->block_count; i++) {
        SAME(blocks[i].image);
        SAME(blocks[i].process);
        SAME(blocks[i].offset);
        SAME(blocks[i].bytes);
        SAME(blocks[i].instructions);
        SAME(blocks[i].count);
    }
    for (uint32_t i = 0; i < a->edge_count; i++) {
        SAME(edges[i].from_image);
        SAME(edges[i].to_image);
        SAME(edges[i].process);
        SAME(edges[i].from);
        SAME(edges[i].to);
        SAME(edges[i].count);
    }
    return "";
}

static const char *tables_difference(const struct profile *a, const struct profile *b)
{
    const char *d =
        paths_difference(observed_table(a, TABLE_PATHS), observed_table(b, TABLE_PATHS));
    d = *d ? d
           : streams_difference(observed_table(a, TABLE_STREAMS), observed_table(b, TABLE_STREAMS));
    d = *d ? d
           : sample_waste_difference(observed_table(a, TABLE_WASTE),
                                     observed_table(b, TABLE_WASTE));
    return *d ? d
              : sample_productions_difference(observed_table(a, TABLE_PRODUCTIONS),
                                              observed_table(b, TABLE_PRODUCTIONS));
}

/* What the list says of each, but for the records. */
static const char *observations_difference(const struct profile *a, const struct profile *b)
{
    SAME(observations.count);
    for (uint32_t i = 0; i < a->observations.count; i++) {
        SAME(observations.list[i].kind);
        SAME(observations.list[i].carrier);
        SAME(observations.list[i].tools);
        SAME(observations.list[i].how);
        if (!a->observations.list[i].record != !b->observations.list[i].record)
            return "observations.list[i].record";
    }
    return tables_difference(a, b);
}

static const char *names_difference(const struct profile_names *a, const struct profile_names *b)
{
    if (!a || !b)
        return a == b ? "" : "names";
    SAME(string_count);
    SAME(name_count);
    SAME(image_count);
    for (uint32_t i = 0; i < a->string_count; i++)
        SAME_STRING(strings[i]);
    for (uint32_t i = 0; i < a->name_count; i++) {
        SAME(names[i].function);
        SAME(names[i].file);
        SAME(names[i].line);
        SAME(names[i].outer);
        SAME(names[i].start);
    }
    for (uint32_t i = 0; i < a->image_count; i++) {
        SAME(images[i].level);
        SAME(images[i].count);
        for (uint32_t k = 0; k < a->images[i].count; k++) {
            SAME(images[i].places[k].offset);
            SAME(images[i].places[k].name);
        }
    }
    return "";
}

static const char *figures_difference(const struct profile *a, const struct profile *b)
{
    SAME(figure_count);
    for (uint32_t i = 0; i < a->figure_count; i++) {
        SAME_STRING(figures[i].name);
        SAME_STRING(figures[i].unit);
        SAME(figures[i].how);
        SAME(figures[i].value);
    }
    const struct profile_shadows *x = observed_shadows(a), *y = observed_shadows(b);
    return !x != !y || (x && memcmp(x, y, sizeof *x)) ? "shadows" : "";
}

const char *sample_difference(const struct profile *a, const struct profile *b)
{
    const char *d = head_difference(a, b);
    if (*d)
        return d;
    for (uint32_t i = 0; !*d && i < a->image_count; i++)
        d = image_difference(&a->images[i], &b->images[i]);
    for (uint32_t i = 0; !*d && i < a->process_count; i++)
        d = process_difference(&a->processes[i], &b->processes[i]);
    for (uint32_t i = 0; !*d && i < a->thread_count; i++)
        d = thread_difference(&a->threads[i], &b->threads[i], profile_triggers(a) - 1);
    d = *d ? d : counts_difference(observed_code(a), observed_code(b));
    d = *d ? d : observations_difference(a, b);
    d = *d ? d : figures_difference(a, b);
    d = *d ? d : names_difference(a->names, b->names);
    return *d ? d : sample_values_difference(observed_values(a), observed_values(b));
}

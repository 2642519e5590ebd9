/* A large profile: what `penumbra merge` makes of recordings of many processes of one program, with
 * five metrics (-e cpu -e page-faults -e malloc), timelines and names. usage: write_large FILE
 * [PROCESSES [THREADS [SAMPLES [CONTEXTS]]]] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/timeline.h"

enum { IMAGES = 12, FUNCTIONS = 4000, DEEPEST = 60, BIN_SHIFT = 22 };

static uint32_t context_count = 12000;

static uint64_t state = 1;

static uint64_t draw(uint64_t bound)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 11) % bound;
}

static void *array(size_t count, size_t each)
{
    void *p = calloc(count ? count : 1, each);
    if (!p)
        abort();
    return p;
}

static char *text(const char *what, unsigned number)
{
    char *s;
    if (asprintf(&s, what, number) < 0)
        abort();
    return s;
}

static void set(char **to, const char *s)
{
    free(*to);
    *to = strdup(s);
}

/* The contexts that the program has, in preorder; what a thread has is drawn from them. */
static struct context {
    uint32_t parent, depth, children, function, offset;
} *contexts;

/* The weights of each context in one thread. */
static uint64_t (*weights)[METRICS_MAX];

static void contexts_make(void)
{
    contexts = array(context_count, sizeof *contexts);
    weights = array(context_count, sizeof *weights);
    for (uint32_t i = 1; i < context_count; i++) {
        uint32_t parent = i - 1;
        while (parent && (contexts[parent].depth == DEEPEST || draw(100) < 38))
            parent = contexts[parent].parent;
        /* No two children of one node are of one place: a recording has none. */
        uint32_t child = contexts[parent].children++;
        uint32_t function = (uint32_t)draw(1 + draw(FUNCTIONS)) / 8 * 8 + child / 40 % 8;
        contexts[i] = (struct context){parent, contexts[parent].depth + 1, 0, function,
                                       0x1000 + (function / IMAGES) * 256 + 4 * (child % 40)};
    }
}

/* Some are much more frequent than others. */
static uint32_t context_draw(uint32_t bias)
{
    uint64_t most = 1 + draw(1 + draw(context_count - 1));
    return 1 + (uint32_t)((draw(most) * 7919 + bias) % (context_count - 1));
}

static void images_make(struct profile *p)
{
    p->images = array(IMAGES, sizeof *p->images);
    p->image_count = IMAGES;
    p->names = profile_names_new(IMAGES);
    for (uint32_t i = 0; i < IMAGES; i++) {
        struct profile_image *m = &p->images[i];
        m->path = text(i ? "/usr/lib/libpart%u.so" : "/usr/bin/program", i);
        m->build_id_size = 20;
        memset(m->build_id, (int)i + 1, 20);
        m->last_vaddr = 0x1000 + FUNCTIONS * 256;
        m->flags = i ? 0 : PROFILE_IMAGE_MAIN;
        p->names->images[i].level = 3;
    }
    uint32_t *name = array(FUNCTIONS, sizeof *name);
    for (uint32_t k = 0; k < FUNCTIONS; k++) {
        char *function = text("program::part::function_%u(std::vector<int> const&, int)", k);
        char *file = text("/build/program/source/part_%u.cc", k / 20);
        struct profile_name one = {.function = profile_names_string(p->names, function),
                                   .file = profile_names_string(p->names, file),
                                   .line = 10 + k % 20 * 30,
                                   .start = 0x1000 + k / IMAGES * 256};
        name[k] = profile_names_add(p->names, &one);
        free(function);
        free(file);
    }
    for (uint32_t k = 0; k < FUNCTIONS; k++)
        for (uint32_t at = 0; at < 40; at++)
            profile_names_place(p->names, k % IMAGES, 0x1000 + k / IMAGES * 256 + 4 * at, name[k]);
    free(name);
}

static void thread_tree(struct profile *p, struct profile_thread *t)
{
    uint32_t *at = array(context_count, sizeof *at); /* 1 + its node; or 0 */
    for (uint32_t i = context_count; i-- > 1;) {
        for (uint32_t m = 0; m < p->metric_count; m++)
            at[i] |= weights[i][m] != 0;
        at[contexts[i].parent] |= at[i];
    }
    at[0] = 1;
    for (uint32_t i = 0; i < context_count; i++)
        if (at[i])
            at[i] = ++t->node_count;
    t->nodes = array(t->node_count, sizeof *t->nodes);
    for (uint32_t i = 0; i < context_count; i++) {
        if (!at[i])
            continue;
        struct profile_node *n = &t->nodes[at[i] - 1];
        n->parent = i ? at[contexts[i].parent] - 1 : UINT32_MAX;
        n->subtree = 1;
        n->image = i ? contexts[i].function % IMAGES : PROFILE_IMAGE_PSEUDO;
        n->offset = i ? contexts[i].offset : KEY_ROOT;
        n->self = weights[i][0];
        memcpy(n->more, weights[i] + 1, sizeof n->more);
    }
    for (uint32_t i = t->node_count; i-- > 1;)
        t->nodes[t->nodes[i].parent].subtree += t->nodes[i].subtree;
    for (uint32_t i = 0, bin = 0; i < context_count; i++)
        for (uint64_t left = weights[i][0], part; left; left -= part) {
            part = 1 + draw(left);
            bin = (bin + 37) % 1000;
            profile_timeline_add(&t->timeline,
                                 &(struct profile_moment){bin, 0, at[i] - 1, 0, part});
        }
    profile_timeline_settle(t->timeline);
    if (t->timeline)
        t->timeline->shift = BIN_SHIFT;
    free(at);
}

static void thread_make(struct profile *p, struct profile_thread *t, uint32_t process,
                        uint32_t index, uint32_t samples)
{
    *t = (struct profile_thread){.process = process,
                                 .tid = p->processes[process].pid + (int32_t)index,
                                 .name = text("worker-%u", index), .end_ns = UINT64_C(5000000000),
                                 .cpu_ns = samples * UINT64_C(1000000), .taken = samples,
                                 .weight = samples,
                                 .weight_squares = samples, .deliveries = samples,
                                 .cost_ns = samples * UINT64_C(2000)};
    memset(weights, 0, context_count * sizeof *weights);
    t->others = profile_sampled_new(p);
    for (uint32_t i = 0; i < samples; i++)
        weights[context_draw(process % 3 * 50)][0]++;
    for (uint32_t i = 0; i < samples / 10; i++)
        weights[context_draw(700)][1]++;
    for (uint32_t i = 0; i < samples / 5; i++) {
        uint64_t *w = weights[context_draw(1900)];
        w[2]++;
        w[3] += draw(4) == 0;
        w[4] += draw(3) == 0;
    }
    t->others[0].taken = t->others[0].weight = samples / 10;
    t->others[1].taken = t->others[1].weight = samples / 5;
    thread_tree(p, t);
}

static void metrics_make(struct profile *p)
{
    static const char *const more[][3] =
        {{"faults", "page-faults", "events"}, {"allocated", "malloc", "bytes"},
                                          {"live", "malloc", "bytes"}, {"peak", "malloc", "bytes"}};
    set(&p->metrics[0].name, "time");
    set(&p->metrics[0].trigger, "cpu");
    set(&p->metrics[0].unit, "nanoseconds");
    p->metrics[0].period = 1000000;
    for (unsigned i = 0; i < sizeof more / sizeof *more; i++) {
        char *name = strdup(more[i][0]), *trigger = strdup(more[i][1]), *unit = strdup(more[i][2]);
        profile_metric_add(
            p, &(struct profile_metric){name, trigger, unit, i ? 65536 : 16, METRIC_REGULAR});
        free(name);
        free(trigger);
        free(unit);
    }
}

int main(int argc, char **argv)
{
    uint32_t sizes[] = {500, 2, 500, context_count};
    struct err e = {0};
    if (argc < 2)
        return 2;
    for (int i = 2; i < argc && i < 6; i++)
        sizes[i - 2] = (uint32_t)strtoul(argv[i], NULL, 10);
    struct profile *p = profile_new();
    set(&p->command, "program --serve");
    p->duration_ns = UINT64_C(5000000000);
    metrics_make(p);
    context_count = sizes[3];
    contexts_make();
    images_make(p);
    p->processes = array(sizes[0], sizeof *p->processes);
    p->process_count = sizes[0];
    p->threads = array((size_t)sizes[0] * sizes[1], sizeof *p->threads);
    for (uint32_t i = 0; i < sizes[0]; i++) {
        struct profile_process *r = &p->processes[i];
        *r = (struct profile_process){.pid = (int32_t)(1000 + 10 * i), .ppid = 1,
                                      .name = text("program", i),
                                      .command = text("program --serve --shard=%u", i),
                                      .end = PROFILE_END_EXIT,
                                      .end_ns = p->duration_ns, .epochs = 1, .map_count = IMAGES};
        r->maps = array(IMAGES, sizeof *r->maps);
        for (uint32_t k = 0; k < IMAGES; k++) {
            uint64_t bias =
                UINT64_C(0x7f0000000000) + (draw(1 << 20) << 12) + k * UINT64_C(0x200000000);
            r->maps[k] =
                (struct profile_map){k, 0, 0, bias, bias + 0x1000, bias + p->images[k].last_vaddr};
        }
        for (uint32_t k = 0; k < sizes[1]; k++)
            thread_make(p, &p->threads[p->thread_count++], i, k, sizes[2]);
    }
    uint64_t nodes = 0, moments = 0;
    for (uint32_t i = 0; i < p->thread_count; i++) {
        nodes += p->threads[i].node_count;
        moments += p->threads[i].timeline ? p->threads[i].timeline->count : 0;
    }
    bool ok = profile_write(p, argv[1], &e);
    printf("%u processes, %u threads, %lu nodes, %lu moments\n", p->process_count, p->thread_count,
           nodes, moments);
    if (!ok)
        fprintf(stderr, "%s\n", e.message);
    profile_free(p);
    return !ok;
}

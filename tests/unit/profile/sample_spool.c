#include "sample.h"

#include "lead.h"
#include "sigsafe/settings.h"
#include "sigsafe/spool_waste_paths.h"
#include "sigsafe/tools.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct spool sample_spool_new(uint64_t size)
{
    struct spool s = {.mapped = size};
    s.base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE,
                  -1, 0);
    if (s.base == MAP_FAILED)
        abort();
    struct spool_header *h = spool_header(&s);
    h->magic = SPOOL_MAGIC;
    h->version = SPOOL_VERSION;
    h->layout = SPOOL_LAYOUT;
    h->process_size = sizeof(struct spool_process);
    h->thread_size = sizeof(struct spool_thread);
    h->size = h->limit = size;
    h->next = SPOOL_HEADER_SIZE;
    h->start_realtime_ns = 77;
    h->start_monotonic_ns = 1000;
    h->tsc_hz = 2000000000;
    settings_put(&s, &(struct settings){.sampling = {.trigger = TRIGGER_CPU, .period = 1003009,
                                                     .randomize = 1, .budget_ppm = 10000,
                                                     .delivery_ns = 1300}});
    return s;
}

void sample_spool_free(struct spool *s)
{
    munmap(s->base, s->mapped);
}

struct spool_process *sample_process(const struct spool *s, int pid)
{
    struct spool_process *p = spool_alloc_as(s, sizeof *p);
    p->pid = pid;
    p->ppid = 1;
    p->state = PROCESS_EXITED;
    p->start_ns = 1500;
    p->end_ns = 9000;
    p->epoch = 1;
    static const char command[] = "prog\0an argument\0it's\0";
    p->command = spool_string_as(s, command, sizeof command - 1);
    memcpy(p->name, "a-name-16-bytes!", 16);
    p->drops[DROP_LATE] = 2;
    spool_push_as(s, &spool_header(s)->processes, p);
    return p;
}

struct spool_thread *sample_thread(const struct spool *s, struct spool_process *p, int tid)
{
    struct spool_thread *t = spool_alloc_as(s, sizeof *t);
    struct cct_node *root = spool_alloc_as(s, sizeof *root);
    root->key = key_pseudo(KEY_ROOT);
    t->tid = tid;
    t->tree = spool_ref_of(s, root);
    memcpy(t->name, "worker", 6);
    t->start_ns = 2000;
    t->cost_ticks = 4000;
    spool_push_as(s, &p->threads, t);
    return t;
}

struct spool_image *sample_image(const struct spool *s, uint32_t number, const char *path)
{
    struct spool_image *m = spool_alloc_as(s, sizeof *m);
    m->number = number;
    m->build_id_size = 20;
    memset(m->build_id, (int)number, 20);
    m->file_size = 1000 + number;
    m->mtime_ns = 5;
    m->path = spool_string_as(s, path, strlen(path));
    spool_push_as(s, &spool_header(s)->images, m);
    return m;
}

/* The child of `parent` with this key, made if need be; NULL when the spool is full. */
static struct cct_node *child_of(const struct spool *s, struct cct_node *parent, uint64_t key)
{
    spool_ref *link = &parent->child;
    uint64_t hash = cct_hash(key);
    while (*link) {
        struct cct_node *n = spool_at(s, *link, sizeof *n);
        if (n->key == key)
            return n;
        link = hash & 1 ? &n->right : &n->left;
        hash >>= 1;
    }
    struct cct_node *made = spool_alloc_as(s, sizeof *made);
    if (made) {
        made->key = key;
        /* As cct.h demands: the node is complete before it can be found. */
        __atomic_store_n(link, spool_ref_of(s, made), __ATOMIC_RELEASE);
    }
    return made;
}

bool sample_insert_at(const struct spool *s, struct spool_thread *t, const uint64_t *keys,
                      uint32_t depth, struct timeline *line, uint64_t ns)
{
    struct cct_node *n = spool_at(s, t->tree, sizeof *n);
    for (uint32_t i = 0; n && i < depth; i++)
        n = child_of(s, n, keys[i]);
    if (!n)
        return false;
    n->samples++;
    t->taken++;
    t->weight++;
    t->weight_squares++;
    const struct timeline_moment m = {
        .ns = ns, .weight = 1, .metric = t->which, .node = spool_ref_of(s, n)};
    return !line || timeline_add_as(line, s, &t->timeline, &m);
}

bool sample_insert(const struct spool *s, struct spool_thread *t, const uint64_t *keys,
                   uint32_t depth)
{
    return sample_insert_at(s, t, keys, depth, NULL, 0);
}

struct counts_window sample_counts(const struct spool *s, struct spool_process *p)
{
    struct counts_window w = {0};
    uint64_t *space = mmap(NULL, COUNTS_PIECE * sizeof *space, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    struct spool_counts *c = counts_begin_as(s, p);
    if (space == MAP_FAILED || !c || !counts_window_begin_as(s, c, &w, space, COUNTS_PIECE, p->pid))
        abort();
    for (uint64_t i = 0; i < 60; i++) {
        uint64_t at = key_make(1 + (unsigned)(i % 3), 0x1000 + 16 * i), to = at + 0x40;
        struct spool_thing block = {
            .key = at, .kind = THING_BLOCK,
            .block = {{[CLASS_MOVE] = 3, [CLASS_BRANCH] = 1}, .bytes = 12, .instructions = 4}};
        struct spool_thing edge = {.key = at + 9, .edge.to = to, .kind = THING_EDGE};
        if (counts_thing_as(s, c, &block) == COUNTS_NONE ||
            counts_thing_as(s, c, &edge) == COUNTS_NONE)
            abort();
    }
    if (!counts_window_grow_as(s, &w, counts_ids_as(s, c)))
        abort();
    c->stopped[STOP_RSEQ] = 2;
    c->bursts = 70;
    return w;
}

void sample_paths_in(const struct spool *s, struct spool_counts *c)
{
    struct path_store store = {0};
    uint32_t ids[5];
    if (!paths_begin_as(&store, s, c, 7))
        abort();
    /* Of the blocks, whose ids are even. */
    for (uint32_t i = 0; i < 30; i++) {
        uint64_t hash = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
        for (uint32_t k = 0; k < 5; k++)
            ids[k] = 2 * ((i * (k + 3)) % 60);
        paths_insert_as(&store, hash, ids, 1 + i % 5, 4 * (1 + i % 5));
        for (uint32_t k = 0; k < i; k++)
            paths_count_as(&store, hash);
    }
    store.record->dropped = 11;
    store.record->cut_instructions = 3;
}

void sample_streams_in(const struct spool *s, struct spool_counts *c)
{
    static struct rows_store store;
    if (!rows_begin_as(&store, s, c, &c->tables[TABLE_STREAMS], 0, STREAM_LAYOUT, 7))
        abort();
    for (uint64_t i = 0; i < 20; i++) {
        struct spool_thing access = {.key = key_make(1, 0x1000 + 16 * i), .kind = THING_ACCESS,
                                     .access = {.bytes = 8, .way = (uint16_t)(1 + i % 3)}};
        uint32_t id = counts_thing_as(s, c, &access);
        struct spool_stream *row = id == COUNTS_NONE ? NULL : rows_at_as(&store, id);
        if (!row)
            abort();
        for (uint64_t k = 0; k < 10 + i; k++)
            stream_access_as(row, 0x10000 + k * 8 * i + k / 4);
    }
    store.record->missed = 3;
}

/* Pairs of two accesses, in five contexts from the thread's root down, each with the one above, the
 * first with one that is none. */
static void sample_waste_paths_in(const struct spool *s, struct spool_counts *c, uint32_t first,
                                  const struct spool_thread *t)
{
    spool_ref last = 1, at = t->tree;
    struct spool_waste_paths *paths = spool_alloc_as(s, sizeof *paths);
    if (!paths)
        abort();
    spool_push_as(s, &c->tables[WASTE_PATHS_TABLE], paths);
    paths->evicted = 3;
    for (uint32_t i = 0; i < 5; i++) {
        const struct cct_node *node = spool_at(s, at, sizeof *node);
        struct waste_path one = {.access = first + 1, .with = first + 2, .from = at, .to = last,
                                 .kind = WASTE_DEAD, .count = 2, .bytes = 16};
        last = at;
        at = node->child;
        struct waste_path_set *set = waste_path_set_as(s, paths, 0);
        if (!set)
            abort();
        waste_path_note_as(paths, set, &one);
    }
}

/* An access of 100 loads and 100 stores, of which 10 make a pair. */
static void sample_waste_access(const struct spool *s, struct waste_totals *t,
                                struct spool_waste *row, uint32_t kind, uint32_t with)
{
    struct waste_cell loads = {.kind = WASTE_LOADS, .count = 100, .bytes = 800};
    struct waste_cell stores = {.kind = WASTE_STORES, .count = 100, .bytes = 800};
    struct waste_cell pair = {.kind = kind, .with = with, .count = 10, .bytes = 80};
    if (!waste_note_as(s, t, row, loads) || !waste_note_as(s, t, row, stores) ||
        !waste_note_as(s, t, row, pair))
        abort();
}

void sample_waste_in(const struct spool *s, struct spool_counts *c, const struct spool_thread *t)
{
    static struct rows_store store;
    uint32_t first = 0;
    struct waste_totals *sums = spool_alloc_as(s, sizeof *sums);
    if (!sums || !rows_begin_as(&store, s, c, &c->tables[TABLE_WASTE], 0, WASTE_LAYOUT, 7))
        abort();
    sums->sums.live_bytes = 17;
    for (uint64_t i = 0; i < 21; i++) {
        struct spool_thing totals = {.kind = THING_TOTALS};
        struct spool_thing access = {.key = key_make(1, 0x3000 + 16 * i), .kind = THING_ACCESS,
                                     .access = {.bytes = 8, .way = (uint16_t)(1 + i % 3)}};
        uint32_t id = counts_thing_as(s, c, i < 20 ? &access : &totals);
        struct spool_waste *row = id == COUNTS_NONE ? NULL : rows_at_as(&store, id);
        if (!row)
            abort();
        first = i ? first : id;
        if (i < 20)
            sample_waste_access(s, sums, row, (uint32_t)(i % 3),
                                first + 1 + (uint32_t)(i + 1) % 20);
        else
            row->first = spool_ref_of(s, sums);
    }
    store.record->missed = 2;
    sample_waste_paths_in(s, c, first, t);
}

void sample_results_in(const struct spool *s, struct spool_counts *c, struct counts_window *w)
{
    static struct rows_store store;
    struct hotlist_random random;
    hotlist_random_seed(&random, 1);
    if (!rows_begin_as(&store, s, c, &c->tables[TABLE_RESULTS], 0, RESULT_LAYOUT, 7))
        abort();
    w->record->tables[TABLE_RESULTS] = spool_ref_of(s, store.record);
    for (uint64_t i = 0; i < 20; i++) {
        struct spool_thing result = {
            .key = key_make(2, 0x2000 + 16 * i), .result.bytes = 8, .kind = THING_RESULT};
        uint32_t id = counts_thing_as(s, c, &result);
        struct spool_result *row = id == COUNTS_NONE ? NULL : rows_at_as(&store, id);
        struct counts_lead lead = {0};
        if (!row)
            abort();
        for (uint64_t k = 0; k < 40; k++)
            result_add(&lead, result_front_at(rows_chunk(&store, id), id), row, k % (1 + 2 * i),
                       &random);
        w->base[id] = (uint64_t)lead.left;
        struct spool_thing copy = {
            .key = key_make(2, 0x2008 + 16 * i), .kind = THING_RESULT,
            .result = {.copy_of = id, .bytes = 8}};
        if (counts_thing_as(s, c, &copy) == COUNTS_NONE)
            abort();
    }
    store.record->missed = 5;
}

struct spool sample_spool(uint64_t size, uint32_t samples, uint64_t seed)
{
    struct spool s = sample_spool_new(size);
    struct spool_image *images[4];
    struct spool_thread *threads[3];
    static struct timeline lines[3];
    for (uint32_t i = 0; i < 4; i++) {
        char path[32];
        snprintf(path, sizeof path, "/lib/image-%u.so", i);
        images[i] = sample_image(&s, i + 1, path);
    }
    struct spool_process *a = sample_process(&s, 100), *b = sample_process(&s, 200);
    threads[0] = sample_thread(&s, a, 100);
    threads[1] = sample_thread(&s, a, 101);
    threads[2] = sample_thread(&s, b, 200);
    for (uint32_t i = 0; i < 4; i++) {
        struct spool_map *m = spool_alloc_as(&s, sizeof *m);
        *m = (struct spool_map){.image = spool_ref_of(&s, images[i]), .bias = i << 20,
                                .lo = i << 20, .hi = (i + 1) << 20, .epoch_first = 1};
        spool_push_as(&s, i & 1 ? &a->maps : &b->maps, m);
    }
    memset(lines, 0, sizeof lines);
    /* Stacks as programs have them: a common trunk, then a walk through few call sites. */
    for (uint32_t i = 0; i < samples; i++) {
        uint64_t keys[40] = {key_make(1, 0x1200), key_make(2, 0x4567), key_make(2, 0x4890)};
        uint32_t depth = 3 + (uint32_t)sample_random(&seed, 20);
        for (uint32_t k = 3; k < depth; k++) {
            uint64_t choice = sample_random(&seed, 16);
            choice = choice < 12 ? 0 : choice - 11;
            keys[k] = key_make(1 + k % 4, 0x10000 + 0x1357 * k + 0x91 * choice);
        }
        uint64_t k = sample_random(&seed, 3);
        sample_insert_at(&s, threads[k], keys, depth, &lines[k], i * UINT64_C(700000));
    }
    settings_sampling_as(&s)->carrier = CARRIER_BURST;
    settings_sampling_as(&s)->tools = tools_one(TOOL_EDGES);
    settings_burst_as(&s)->length = 1000;
    struct counts_window w = sample_counts(&s, a);
    sample_paths_in(&s, spool_at(&s, a->counts, sizeof(struct spool_counts)));
    sample_streams_in(&s, spool_at(&s, a->counts, sizeof(struct spool_counts)));
    sample_waste_in(&s, spool_at(&s, a->counts, sizeof(struct spool_counts)), threads[0]);
    sample_productions_in(&s, spool_at(&s, a->counts, sizeof(struct spool_counts)));
    sample_results_in(&s, spool_at(&s, a->counts, sizeof(struct spool_counts)), &w);
    for (uint32_t i = 0; i < 120; i++)
        w.base[i] = sample_random(&seed, 3) * i;
    munmap(w.base, w.capacity * sizeof *w.base);
    return s;
}

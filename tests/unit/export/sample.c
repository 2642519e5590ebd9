#include "sample.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/timeline.h"

struct symbols {
    int unused;
};

struct entry {
    uint32_t image;
    uint64_t offset;
    struct symbol_frame frames[3];
    uint32_t count;
};

enum { DEMO = 0, LIBC = 1, STRIPPED = 2, NONE = PROFILE_IMAGE_NONE };

/* What code there is. Offsets of callers are return addresses - 1. */
static const struct entry entries[] = {
    {DEMO, 0x1104, {{"main", "/src/demo.c", 10, 0x1100, false, false}}, 1},
    {DEMO, 0x1204, {{"even", "/src/demo.c", 20, 0x1200, false, false}}, 1},
    {DEMO, 0x1304, {{"odd", "/src/demo.c", 30, 0x1300, false, false}}, 1},
    {DEMO, 0x1208, {{"even", "/src/demo.c", 22, 0x1200, false, false}}, 1},
    {DEMO, 0x1404,
     {{"innermost", "/src/inline.h", 3, 0x1400, true, false},
      {"middle", "/src/inline.h", 7, 0x1400, true, false},
      {"outer", "/src/demo.c", 40, 0x1400, false, false}},
     3},
    {DEMO, 0x1504, {{"ns::f<a; b>(int,\nchar)", "/src/odd name.cc", 50, 0x1500, false, false}}, 1},
    {DEMO, 0x1604, {{"caf\xc3\xa9 \xff\"quote\\", "", 0, 0x1600, false, false}}, 1},
    {LIBC, 0x9104, {{"memcpy", "", 0, 0x9100, false, false}}, 1},
    {LIBC, 0x9204, {{"start_thread", "", 0, 0x9200, false, false}}, 1},
    {STRIPPED, 0x404, {{"[libstripped.so+0x404]", "", 0, 0, false, false}}, 1},
    {NONE, 0x7f0000001000, {{"jit:loop", "", 0, 0x7f0000001000, false, false}}, 1},
};
#define ENTRY_COUNT (sizeof entries / sizeof *entries)

struct symbol_location symbols_find(const struct symbols *s, const struct profile_process *process,
                                    uint32_t image, uint64_t offset)
{
    (void)s;
    (void)process;
    for (size_t i = 0; i < ENTRY_COUNT; i++)
        if (entries[i].image == image && entries[i].offset == offset)
            return (struct symbol_location){entries[i].frames, entries[i].count};
    assert(false && "an address that is not in the sample");
    return (struct symbol_location){entries[0].frames, 1};
}

const char *symbols_image_name(const struct symbols *s, uint32_t image)
{
    static const char *const names[] = {"demo", "libc.so.6", "libstripped.so"};
    (void)s;
    return image < 3 ? names[image] : "[jit]";
}

const char *symbols_place_name(const struct symbols *s, uint32_t image, uint64_t offset)
{
    return entity_is(offset) ? "[entity]" : symbols_image_name(s, image);
}

const struct symbols *sample_symbols(void)
{
    static const struct symbols nothing;
    return &nothing;
}

struct row {
    int32_t depth;
    uint32_t image;
    uint64_t offset, self, calls;
};

/* Depth by depth, in preorder. */
static const struct row main_rows[] = {
    {0, PROFILE_IMAGE_PSEUDO, KEY_ROOT, 0, 0},
    {1, PROFILE_IMAGE_PSEUDO, KEY_TRUNCATED, 0, 0},
    {2, LIBC, 0x9104, 2, 0},
    {1, PROFILE_IMAGE_PSEUDO, KEY_UNATTRIBUTED, 1, 0},
    {1, DEMO, 0x1104, 4, 0},
    {2, DEMO, 0x1204, 8, 5},
    {3, DEMO, 0x1304, 16, 5},
    {4, DEMO, 0x1204, 32, 0},
    {5, DEMO, 0x1304, 0, 0},
    {6, LIBC, 0x9104, 64, 0},
    {4, DEMO, 0x1208, 3, 0},
    {2, DEMO, 0x1404, 128, 0},
    {3, LIBC, 0x9104, 256, 7},
    {2, DEMO, 0x1504, 512, 0},
    {3, DEMO, 0x1604, 1024, 0},
    {4, NONE, 0x7f0000001000, 2048, 0},
    {4, STRIPPED, 0x404, 4096, 0},
};

static const struct row thread_rows[] = {
    {0, PROFILE_IMAGE_PSEUDO, KEY_ROOT, 0, 0},
    {1, LIBC, 0x9204, 0, 0},
    {2, DEMO, 0x1404, 11, 0},
    {3, DEMO, 0x1404, 13, 0},
};

static void tree_build(struct profile_thread *t, const struct row *rows, uint32_t count)
{
    t->nodes = calloc(count, sizeof *t->nodes);
    assert(t->nodes);
    t->node_count = count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t parent = UINT32_MAX;
        for (uint32_t k = i; k-- > 0 && parent == UINT32_MAX;)
            if (rows[k].depth == rows[i].depth - 1)
                parent = k;
        t->nodes[i] = (struct profile_node){.parent = parent, .subtree = 1,
            .image = rows[i].image, .offset = rows[i].offset, .self = rows[i].self,
            .calls = rows[i].calls};
        for (uint32_t k = parent; k != UINT32_MAX; k = t->nodes[k].parent)
            t->nodes[k].subtree++;
        t->weight += rows[i].self;
    }
    t->taken = t->weight;
}

/* A preorder walk that goes up and down at random. */
static void tree_random(struct profile_thread *t, uint32_t count, uint32_t seed)
{
    struct row *rows = calloc(count, sizeof *rows);
    assert(rows);
    rows[0] = main_rows[0];
    for (uint32_t i = 1; i < count; i++) {
        seed = seed * 1103515245u + 12345u;
        uint32_t draw = seed >> 16;
        int32_t highest = rows[i - 1].depth + 1;
        const struct entry *entry = &entries[draw % ENTRY_COUNT];
        rows[i].depth = 1 + (int32_t)((draw >> 4) % (uint32_t)(highest < 40 ? highest : 40));
        rows[i].depth = draw % 3 ? highest : rows[i].depth;
        rows[i].depth = rows[i].depth > 60 ? 60 : rows[i].depth;
        rows[i].image = entry->image;
        rows[i].offset = entry->offset;
        rows[i].self = (draw >> 7) % 4;
    }
    tree_build(t, rows, count);
    free(rows);
}

static void tree_deep(struct profile_thread *t)
{
    enum { DEPTH = 5000 };
    static struct row rows[DEPTH + 1];
    rows[0] = main_rows[0];
    for (int32_t i = 1; i <= DEPTH; i++)
        rows[i] = (struct row){i, DEMO, i == 1 ? 0x1104 : i % 2 ? 0x1204 : 0x1304, 0, 0};
    rows[DEPTH].self = 7;
    rows[DEPTH - 1].self = 2;
    tree_build(t, rows, DEPTH + 1);
}

static void images_build(struct profile *p)
{
    static const struct profile_image images[] = {
        {.path = NULL, .build_id = {0xde, 0xad, 0x01}, .build_id_size = 3,
         .flags = PROFILE_IMAGE_MAIN, .first_vaddr = 0, .last_vaddr = 0x4000},
        {.build_id = {0x0b, 0xad}, .build_id_size = 2, .first_vaddr = 0, .last_vaddr = 0x20000},
        {.first_vaddr = 0, .last_vaddr = 0x1000},
    };
    static const char *const paths[] = {"/usr/bin/demo", "/lib/libc.so.6", "/opt/libstripped.so"};
    p->image_count = 3;
    p->images = calloc(3, sizeof *p->images);
    assert(p->images);
    for (uint32_t i = 0; i < 3; i++) {
        p->images[i] = images[i];
        p->images[i].path = strdup(paths[i]);
    }
}

static void processes_build(struct profile *p, uint32_t count)
{
    static const struct profile_map maps[] = {
        {0, 0, 0, 0x550000000000, 0x550000000000, 0x550000004000},
        {1, 0, 0, 0x7f1000000000, 0x7f1000000000, 0x7f1000020000},
        {2, 0, 0, 0x7f2000000000, 0x7f2000000000, 0x7f2000001000},
    };
    p->process_count = count;
    p->processes = calloc(count, sizeof *p->processes);
    assert(p->processes);
    for (uint32_t i = 0; i < count; i++) {
        struct profile_process *process = &p->processes[i];
        process->pid = 100 + (int32_t)i;
        process->name = strdup("demo");
        process->command = strdup("demo --fast 'a b'");
        process->maps = calloc(3, sizeof *process->maps);
        assert(process->maps);
        memcpy(process->maps, maps, sizeof maps);
        process->map_count = 3;
    }
}

static struct profile_thread *thread_add(struct profile *p, uint32_t process, int32_t tid,
                                         const char *name)
{
    p->threads = realloc(p->threads, (p->thread_count + 1u) * sizeof *p->threads);
    assert(p->threads);
    struct profile_thread *t = &p->threads[p->thread_count++];
    *t = (struct profile_thread){.process = process, .tid = tid, .name = strdup(name)};
    return t;
}

static void moments_add(struct profile_thread *t, const struct profile_moment *list,
                        uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        bool ok = profile_timeline_add(&t->timeline, &list[i]);
        assert(ok);
    }
    t->timeline->shift = 20;
    profile_timeline_settle(t->timeline);
}

/* check_firefox.py knows these numbers. */
static void timeline_build(struct profile *p)
{
    static const struct profile_moment outside[] = {
        {10, 0, 4, 0, 4},      {10, 0, 5, 0, 3},     {12, 0, PROFILE_REST, 0, 40},
        {4000, 1999, 16, 0, 4000}, {5000, 0, 16, 0, 96}, {5000, 0, PROFILE_REST, 0, 20}};
    static const struct profile_moment inside[] = {{100, 0, 2, 0, 11}, {101, 0, 3, 0, 13}};
    struct profile_thread *t = &p->threads[0];
    t->end_ns = p->duration_ns;
    t->drops[0] = 5;
    moments_add(t, outside, sizeof outside / sizeof *outside);
    t = thread_add(p, 0, t->tid, "demo");
    t->phase = 1 + profile_phase_intern(p, "load", 0);
    t->end_ns = p->duration_ns;
    tree_build(t, thread_rows, sizeof thread_rows / sizeof *thread_rows);
    moments_add(t, inside, sizeof inside / sizeof *inside);
    p->processes[0].end_ns = p->processes[1].end_ns = p->duration_ns;
    p->processes[0].end = PROFILE_END_EXIT;
    p->processes[1].ppid = p->processes[0].pid;
    p->processes[1].start_ns = UINT64_C(1000000000);
    p->processes[1].rank = 4;
    p->processes[1].end = PROFILE_END_EXEC;
}

struct profile *sample_build(const char *which)
{
    struct profile *p = profile_new();
    assert(p);
    bool events = strcmp(which, "events") == 0;
    free(p->metrics[0].trigger);
    free(p->metrics[0].unit);
    free(p->command);
    free(p->notes);
    p->metrics[0].trigger = strdup(events ? "page-faults" : "cpu");
    p->metrics[0].unit = strdup(events ? "events" : "nanoseconds");
    p->command = strdup("demo --fast 'a b'");
    p->notes = strdup("First note.\nSecond note.\n");
    p->metrics[0].period = 1003009;
    p->start_realtime_ns = UINT64_C(1700000000000000000);
    p->duration_ns = UINT64_C(9000000000);
    images_build(p);
    bool timeline = strcmp(which, "timeline") == 0;
    processes_build(p, timeline || strcmp(which, "processes") == 0 ? 2 : 1);
    if (strcmp(which, "random") == 0) {
        tree_random(thread_add(p, 0, 100, "demo"), 20000, 1);
        return p;
    }
    if (strcmp(which, "deep") == 0) {
        tree_deep(thread_add(p, 0, 100, "demo"));
        return p;
    }
    for (uint32_t i = 0; i < p->process_count; i++) {
        int32_t pid = p->processes[i].pid;
        tree_build(thread_add(p, i, pid, "demo"), main_rows, sizeof main_rows / sizeof *main_rows);
        tree_build(thread_add(p, i, pid + 50, "worker;1"), thread_rows,
                   sizeof thread_rows / sizeof *thread_rows);
        thread_add(p, i, pid + 51, "idle");
    }
    if (timeline)
        timeline_build(p);
    return p;
}

void sample_free(struct profile *p)
{
    profile_free(p);
}

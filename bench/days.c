/* Fills a profile database with days that nobody has lived, for the time that queries take.
 *
 *      days DATABASE DAYS SERVICES STACKS [zipf]
 *
 * Each service has as many different stacks an hour, of 8 to 31 frames, out of a pool that is four
 * times as large and changes a little every day; stacks that begin alike share their callers. Each
 * has one to three samples; zipf: the n-th of the pool has 1000 / n besides. Every function has
 * three addresses. Hours are as the daemon leaves them: one slot each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "database/store.h"
#include "profile/tree_sum.h"

#define HOUR_NS INT64_C(3600000000000)
#define BEGIN_NS (INT64_C(1793145600) * 1000000000) /* 2026-10-28 00:00 UTC */

enum { FRAMES_MOST = 32, IMAGES = 300, FUNCTIONS = 4000, POOL_TIMES = 4, ADDRESSES = 3,
       STEP = 0x40, ZIPF_MOST = 1000 };

static uint64_t mix(uint64_t x)
{
    x ^= x >> 31;
    x *= UINT64_C(0x9e3779b97f4a7c15);
    x ^= x >> 29;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    return x ^ x >> 32;
}

static void images_make(struct profile *p)
{
    char path[64];
    p->images = calloc(IMAGES, sizeof *p->images);
    p->image_count = IMAGES;
    for (uint32_t i = 0; i < IMAGES; i++) {
        uint64_t id = mix(i + 1);
        snprintf(path, sizeof path, "/usr/lib/x86_64-linux-gnu/libnumber%u.so.1", i);
        p->images[i] = (struct profile_image){.path = strdup(path), .build_id_size = 20,
                                              .file_size = 100000 + i};
        memcpy(p->images[i].build_id, &id, sizeof id);
    }
}

static void names_make(struct profile *p)
{
    char text[96];
    p->names = profile_names_new(IMAGES);
    for (uint32_t i = 0; i < IMAGES; i++) {
        p->names->images[i].level = NAMES_SYMBOLS;
        for (uint32_t f = i; f < FUNCTIONS; f += IMAGES) {
            snprintf(text, sizeof text, "library_%u_function_with_a_name_%u", i, f);
            struct profile_name name = {.function = profile_names_string(p->names, text),
                                        .start = 0x1000 + (uint64_t)f * 0x100};
            uint32_t index = profile_names_add(p->names, &name);
            for (unsigned k = 0; k < ADDRESSES; k++)
                profile_names_place(p->names, i, name.start + (k + 1) * STEP, index);
        }
    }
}

/* The frame that a stack has at a depth: stacks whose numbers begin alike share it. */
static struct profile_node frame_at(uint32_t service, uint64_t stack, unsigned depth,
                                    unsigned frames)
{
    unsigned shared = depth + 1 < frames && depth < 12 ? 12 - depth : 0;
    uint64_t h = mix(mix(service * UINT64_C(1000003) + (stack >> shared)) + depth);
    uint32_t function = (uint32_t)(h % FUNCTIONS);
    return (struct profile_node){.image = function % IMAGES,
                                 .offset = 0x1000 + (uint64_t)function * 0x100 +
                                           (1 + h / FUNCTIONS % ADDRESSES) * STEP};
}

static void thread_make(struct profile *p, uint32_t service, uint32_t stacks, uint64_t hour,
                        uint64_t most)
{
    struct profile_thread *t = &p->threads[service];
    struct tree_sum sum = {0};
    struct profile_node path[FRAMES_MOST + 1];
    uint32_t index_of[FRAMES_MOST + 1];
    for (uint32_t i = 0; i < stacks; i++) {
        uint64_t pool = (uint64_t)stacks * POOL_TIMES, r = mix(hour * 7919 + i);
        uint64_t stack = r % pool + hour / 24 * pool / 50;
        unsigned frames = 8 + (unsigned)(mix(stack) % (FRAMES_MOST - 8));
        path[0] = (struct profile_node){.parent = UINT32_MAX, .image = PROFILE_IMAGE_PSEUDO};
        for (unsigned d = 0; d < frames; d++) {
            path[d + 1] = frame_at(service, stack, d, frames);
            path[d + 1].parent = d;
        }
        path[frames].self = 1 + r % 3 + most / (stack % pool + 1);
        t->taken += path[frames].self;
        tree_sum_add(&sum, path, frames + 1, index_of);
    }
    t->weight = t->weight_squares = t->taken;
    uint32_t *place = calloc(sum.count, sizeof *place);
    t->process = service;
    t->name = strdup("");
    t->nodes = tree_sum_preorder(&sum, place);
    t->node_count = sum.count;
    free(place);
    tree_sum_fini(&sum);
}

static struct profile *hour_make(uint32_t services, uint32_t stacks, uint64_t hour, bool zipf)
{
    char text[64];
    struct profile *p = profile_new();
    images_make(p);
    if (hour % 24 == 0)
        names_make(p);
    p->processes = calloc(services, sizeof *p->processes);
    p->threads = calloc(services, sizeof *p->threads);
    p->process_count = p->thread_count = services;
    for (uint32_t i = 0; i < services; i++) {
        snprintf(text, sizeof text, "number-%u.service", i);
        p->processes[i].command = strdup(text);
        snprintf(text, sizeof text, "program%u", i);
        p->processes[i].name = strdup(text);
        thread_make(p, i, stacks, hour, zipf ? ZIPF_MOST : 0);
    }
    return p;
}

int main(int argc, char **argv)
{
    struct err e = {0};
    struct store *s;
    bool unclean;
    uint32_t days = argc >= 5 ? (uint32_t)atoi(argv[2]) : 0;
    uint32_t services = argc >= 5 ? (uint32_t)atoi(argv[3]) : 0;
    uint32_t stacks = argc >= 5 ? (uint32_t)atoi(argv[4]) : 0;
    bool zipf = argc == 6 && !strcmp(argv[5], "zipf");
    if (argc > 5 + zipf || !days || !services || !stacks) {
        fprintf(stderr, "usage: days DATABASE DAYS SERVICES STACKS [zipf]\n");
        return 2;
    }
    bool ok = store_open(&s, argv[1], STORE_MAKE, &e) &&
              store_run_begin(s, "bench", BEGIN_NS, &unclean, &e);
    for (uint64_t hour = 0; ok && hour < (uint64_t)days * 24; hour++) {
        struct profile *p = hour_make(services, stacks, hour, zipf);
        const struct store_slot slot = {.begin_ns = BEGIN_NS + (int64_t)hour * HOUR_NS,
                                        .end_ns = BEGIN_NS + (int64_t)(hour + 1) * HOUR_NS,
                                        .period_ns = 52631578, .cpus = 2, .cost_ns = 18000000000};
        ok = store_put(s, p, &slot, &e);
        profile_free(p);
    }
    const struct store_bounds none = {0};
    struct store_kept done;
    ok = ok && store_run_end(s, BEGIN_NS, &e) &&
         store_keep(s, &none, BEGIN_NS + (int64_t)(days + 2) * 24 * HOUR_NS, &done, &e);
    store_close(s);
    if (!ok)
        fprintf(stderr, "days: %s\n", e.message);
    return !ok;
}

/* Intervals of a machine that has few programs: for tests and fuzzers of the database.
 *
 * Context: ordinary code.
 * Ownership: interval_make's profile is the caller's. */
#ifndef PENUMBRA_TESTS_INTERVAL_H
#define PENUMBRA_TESTS_INTERVAL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/profile.h"

/* One program of a service: [root] > main > work > LEAF, which has `samples`. */
struct interval_program {
    const char *service, *name, *path;
    uint64_t leaf, samples;
};

enum { INTERVAL_MAIN = 0x1000, INTERVAL_WORK = 0x2000, INTERVAL_NODES = 4 };

static void interval_names(struct profile *p)
{
    static const char *const functions[] = {"main", "work"};
    p->names = profile_names_new(p->image_count);
    for (uint32_t i = 0; i < p->image_count; i++) {
        p->names->images[i].level = NAMES_SYMBOLS;
        for (uint64_t k = 0; k < 2; k++) {
            const struct profile_name name = {
                .function = profile_names_string(p->names, functions[k]),
                .start = (k + 1) * 0x1000};
            profile_names_place(p->names, i, (k + 1) * 0x1000 + 0x10,
                                profile_names_add(p->names, &name));
            profile_names_place(p->names, i, (k + 1) * 0x1000 + 0x800,
                                profile_names_add(p->names, &name));
        }
    }
}

static void interval_thread(struct profile *p, uint32_t i, const struct interval_program *of)
{
    struct profile_thread *t = &p->threads[i];
    uint64_t offsets[INTERVAL_NODES] = {KEY_ROOT, INTERVAL_MAIN + 0x10, INTERVAL_WORK + 0x20,
                                        of->leaf};
    *t = (struct profile_thread){.process = i, .tid = (int32_t)i + 1, .name = strdup(of->name),
                                 .taken = of->samples, .weight = of->samples,
                                 .weight_squares = of->samples, .node_count = INTERVAL_NODES,
                                 .nodes = calloc(INTERVAL_NODES, sizeof *t->nodes)};
    for (uint32_t n = 0; n < INTERVAL_NODES; n++)
        t->nodes[n] = (struct profile_node){.parent = n ? n - 1 : UINT32_MAX,
                                            .subtree = INTERVAL_NODES - n,
                                            .image = n ? i : PROFILE_IMAGE_PSEUDO,
                                            .offset = offsets[n]};
    t->nodes[INTERVAL_NODES - 1].self = of->samples;
}

/* Each program has an image of its own, with a build-id that its path gives. */
static struct profile *interval_make(const struct interval_program *programs, uint32_t count)
{
    struct profile *p = profile_new();
    p->images = calloc(count, sizeof *p->images);
    p->processes = calloc(count, sizeof *p->processes);
    p->threads = calloc(count, sizeof *p->threads);
    p->image_count = p->process_count = p->thread_count = count;
    for (uint32_t i = 0; i < count; i++) {
        p->images[i] = (struct profile_image){.path = strdup(programs[i].path),
                                              .build_id_size = 20};
        strncpy((char *)p->images[i].build_id, programs[i].path, 20);
        p->processes[i] = (struct profile_process){.pid = (int32_t)i + 1, .epochs = 1,
                                                   .name = strdup(programs[i].name),
                                                   .command = strdup(programs[i].service)};
        interval_thread(p, i, &programs[i]);
    }
    interval_names(p);
    return p;
}

#endif

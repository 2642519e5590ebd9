/* write_counts FILE IMAGE BUILD-ID WHAT...: a profile with these counts, as the engine or the
 * sampler would have left them. BUILD-ID: hexadecimal, or "-". WHAT:
 *
 *   b:OFFSET:BYTES:INSTRUCTIONS:COUNT   a block
 *   e:FROM:TO:COUNT                     an edge
 *   s:OFFSET:SAMPLES                    samples (then there is no engine)
 *   c:OFFSET:CALLS                      calls of a function, by that of the c: before (then all are c:)
 *   n:NANOSECONDS                       the native CPU time
 *   t:NANOSECONDS                       CPU time of the thread
 *   r:REASON:COUNT                      stops
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/profile.h"

enum { MOST = 4096 };

static void set(char **to, const char *text)
{
    free(*to);
    *to = strdup(text);
}

static void set_image(struct profile *p, const char *path, const char *id)
{
    p->images = calloc(1, sizeof *p->images);
    p->image_count = 1;
    p->images[0].path = strdup(path);
    for (; id[0] != '-' && id[0] && id[1]; id += 2) {
        const char digits[] = {id[0], id[1], 0};
        p->images[0].build_id[p->images[0].build_id_size++] =
            (uint8_t)strtoul(digits, NULL, 16);
    }
}

static void set_thread(struct profile *p)
{
    p->processes = calloc(1, sizeof *p->processes);
    p->process_count = 1;
    p->processes[0].name = strdup("loop");
    p->processes[0].command = strdup("loop");
    p->threads = calloc(1, sizeof *p->threads);
    p->thread_count = 1;
    p->threads[0].name = strdup("loop");
    p->threads[0].nodes = calloc(MOST, sizeof *p->threads[0].nodes);
    p->threads[0].nodes[0] = (struct profile_node){
        .parent = UINT32_MAX, .subtree = 1, .image = PROFILE_IMAGE_PSEUDO, .offset = KEY_ROOT};
    p->threads[0].node_count = 1;
}

static void add(struct profile *p, const char *what)
{
    struct profile_thread *t = &p->threads[0];
    struct profile_counts *c = observed_code(p);
    uint64_t v[4] = {0};
    char name[64];
    int n = sscanf(what + 1, ":%" SCNx64 ":%" SCNu64 ":%" SCNu64 ":%" SCNu64, &v[0], &v[1], &v[2],
                   &v[3]);
    if (what[0] == 'b' && n == 4) {
        c->blocks[c->block_count++] = (struct profile_block){
            .offset = v[0], .bytes = (uint32_t)v[1], .instructions = (uint32_t)v[2], .count = v[3]};
        c->instructions += v[2] * v[3];
        c->counted = true;
    } else if (sscanf(what, "e:%" SCNx64 ":%" SCNx64 ":%" SCNu64, &v[0], &v[1], &v[2]) == 3) {
        c->edges[c->edge_count++] =
            (struct profile_edge){.from = v[0], .to = v[1], .count = v[2]};
    } else if (what[0] == 's' && n == 2) {
        t->nodes[t->node_count++] =
            (struct profile_node){.subtree = 1, .offset = v[0], .self = v[1]};
        t->nodes[0].subtree++;
        t->taken = t->weight += v[1];
    } else if (what[0] == 'c' && n == 2) {
        t->nodes[t->node_count] = (struct profile_node){
            .parent = t->node_count - 1, .offset = v[0], .self = v[1], .calls = v[1]};
        for (uint32_t i = 0; i <= t->node_count; i++)
            t->nodes[i].subtree++;
        t->node_count++;
        t->weight += v[1];
    } else if (sscanf(what, "n:%" SCNu64, &v[0]) == 1) {
        c->native_ns = v[0];
    } else if (sscanf(what, "t:%" SCNu64, &v[0]) == 1) {
        t->cpu_ns = v[0];
    } else if (sscanf(what, "r:%63[^:]:%" SCNu64, name, &v[0]) == 2) {
        for (unsigned i = 0; i < STOP_COUNT; i++)
            if (!strcmp(name, profile_stop_name(i)))
                c->stopped[i] = v[0];
    } else {
        fprintf(stderr, "what is %s?\n", what);
        exit(2);
    }
}

int main(int argc, char **argv)
{
    struct err e = {0};
    struct profile *p = profile_new();
    bool sampled = argc > 4 && argv[4][0] == 's', calls = argc > 4 && argv[4][0] == 'c';
    if (argc < 4 || argc > MOST)
        return 2;
    set(&p->command, "loop");
    set(&p->metrics[0].trigger, sampled ? "cpu" : calls ? "calls" : "instructions");
    set(&p->metrics[0].unit, sampled ? "nanoseconds" : "events");
    p->metrics[0].period = sampled ? 1000000 : 1;
    set_image(p, argv[2], argv[3]);
    set_thread(p);
    if (!sampled) {
        p->metrics[0].how = METRIC_EXACT;
        struct profile_counts *c = profile_counts_new("exact", calls ? "calls" : "edges");
        c->blocks = calloc(MOST, sizeof *c->blocks);
        c->edges = calloc(MOST, sizeof *c->edges);
        profile_observe(p, OBSERVED_CODE, c);
    }
    for (int i = 4; i < argc; i++)
        add(p, argv[i]);
    if (observed_code(p))
        profile_counts_settle(p);
    bool ok = profile_write(p, argv[1], &e);
    if (!ok)
        fprintf(stderr, "%s\n", e.message);
    profile_free(p);
    return ok ? 0 : 1;
}

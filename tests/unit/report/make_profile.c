#include "make_profile.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { FUNCTION_SIZE = 0x1000, LETTERS = 26, NODES_MAX = 256 };

static uint64_t address_of(char letter)
{
    return (uint64_t)(letter - 'a' + 1) * FUNCTION_SIZE;
}

/* Replaces an empty string that profile_new made. */
static void set(char **to, const char *text)
{
    free(*to);
    *to = strdup(text);
}

struct profile *make_profile(void)
{
    struct profile *p = profile_new();
    assert(p);
    set(&p->command, "program argument");
    set(&p->metrics[0].trigger, "cpu");
    set(&p->metrics[0].unit, "nanoseconds");
    p->metrics[0].period = 1000000;
    p->duration_ns = 2000000000;
    p->delivery_ns = 1000;
    p->processes = calloc(1, sizeof *p->processes);
    p->process_count = 1;
    struct profile_process *process = p->processes;
    process->pid = 100;
    process->name = strdup("program");
    process->command = strdup("program argument");
    process->jit = calloc(LETTERS, sizeof *process->jit);
    process->jit_count = LETTERS;
    for (int i = 0; i < LETTERS; i++) {
        char name[] = { (char)('a' + i), 0 };
        process->jit[i] =
            (struct profile_jit_symbol){ address_of(name[0]), FUNCTION_SIZE, strdup(name) };
    }
    return p;
}

static struct profile_thread *thread_add(struct profile *p, int tid, const char *name,
                                         uint32_t nodes)
{
    p->threads = reallocarray(p->threads, p->thread_count + 1, sizeof *p->threads);
    struct profile_thread *t = &p->threads[p->thread_count++];
    *t = (struct profile_thread){ .tid = tid, .name = strdup(name), .cpu_ns = 1000000000 };
    t->nodes = calloc(nodes, sizeof *t->nodes);
    t->nodes[0] = (struct profile_node){ .parent = UINT32_MAX,
                                         .image = PROFILE_IMAGE_PSEUDO,
                                         .offset = KEY_ROOT };
    t->node_count = 1;
    return t;
}

static uint32_t child(struct profile_thread *t, uint32_t parent, uint64_t offset)
{
    t->nodes[t->node_count] = (struct profile_node){ .parent = parent,
                                                     .image = PROFILE_IMAGE_NONE,
                                                     .offset = offset };
    return t->node_count++;
}

static void finish(struct profile_thread *t)
{
    for (uint32_t i = t->node_count; i-- > 0;) {
        t->nodes[i].subtree++;
        t->weight += t->nodes[i].self;
        if (i > 0)
            t->nodes[t->nodes[i].parent].subtree += t->nodes[i].subtree;
    }
    t->taken = t->weight_squares = t->deliveries = t->weight;
    t->delivered_ns = 1000 * t->deliveries;
    t->cost_ns = 500 * t->weight;
}

/* Every path gets nodes of its own, as if its frames had call sites of their own. */
void make_thread(struct profile *p, int tid, const char *name, const char *paths)
{
    struct profile_thread *t = thread_add(p, tid, name, NODES_MAX);
    for (const char *at = paths; *at;) {
        uint32_t node = 0;
        for (; *at >= 'a' && *at <= 'z'; at++) {
            assert(t->node_count < NODES_MAX);
            node = child(t, node, address_of(*at) + t->node_count);
        }
        t->nodes[node].self = strtoull(at, NULL, 10);
        at += strcspn(at, ";");
        at += strspn(at, "; ");
    }
    finish(t);
}

void make_deep_thread(struct profile *p, int tid, uint32_t levels, uint64_t each)
{
    struct profile_thread *t = thread_add(p, tid, "deep", levels + 1);
    uint32_t node = 0;
    for (uint32_t i = 0; i < levels; i++) {
        node = child(t, node, address_of('a') + 1);
        t->nodes[node].self = each;
    }
    finish(t);
}

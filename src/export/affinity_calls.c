/* Which functions call each other. */
#include "export/affinity.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/saturate.h"
#include "export/list.h"

/* ---- the lists ---- */

void affinity_heat(struct affinity *a, const struct code_function *f, uint64_t heat)
{
    if (!ARRAY_ROOM(a->functions, a->function_count, a->function_capacity)) {
        a->failed = true;
        return;
    }
    a->functions[a->function_count++] =
        (struct affinity_function){ f->name, f->start, f->end - f->start, heat };
}

void affinity_call(struct affinity *a, const struct code_function *from,
                   const struct code_function *to, uint64_t count)
{
    if (from->start == to->start)
        return;
    affinity_heat(a, from, 0);
    affinity_heat(a, to, 0);
    if (!ARRAY_ROOM(a->calls, a->call_count, a->call_capacity)) {
        a->failed = true;
        return;
    }
    a->calls[a->call_count++] = (struct affinity_call){ from->start, to->start, count };
}

static int compare_functions(const void *a, const void *b)
{
    const struct affinity_function *x = a, *y = b;
    return list_compare(x->start, y->start);
}

static int compare_calls(const void *a, const void *b)
{
    const struct affinity_call *x = a, *y = b;
    int order = list_compare(x->to, y->to);
    return order ? order : list_compare(x->from, y->from);
}

void affinity_settle(struct affinity *a)
{
    uint32_t kept = 0;
    if (a->function_count)
        qsort(a->functions, a->function_count, sizeof *a->functions, compare_functions);
    for (uint32_t i = 0; i < a->function_count; i++) {
        struct affinity_function *last = kept ? &a->functions[kept - 1] : NULL;
        if (last && last->start == a->functions[i].start)
            last->heat = add_saturated(last->heat, a->functions[i].heat);
        else
            a->functions[kept++] = a->functions[i];
    }
    a->function_count = kept;
    kept = 0;
    if (a->call_count)
        qsort(a->calls, a->call_count, sizeof *a->calls, compare_calls);
    for (uint32_t i = 0; i < a->call_count; i++) {
        struct affinity_call *last = kept ? &a->calls[kept - 1] : NULL;
        if (last && !compare_calls(last, &a->calls[i]))
            last->count = add_saturated(last->count, a->calls[i].count);
        else
            a->calls[kept++] = a->calls[i];
    }
    a->call_count = kept;
}

void affinity_fini(struct affinity *a)
{
    free(a->functions);
    free(a->calls);
    *a = (struct affinity){ 0 };
}

/* ---- transfers of control ---- */

void affinity_of_transfers(struct affinity *a, const struct binary *b, const struct transfers *t)
{
    struct code_function from, to;
    for (uint32_t i = 0; i < t->range_count; i++) {
        const struct transfer_range *r = &t->ranges[i];
        uint64_t heat = multiply_saturated(r->count, r->last - r->start + 1);
        if (code_symbol(b->code, r->start, &from))
            affinity_heat(a, &from, heat);
        else if (!code_stub(b->code, r->start))
            a->unnamed = add_saturated(a->unnamed, heat);
    }
    for (uint32_t i = 0; i < t->branch_count; i++) {
        uint64_t target = transfers_behind_stub(t, b, t->branches[i].to);
        if (code_symbol(b->code, t->branches[i].from, &from) &&
            code_symbol(b->code, target, &to) && to.start == target)
            affinity_call(a, &from, &to, t->branches[i].count);
    }
    affinity_settle(a);
}

/* ---- trees ---- */

/* What a node of a tree stands for. */
struct place {
    struct code_function function; /* of the nearest of it and its callers that is in the binary */
    bool known, own;               /* there is one; it is the node's own */
    uint64_t below;                /* samples, or calls */
};

static void add_tree(struct affinity *a, const struct binary *b,
                     const struct profile_thread *thread, struct place *places)
{
    bool calls = observation_of(&b->profile->observations, OBSERVED_CALLS);
    for (uint32_t i = 0; i < thread->node_count; i++) {
        const struct profile_node *node = &thread->nodes[i];
        places[i] = (struct place){ .below = calls ? node->calls : node->self };
        if (!binary_has(b, node->image)) {
            if (i)
                places[i].function = places[node->parent].function;
            places[i].known = i && places[node->parent].known;
            continue;
        }
        uint64_t heat = calls ? node->calls : node->self;
        places[i].own = places[i].known = code_symbol(b->code, node->offset, &places[i].function);
        if (places[i].own)
            affinity_heat(a, &places[i].function, heat);
        else
            a->unnamed = add_saturated(a->unnamed, heat);
    }
    for (uint32_t i = thread->node_count; i-- > 1;) {
        struct place *caller = &places[thread->nodes[i].parent];
        if (places[i].own && caller->known)
            affinity_call(a, &caller->function, &places[i].function, places[i].below);
        if (!calls)
            caller->below = add_saturated(caller->below, places[i].below);
    }
}

void affinity_of_trees(struct affinity *a, const struct binary *b)
{
    const struct profile *p = b->profile;
    for (uint32_t t = 0; t < p->thread_count && !a->failed; t++) {
        struct place *places = calloc((size_t)p->threads[t].node_count + 1, sizeof *places);
        if (places)
            add_tree(a, b, &p->threads[t], places);
        else
            a->failed = true;
        free(places);
    }
    affinity_settle(a);
}

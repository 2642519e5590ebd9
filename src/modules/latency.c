/* The paper's section 3.3: how long each load takes, in bins that its machine's caches make. */
#include <stdio.h>

#include "modules/builtin.h"

static const struct penumbra_kind kinds[] = {
    { "latency", PENUMBRA_SHOW_NAME, PENUMBRA_ROLE_LATENCY, hierarchy_names },
};

const struct hierarchy *module_hierarchy(bool *measured, struct err *err)
{
    static struct hierarchy known;
    *measured = false;
    if (known.hz || hierarchy_load(&known))
        return &known;
    if (!hierarchy_measure(&known, err))
        return NULL;
    *measured = true;
    hierarchy_save(&known, NULL); /* if it cannot be remembered it is measured again */
    return &known;
}

static uint32_t capture(const struct penumbra_opcode *opcode)
{
    (void)opcode;
    return PENUMBRA_LATENCY;
}

/* "L2 from": ticks from which on a load is said to come from there; no such fact: it is not told
 * apart from the level before it. */
static void level_tell(struct penumbra_host *host, const struct hierarchy *h, unsigned level)
{
    const struct hierarchy_bound *b = &h->levels[level];
    char name[64];
    if (!b->present)
        return;
    snprintf(name, sizeof name, "%s median", hierarchy_level_names[level]);
    penumbra_fact(host, name, b->median);
    snprintf(name, sizeof name, "%s from", hierarchy_level_names[level]);
    if (b->apart)
        penumbra_fact(host, name, b->from);
    snprintf(name, sizeof name, "%s misjudged ppm", hierarchy_level_names[level]);
    if (b->apart && level)
        penumbra_fact(host, name, b->wrong);
}

static int begin(struct penumbra_host *host)
{
    bool measured;
    struct err err = { .code = ERR_NONE };
    const struct hierarchy *h = module_hierarchy(&measured, &err);
    if (!h)
        return 1;
    penumbra_fact(host, "ticks a second", h->hz);
    penumbra_fact(host, "clock step", h->step);
    penumbra_fact(host, "cost of measuring", h->cost);
    for (unsigned level = 0; level < HIERARCHY_LEVELS; level++)
        level_tell(host, h, level);
    return 0;
}

static void sequence(struct penumbra_host *host, const struct penumbra_sequence *s)
{
    bool measured;
    const struct hierarchy *h = module_hierarchy(&measured, NULL);
    for (uint32_t i = 0; h && i < s->count; i++) {
        const struct penumbra_tuple *t = &s->tuples[i];
        for (uint32_t k = 0; k < t->count; k++)
            if (t->items[k].what == PENUMBRA_LATENCY)
                penumbra_emit(host, t->pc, 0, t->return_address,
                              hierarchy_place(h, t->items[k].value));
    }
}

const struct penumbra_module module_latency = {
    .abi = PENUMBRA_MODULE_ABI,
    .size = sizeof(struct penumbra_module),
    .name = "latency",
    .kinds = kinds,
    .kind_count = 1,
    .capture = capture,
    .begin = begin,
    .sequence = sequence,
};

/* Samples of single instructions that are entities. */
#include <stdlib.h>

#include "profile/hits.h"
#include "profile/kind/kind.h"

static bool needed(const struct profile *p)
{
    return p->hit_count != 0;
}

/* One that the profile says nothing about cannot be in the file, where entities have places. */
static uint32_t known(const struct profile *p)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->hit_count; i++)
        count += profile_entity_find(p, p->hits[i].entity) != NULL;
    return count;
}

static void put(struct buf *b, const struct encoder *x)
{
    const struct profile *p = x->p;
    uint32_t before = 0;
    buf_put_uleb(b, known(p));
    for (uint32_t i = 0; i < p->hit_count; i++) {
        const struct profile_entity *of = profile_entity_find(p, p->hits[i].entity);
        if (!of)
            continue;
        uint32_t place = (uint32_t)(of - p->entities) + 1;
        buf_put_uleb(b, place - before);
        buf_put_uleb(b, p->hits[i].weight);
        before = place;
    }
}

static void get(struct decoder *d, struct cursor *c)
{
    struct profile *p = d->p;
    uint32_t count = cursor_count(c, 2, "a number of instructions that fits"), place = 0;
    p->hits = c->failed ? NULL : read_array(c, count, sizeof *p->hits);
    for (uint32_t i = 0; p->hits && i < count && !c->failed; i++) {
        uint32_t step = (uint32_t)cursor_uleb(c, p->entity_count - place,
                                              "the step to one of the entities");
        uint64_t weight = read_u64(c, "the samples of an instruction");
        if (!c->failed && !step)
            cursor_fail(c, "instructions in the order of the entities");
        if (c->failed)
            return;
        place += step;
        p->hits[p->hit_count++] = (struct profile_hit){p->entities[place - 1].id, weight};
    }
}

static bool merge(struct merger *m)
{
    return profile_hits_add(m->into, m->from->hits, m->from->hit_count);
}

const struct section_kind kind_hits = {
    .type = {51, "hits", 0},
    .about = "optional: samples of single instructions of the kernel",
    .needed = needed,
    .put = put,
    .get = get,
    .merge = merge,
};

/* What counts belong to besides addresses. */
#include <stdlib.h>
#include <string.h>

#include "profile/kind/kind.h"

static bool needed(const struct profile *p)
{
    return p->entity_count != 0;
}

static void put(struct buf *b, const struct encoder *x)
{
    buf_put_uleb(b, x->p->entity_count);
    for (uint32_t i = 0; i < x->p->entity_count; i++) {
        const struct profile_entity *at = &x->p->entities[i];
        buf_put_uleb(b, at->kind);
        buf_put_string(b, at->name);
        buf_put_string(b, at->scope);
        buf_put_uleb(b, at->at);
        buf_put_uleb(b, at->number);
    }
}

/* Numbers are hashes, so they are not in the file; their order is. */
static void get(struct decoder *d, struct cursor *c)
{
    struct profile *p = d->p;
    uint32_t count = cursor_count(c, 5, "a number of entities that fits");
    p->entities = c->failed ? NULL : read_array(c, count, sizeof *p->entities);
    if (!p->entities)
        return;
    p->entity_capacity = count ? count : 1;
    for (uint32_t i = 0; i < count && !c->failed; i++) {
        struct profile_entity *at = &p->entities[p->entity_count];
        at->kind = read_u32(c, "the kind of an entity");
        at->name = cursor_string(c, "the name of an entity");
        at->scope = cursor_string(c, "what an entity is in");
        p->entity_count++;
        at->at = read_u64(c, "where an entity is");
        at->number = read_u64(c, "the number of an entity");
        if (c->failed)
            return;
        at->id = entity_id(at);
        if (i && at->id <= at[-1].id)
            cursor_fail(c, "entities in the order of their numbers");
    }
}

static bool merge(struct merger *m)
{
    return profile_entities_merge(m->into, m->from->entities, m->from->entity_count);
}

const struct section_kind kind_entities = {
    .type = {50, "entities", 0},
    .about = "optional: what counts belong to besides addresses",
    .needed = needed,
    .put = put,
    .get = get,
    .merge = merge,
};

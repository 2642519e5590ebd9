#include "profile/entity_batch.h"

#include <stdlib.h>
#include <string.h>

/* Where the number is, or belongs: a hash already. */
static uint64_t *slot_of(const struct entity_batch *b, uint64_t id)
{
    uint64_t at = id;
    while (b->ids[at % b->slots] && b->ids[at % b->slots] != id)
        at++;
    return &b->ids[at % b->slots];
}

static bool grow(struct entity_batch *b)
{
    uint32_t capacity = b->capacity ? b->capacity * 2 : 256;
    struct profile_entity *list =
        b->capacity > UINT32_MAX / 8 ? NULL : reallocarray(b->list, capacity, sizeof *list);
    if (list)
        b->list = list;
    uint64_t *ids = list ? calloc((size_t)capacity * 2, sizeof *ids) : NULL;
    if (!ids)
        return false;
    free(b->ids);
    b->ids = ids;
    b->slots = capacity * 2;
    b->capacity = capacity;
    for (uint32_t i = 0; i < b->count; i++)
        *slot_of(b, b->list[i].id) = b->list[i].id;
    return true;
}

uint64_t entity_batch_add(struct entity_batch *b, const struct profile_entity *entity)
{
    uint64_t id = entity_id(entity);
    if (b->count == b->capacity && !grow(b))
        return 0;
    uint64_t *slot = slot_of(b, id);
    if (*slot)
        return id;
    struct profile_entity made = *entity;
    made.id = id;
    made.name = strdup(entity->name);
    made.scope = strdup(entity->scope);
    if (!made.name || !made.scope) {
        free(made.name);
        free(made.scope);
        return 0;
    }
    *slot = id;
    b->list[b->count++] = made;
    return id;
}

static int compare_ids(const void *a, const void *b)
{
    const struct profile_entity *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

bool entity_batch_merge(struct entity_batch *b, struct profile *p)
{
    if (b->count)
        qsort(b->list, b->count, sizeof *b->list, compare_ids);
    bool ok = profile_entities_merge(p, b->list, b->count);
    entity_batch_free(b);
    return ok;
}

void entity_batch_free(struct entity_batch *b)
{
    for (uint32_t i = 0; i < b->count; i++) {
        free(b->list[i].name);
        free(b->list[i].scope);
    }
    free(b->list);
    free(b->ids);
    *b = (struct entity_batch){0};
}

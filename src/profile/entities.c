#include "profile/entities.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profile/profile.h"

static uint64_t hash_byte(uint64_t h, uint8_t byte)
{
    return (h ^ byte) * UINT64_C(0x100000001b3);
}

static uint64_t hash_number(uint64_t h, uint64_t number)
{
    for (unsigned i = 0; i < 64; i += 8)
        h = hash_byte(h, (uint8_t)(number >> i));
    return h;
}

/* With its end, so that no two pairs of strings are one. */
static uint64_t hash_string(uint64_t h, const char *string)
{
    for (; *string; string++)
        h = hash_byte(h, (uint8_t)*string);
    return hash_byte(h, 0);
}

/* FNV-1a, as docs/format.md says. */
uint64_t entity_id(const struct profile_entity *entity)
{
    uint64_t h = hash_number(UINT64_C(0xcbf29ce484222325), entity->kind);
    h = hash_string(hash_string(h, entity->name), entity->scope);
    h = hash_number(hash_number(h, entity->at), entity->number);
    return ENTITY_FIRST | h >> 2;
}

/* Where it is, or belongs: they are in the order of their numbers. */
static uint32_t place_of(const struct profile *p, uint64_t id)
{
    return ARRAY_LEADING(p->entity_count, i, p->entities[i].id < id);
}

const struct profile_entity *profile_entity_find(const struct profile *p, uint64_t id)
{
    uint32_t at = place_of(p, id);
    return at < p->entity_count && p->entities[at].id == id ? &p->entities[at] : NULL;
}

static bool same(const struct profile_entity *a, const struct profile_entity *b)
{
    return a->kind == b->kind && strcmp(a->name, b->name) == 0 && strcmp(a->scope, b->scope) == 0 &&
           a->at == b->at && a->number == b->number;
}

static bool copy(struct profile_entity *to, const struct profile_entity *entity)
{
    char *name = strdup(entity->name), *scope = strdup(entity->scope);
    *to = *entity;
    to->name = name;
    to->scope = scope;
    if (to->name && to->scope)
        return true;
    free(to->name);
    free(to->scope);
    return false;
}

uint64_t profile_entity_add(struct profile *p, const struct profile_entity *entity)
{
    struct profile_entity made = *entity;
    made.id = entity_id(entity);
    uint32_t at = place_of(p, made.id);
    if (at < p->entity_count && p->entities[at].id == made.id)
        return same(&p->entities[at], entity) ? made.id : 0;
    if (p->entity_count == p->entity_capacity) {
        uint32_t capacity = p->entity_capacity ? p->entity_capacity * 2 : 16;
        struct profile_entity *grown = p->entity_capacity > UINT32_MAX / 4
                                           ? NULL
                                           : reallocarray(p->entities, capacity, sizeof *grown);
        if (!grown)
            return 0;
        p->entities = grown;
        p->entity_capacity = capacity;
    }
    if (!copy(&made, &made))
        return 0;
    memmove(&p->entities[at + 1], &p->entities[at], (p->entity_count - at) * sizeof made);
    p->entities[at] = made;
    p->entity_count++;
    return made.id;
}

bool profile_entities_merge(struct profile *into, const struct profile_entity *y, uint32_t y_count)
{
    const struct profile_entity *x = into->entities;
    const uint32_t x_count = into->entity_count;
    if (!y_count)
        return true;
    size_t most = (size_t)x_count + y_count;
    struct profile_entity *all =
        most > UINT32_MAX / 4 ? NULL : reallocarray(NULL, most + 1, sizeof *all);
    uint32_t i = 0, j = 0, count = 0;
    bool ok = all != NULL;
    while (ok && (i < x_count || j < y_count)) {
        if (j == y_count || (i < x_count && x[i].id <= y[j].id)) {
            bool both = j < y_count && x[i].id == y[j].id;
            all[count] = x[i];
            ok = !both || same(&x[i], &y[j]);
            j += both;
            i++;
        } else {
            ok = copy(&all[count], &y[j++]);
        }
        count += ok;
    }
    if (ok) {
        free(into->entities);
        into->entities = all;
        into->entity_count = count;
        into->entity_capacity = (uint32_t)most + 1;
        return true;
    }
    for (i = 0; i < count; i++)
        if (!profile_entity_find(into, all[i].id)) {
            free(all[i].name);
            free(all[i].scope);
        }
    free(all);
    return false;
}

void profile_entities_free(struct profile *p)
{
    for (uint32_t i = 0; i < p->entity_count; i++) {
        free(p->entities[i].name);
        free(p->entities[i].scope);
    }
    free(p->entities);
}

#define PLACE(id, name, place, what) [id] = (place),
static const char *const places[ENTITY_KIND_COUNT] = {ENTITY_KINDS(PLACE)};

const char *entity_kind_place(unsigned kind)
{
    return kind < ENTITY_KIND_COUNT ? places[kind] : "[entity]";
}

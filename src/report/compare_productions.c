#include "report/compare_productions.h"

#include <string.h>

#include "base/hash.h"
#include "sigsafe/hash.h"
#include "sigsafe/tools.h"

bool compare_is_production(enum compare_by by)
{
    return by == COMPARE_PAIR || by == COMPARE_METHOD || by == COMPARE_COUNT ||
           by == COMPARE_STREAM;
}

bool compare_group_fits(const struct profile_production_group *g, enum compare_by by)
{
    bool one = g->fields[1] == FIELD_NOTHING, method = one && g->fields[0] == FIELD_METHOD;
    if (g->kind == GROUP_STREAM)
        return by == COMPARE_STREAM;
    return by == (method ? COMPARE_METHOD : one ? COMPARE_COUNT : COMPARE_PAIR);
}

bool compare_has_productions(const struct profile *p, enum compare_by by)
{
    const struct profile_productions *t = observed_table(p, TABLE_PRODUCTIONS);
    bool found = false;
    for (uint32_t i = 0; t && i < t->count; i++)
        found |= compare_group_fits(&t->groups[t->counts[i].group], by);
    for (uint32_t i = 0; t && i < t->stream_count; i++)
        found |= compare_group_fits(&t->groups[t->streams[i].group], by);
    return found;
}

static void mix(uint64_t id[2], uint64_t value)
{
    id[0] = hash_word(id[0] ^ value);
    id[0] ^= id[0] >> 32;
    id[1] = (id[1] + value) * UINT64_C(0xd6e8feb86659fd93);
    id[1] ^= id[1] >> 29;
}

void compare_production_id(const struct profile_productions *t, uint32_t group,
                           const struct production_row *row,
                           uint64_t (*image_id)(const void *context, uint32_t image),
                           const void *context, uint64_t id[2])
{
    const struct profile_production_group *g = &t->groups[group];
    bool stream = g->kind == GROUP_STREAM;
    const struct profile_production_stream *s = stream ? &t->streams[row->index] : NULL;
    id[0] = hash_bytes(g->name, strlen(g->name));
    id[1] = g->kind;
    for (uint32_t i = 0; i < (stream ? s->length : 1); i++) {
        const struct production_values *values = stream ? &t->items[s->first + i] : &row->values;
        for (unsigned k = 0; k < PRODUCTION_FIELDS; k++) {
            const struct production_value *v = &values->of[k];
            bool placed = v->kind == VALUE_CODE || v->kind == VALUE_IMAGE;
            mix(id, v->kind);
            mix(id, placed ? image_id(context, v->image) : 0);
            mix(id, row->start ? row->start : v->offset);
        }
    }
}

/* What productions found, in sample profiles, and in a spool. */
#include "sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sigsafe/hot_streams.h"
#include "sigsafe/key.h"
#include "sigsafe/settings.h"
#include "sigsafe/tools.h"

static struct production_value sample_value(uint64_t *state, uint32_t kind)
{
    struct production_value v = {.image = PROFILE_IMAGE_NONE, .kind = kind,
                                 .offset = 0x1000 + sample_random(state, 30)};
    if (kind == VALUE_NOTHING)
        v.offset = 0;
    if (kind == VALUE_CODE || kind == VALUE_IMAGE)
        v.image = (uint32_t)sample_random(state, 3);
    if (kind == VALUE_CODE && !sample_random(state, 4)) {
        v.image = PROFILE_IMAGE_NONE;
        v.process = (uint32_t)sample_random(state, 3);
    }
    return v;
}

static struct production_values sample_values_of(uint64_t *state)
{
    return (struct production_values){
        {sample_value(state, VALUE_CODE),
         sample_value(state, (uint32_t)sample_random(state, VALUE_KINDS))}};
}

struct profile_productions *sample_productions(uint64_t *state)
{
    struct profile_productions *t = profile_productions_new();
    t->burst = 100;
    t->sparsity = 900 + sample_random(state, 2);
    t->bursts = sample_random(state, 1000);
    t->exact = true;
    for (uint32_t i = 0; i < 4; i++) {
        struct profile_production_group g = {.kind = i % 2, .fields = {FIELD_PC, FIELD_ADDRESS},
                                             .done = sample_random(state, 5000),
                                             .lost = sample_random(state, 3)};
        snprintf(g.name, sizeof g.name, "file:R%u", (unsigned)sample_random(state, 3) + 3 * i);
        profile_productions_add_group(t, &g);
    }
    for (uint32_t i = 0; i < 60; i++) {
        struct profile_production_count c = {sample_values_of(state), 2 * (i % 2),
                                             1 + sample_random(state, 1000)};
        profile_productions_add_count(t, &c);
    }
    for (uint32_t i = 0; i < 20; i++) {
        struct production_values items[HOT_STREAM_MOST];
        struct profile_production_stream s = {.group = 1 + 2 * (i % 2), .frequency = 1 + i,
                                              .length = i ? 2 + i % 5 : HOT_STREAM_MOST};
        for (uint32_t k = 0; k < s.length; k++)
            items[k] = sample_values_of(state);
        profile_productions_add_stream(t, &s, items);
    }
    return t;
}

#define SAME(field)                                                                                \
    if (a->field != b->field)                                                                      \
    return "productions." #field

static bool same_values(const struct production_values *a, const struct production_values *b)
{
    bool same = true;
    for (unsigned i = 0; i < PRODUCTION_FIELDS; i++)
        same &= a->of[i].kind == b->of[i].kind && a->of[i].image == b->of[i].image &&
                a->of[i].process == b->of[i].process && a->of[i].offset == b->of[i].offset;
    return same;
}

const char *sample_productions_difference(const struct profile_productions *a,
                                          const struct profile_productions *b)
{
    if (!a || !b)
        return a == b ? "" : "productions";
    SAME(burst);
    SAME(sparsity);
    SAME(bursts);
    SAME(exact);
    SAME(group_count);
    SAME(count);
    SAME(stream_count);
    SAME(item_count);
    for (uint32_t i = 0; i < a->group_count; i++) {
        if (strcmp(a->groups[i].name, b->groups[i].name) != 0)
            return "productions.groups[i].name";
        SAME(groups[i].kind);
        SAME(groups[i].fields[0]);
        SAME(groups[i].fields[1]);
        SAME(groups[i].done);
        SAME(groups[i].lost);
    }
    for (uint32_t i = 0; i < a->count; i++) {
        SAME(counts[i].group);
        SAME(counts[i].count);
        if (!same_values(&a->counts[i].values, &b->counts[i].values))
            return "productions.counts[i].values";
    }
    for (uint32_t i = 0; i < a->stream_count; i++) {
        SAME(streams[i].group);
        SAME(streams[i].frequency);
        SAME(streams[i].length);
        SAME(streams[i].first);
    }
    for (uint32_t i = 0; i < a->item_count; i++)
        if (!same_values(&a->items[i], &b->items[i]))
            return "productions.items[i]";
    return "";
}

void sample_productions_in(const struct spool *s, struct spool_counts *c)
{
    struct production_settings_block *settings = settings_productions_as(s);
    struct production_program *p = spool_alloc_as(s, sizeof *p);
    struct production_store store;
    p->burst = 10;
    p->sparsity = 90;
    p->group_count = 2;
    p->groups[0] = (struct production_group){.name = "file:C", .kind = GROUP_COUNT,
                                             .fields = {FIELD_PC, FIELD_IMMEDIATE}};
    p->groups[1] = (struct production_group){.name = "file:S", .kind = GROUP_STREAM,
                                             .fields = {FIELD_PC, FIELD_ADDRESS}};
    settings->program = spool_ref_of(s, p);
    if (!production_store_begin_as(&store, s, &c->tables[TABLE_PRODUCTIONS], 7))
        abort();
    store.record->overflows[0] = 5;
    store.record->done[0] = store.record->done[1] = 60;
    for (uint64_t i = 0; i < 60; i++) {
        production_count_as(&store, 0, key_make(1, 0x1000 + i % 3), i % 2);
        production_append_as(&store, 1, (struct hot_item){key_make(1, 0x1000), i % 4});
    }
}

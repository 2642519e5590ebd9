#include <stdlib.h>
#include <string.h>

#include "sample.h"

static void add_kinds(struct profile_values *v)
{
    static const char *const names[] = {"result", "divisor", "latency"};
    for (uint32_t i = 0; i < 3; i++) {
        struct profile_value_kind *kind = profile_values_add_kind(v, names[i]);
        kind->format = i;
        kind->role = i * 2;
    }
    v->kinds[2].names = calloc(2, sizeof(char *));
    v->kinds[2].names[0] = strdup("L1");
    v->kinds[2].names[1] = strdup("memory");
    v->kinds[2].name_count = 2;
}

static void add_hotlist(struct profile_values *v, uint64_t *state)
{
    struct hotlist_random r;
    struct profile_hotlist *h = profile_values_add_hotlist(v, hotlist_room(HOTLIST_CONCISE));
    h->image = (uint32_t)sample_random(state, 5);
    h->offset = 0x1000 + 4 * sample_random(state, 30);
    h->kind = (uint32_t)sample_random(state, 3);
    h->site_image = PROFILE_IMAGE_PSEUDO;
    if (sample_random(state, 2)) {
        h->site_image = (uint32_t)sample_random(state, 4);
        h->site = 0x2000 + sample_random(state, 3);
    }
    if (h->image == 4) {
        h->image = PROFILE_IMAGE_NONE;
        h->process = (uint32_t)sample_random(state, 3);
    }
    hotlist_random_seed(&r, sample_random(state, 1000));
    uint64_t values = 1 + sample_random(state, 40);
    for (uint64_t i = 0, n = sample_random(state, 120); i < n; i++) {
        struct hotlist_value value = {sample_random(state, values) << (values % 3 * 28),
                                      (uint32_t)sample_random(state, 2) * HOTLIST_IMAGE};
        hotlist_add(h->list, HOTLIST_CONCISE, value, &r);
    }
}

struct profile_values *sample_values(uint64_t *state)
{
    struct profile_values *v = profile_values_new("values");
    v->module_end = MODULE_CRASHED;
    v->module_detail = 11;
    v->every = 2;
    v->sequences = UINT64_C(1) << 41;
    v->tuples = UINT64_C(1) << 43;
    v->lost = 17;
    v->refused = 18;
    for (unsigned i = 0; i < UNOBSERVED_COUNT; i++)
        v->unobserved[i] = (UINT64_C(1) << 40) * i + 7;
    add_kinds(v);
    profile_values_add_fact(v, "L2 from")->value = 14;
    profile_values_add_fact(v, "memory from")->value = 180;
    for (unsigned i = 0; i < 24; i++)
        add_hotlist(v, state);
    for (unsigned i = 0; i < 9; i++) {
        struct profile_text *text = profile_values_add_text(v, i % 2 ? "odd" : "even");
        text->kind = i % 3;
        text->value = (struct hotlist_value){i * i * UINT64_C(0x123456789), i % 2 * HOTLIST_IMAGE};
    }
    profile_values_settle(v);
    return v;
}

#define SAME(field)                                                                                \
    if (a->field != b->field)                                                                      \
    return "values." #field
#define SAME_STRING(field)                                                                         \
    if (strcmp(a->field, b->field) != 0)                                                           \
    return "values." #field

static const char *hotlist_difference(const struct profile_hotlist *a,
                                      const struct profile_hotlist *b)
{
    SAME(image);
    SAME(process);
    SAME(offset);
    SAME(kind);
    SAME(site_image);
    SAME(site);
    SAME(list->observed);
    SAME(list->steps);
    SAME(list->count);
    for (uint32_t i = 0; i < a->list->count; i++) {
        SAME(list->entries[i].bits);
        SAME(list->entries[i].space);
        SAME(list->entries[i].count);
    }
    return "";
}

static const char *kinds_difference(const struct profile_values *a, const struct profile_values *b)
{
    SAME(kind_count);
    for (uint32_t i = 0; i < a->kind_count; i++) {
        SAME_STRING(kinds[i].name);
        SAME(kinds[i].format);
        SAME(kinds[i].role);
        SAME(kinds[i].name_count);
        for (uint32_t k = 0; k < a->kinds[i].name_count; k++)
            SAME_STRING(kinds[i].names[k]);
    }
    SAME(fact_count);
    for (uint32_t i = 0; i < a->fact_count; i++) {
        SAME_STRING(facts[i].name);
        SAME(facts[i].value);
    }
    SAME(text_count);
    for (uint32_t i = 0; i < a->text_count; i++) {
        SAME(texts[i].kind);
        SAME(texts[i].value.bits);
        SAME(texts[i].value.space);
        SAME_STRING(texts[i].text);
    }
    return "";
}

const char *sample_values_difference(const struct profile_values *a,
                                     const struct profile_values *b)
{
    if (!a || !b)
        return a == b ? "" : "values";
    SAME_STRING(module);
    SAME(summary);
    SAME(redacted);
    SAME(module_end);
    SAME(module_detail);
    SAME(every);
    SAME(sequences);
    SAME(tuples);
    SAME(lost);
    SAME(refused);
    for (unsigned i = 0; i < UNOBSERVED_COUNT; i++)
        SAME(unobserved[i]);
    SAME(hotlist_count);
    const char *d = kinds_difference(a, b);
    for (uint32_t i = 0; !*d && i < a->hotlist_count; i++)
        d = hotlist_difference(&a->hotlists[i], &b->hotlists[i]);
    return d;
}

#include "profile/sections_values.h"

#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"
#include "penumbra/module.h"
#include "profile/frames.h"

enum { NAMES_MAX = 4096, FACTS_MAX = 64 };

static uint64_t get_u64(struct cursor *c, const char *what)
{
    return cursor_uleb(c, UINT64_MAX, what);
}

static uint32_t get_u32(struct cursor *c, uint32_t max, const char *what)
{
    return (uint32_t)cursor_uleb(c, max, what);
}

static bool no_memory(struct decoder *d, struct cursor *c)
{
    c->failed = true;
    return err_set(d->e, ERR_INTERNAL, "%s: out of memory", d->file.name);
}

static void get_kind(struct decoder *d, struct cursor *c)
{
    char *name = cursor_string(c, "the name of a kind of value");
    struct profile_value_kind *kind = name ? profile_values_add_kind(d->p->values, name) : NULL;
    free(name);
    if (!kind) {
        if (!c->failed)
            no_memory(d, c);
        return;
    }
    kind->format = get_u32(c, UINT32_MAX, "how values are shown");
    kind->role = get_u32(c, UINT32_MAX, "what values are good for");
    uint32_t names = cursor_count(c, 1, "a number of names that fits the section");
    if (names > NAMES_MAX)
        cursor_fail(c, "at most 4096 names of values");
    kind->names = c->failed ? NULL : decode_array(c, names, sizeof *kind->names);
    for (uint32_t i = 0; i < names && !c->failed; i++) {
        kind->names[i] = cursor_string(c, "the name of a value");
        kind->name_count += kind->names[i] != NULL;
    }
}

static void get_fact(struct decoder *d, struct cursor *c)
{
    char *name = cursor_string(c, "the name of a number");
    struct profile_fact *fact = name ? profile_values_add_fact(d->p->values, name) : NULL;
    if (fact)
        fact->value = get_u64(c, "a number");
    else if (!c->failed)
        no_memory(d, c);
    free(name);
}

static bool get_head(struct decoder *d)
{
    struct cursor c;
    if (!decode_open(d, SECTION_VALUES, &c))
        return false;
    char *module = cursor_string(&c, "the name of a module");
    struct profile_values *v = d->p->values = module ? profile_values_new(module) : NULL;
    free(module);
    if (!v) {
        free((void *)(uintptr_t)c.data);
        return c.failed ? false : no_memory(d, &c);
    }
    v->summary = get_u32(&c, HOTLIST_KINDS - 1, "0 or 1: how values are summarized");
    v->redacted = cursor_uleb(&c, 1, "0 or 1: whether values are redacted");
    v->module_end = get_u32(&c, UINT32_MAX, "what became of the module");
    v->module_detail = get_u32(&c, UINT32_MAX, "a signal or a result");
    v->every = get_u64(&c, "a share of triggers");
    v->sequences = get_u64(&c, "the number of sequences");
    v->tuples = get_u64(&c, "the number of tuples");
    v->lost = get_u64(&c, "the number of lost sequences");
    v->refused = get_u64(&c, "the number of refused observations");
    uint32_t kinds = get_u32(&c, PENUMBRA_KINDS_MAX, "a number of kinds up to 64");
    for (uint32_t i = 0; i < kinds && !c.failed; i++)
        get_kind(d, &c);
    uint32_t facts = get_u32(&c, FACTS_MAX, "a number of numbers up to 64");
    for (uint32_t i = 0; i < facts && !c.failed; i++)
        get_fact(d, &c);
    return decode_close(&c);
}

static void get_places(struct decoder *d, struct cursor *c, struct profile_hotlist *at, uint32_t n)
{
    const struct profile *p = d->p;
    uint64_t ranks = (uint64_t)p->image_count + FRAME_IMAGE_FIRST - 1;
    uint32_t rank = 0;
    for (uint32_t i = 0; i < n && !c->failed; i++)
        at[i].image = decode_image_step(d, c, &rank);
    for (uint32_t i = 0; i < n && !c->failed; i++)
        at[i].process = decode_process_index(d, c);
    for (uint32_t i = 0; i < n && !c->failed; i++) {
        bool same = i && at[i].image == at[i - 1].image && at[i].process == at[i - 1].process;
        uint64_t base = same ? at[i - 1].offset : 0;
        at[i].offset = base + cursor_uleb(c, UINT64_MAX - base, "the step to an instruction");
    }
    for (uint32_t i = 0; i < n && !c->failed; i++) {
        if (!p->values->kind_count)
            cursor_fail(c, "no hotlist, as there is no kind of value");
        at[i].kind = get_u32(c, p->values->kind_count - 1, "the index of a kind of value");
    }
    for (uint32_t i = 0; i < n && !c->failed; i++)
        at[i].site_image = get_u32(c, (uint32_t)ranks, "the image of a site") - FRAME_IMAGE_FIRST;
    for (uint32_t i = 0; i < n && !c->failed; i++)
        at[i].site = get_u64(c, "a site");
}

struct stream {
    uint64_t observed;
    uint32_t steps, entries;
};

static void get_streams(struct cursor *c, struct stream *at, uint32_t n, uint32_t most)
{
    for (uint32_t i = 0; i < n && !c->failed; i++)
        at[i].observed = get_u64(c, "how many values were observed");
    for (uint32_t i = 0; i < n && !c->failed; i++)
        at[i].steps = get_u32(c, HOTLIST_STEPS_MAX, "the steps of a probability, up to 640");
    for (uint32_t i = 0; i < n && !c->failed; i++)
        at[i].entries = get_u32(c, most, "the entries of a hotlist, up to 16 or 50");
}

static void get_entries(struct decoder *d, struct cursor *c)
{
    const struct profile_values *v = d->p->values;
    uint32_t spaces = HOTLIST_IMAGE + d->p->image_count - 1;
    for (uint32_t i = 0; i < v->hotlist_count && !c->failed; i++)
        for (uint32_t k = 0; k < v->hotlists[i].list->count && !c->failed; k++)
            v->hotlists[i].list->entries[k].space = get_u32(c, spaces, "the space of a value");
    for (uint32_t i = 0; i < v->hotlist_count && !c->failed; i++)
        for (uint32_t k = 0; k < v->hotlists[i].list->count && !c->failed; k++)
            v->hotlists[i].list->entries[k].bits = get_u64(c, "a value");
    for (uint32_t i = 0; i < v->hotlist_count && !c->failed; i++) {
        for (uint32_t k = 0; k < v->hotlists[i].list->count && !c->failed; k++)
            v->hotlists[i].list->entries[k].count = get_u64(c, "the count of a value");
        if (!c->failed && !hotlist_check(v->hotlists[i].list, (enum hotlist_kind)v->summary))
            cursor_fail(c, "counts that are not 0, and no more than were observed");
    }
}

/* What is to be added needs its number of entries first. */
static void make_hotlists(struct decoder *d, struct cursor *c, const struct profile_hotlist *places,
                          const struct stream *streams, uint32_t n)
{
    uint64_t entries = 0;
    for (uint32_t i = 0; i < n; i++)
        entries += streams[i].entries;
    if (entries * 3 > c->size - c->at)
        cursor_fail(c, "as many entries as fit the section");
    for (uint32_t i = 0; i < n && !c->failed; i++) {
        struct profile_hotlist *h = profile_values_add_hotlist(d->p->values, streams[i].entries);
        struct hotlist *list = h ? h->list : NULL;
        if (!h) {
            no_memory(d, c);
            return;
        }
        *h = places[i];
        h->list = list;
        list->observed = streams[i].observed;
        list->steps = streams[i].steps;
        list->count = streams[i].entries;
    }
}

static bool get_hotlists(struct decoder *d)
{
    struct cursor c;
    if (!decode_open(d, SECTION_HOTLISTS, &c))
        return false;
    uint32_t n = cursor_count(&c, 9, "a number of hotlists that fits the section");
    struct profile_hotlist *places = decode_array(&c, n, sizeof *places);
    struct stream *streams = decode_array(&c, n, sizeof *streams);
    if (places && streams && !c.failed) {
        get_places(d, &c, places, n);
        get_streams(&c, streams, n, hotlist_most((enum hotlist_kind)d->p->values->summary));
        if (!c.failed)
            make_hotlists(d, &c, places, streams, n);
        get_entries(d, &c);
    }
    free(places);
    free(streams);
    return decode_close(&c);
}

static bool get_texts(struct decoder *d)
{
    struct cursor c;
    if (!decode_open(d, SECTION_TEXTS, &c))
        return false;
    struct profile_values *v = d->p->values;
    uint32_t n = cursor_count(&c, 4, "a number of texts that fits the section");
    if (n && !v->kind_count)
        cursor_fail(&c, "no text, as there is no kind of value");
    for (uint32_t i = 0; i < n && !c.failed; i++) {
        uint32_t kind = get_u32(&c, v->kind_count - 1, "the index of a kind of value");
        uint32_t space = get_u32(&c, HOTLIST_IMAGE + d->p->image_count - 1, "the space of a value");
        uint64_t bits = get_u64(&c, "a value");
        char *text = cursor_string(&c, "how a value is written");
        struct profile_text *at = text ? profile_values_add_text(v, text) : NULL;
        free(text);
        if (at) {
            at->kind = kind;
            at->value = (struct hotlist_value){.bits = bits, .space = space};
        } else if (!c.failed) {
            no_memory(d, &c);
        }
    }
    return decode_close(&c);
}

static bool get_unobserved(struct decoder *d)
{
    struct cursor c;
    if (!d->file.known[SECTION_UNOBSERVED].offset)
        return true;
    if (!decode_open(d, SECTION_UNOBSERVED, &c))
        return false;
    uint32_t n = cursor_count(&c, 2, "a number of reasons that fits the section");
    if (n > REASONS_MAX)
        cursor_fail(&c, "at most 64 reasons");
    for (uint32_t i = 0; i < n && !c.failed; i++) {
        char *name = cursor_string(&c, "why registers were not observed");
        uint64_t count = c.failed ? 0 : get_u64(&c, "how many instructions had registers that were not observed");
        unsigned at = 0;
        while (name && at < UNOBSERVED_COUNT && strcmp(name, profile_unobserved_name(at)) != 0)
            at++;
        if (name && at < UNOBSERVED_COUNT)
            d->p->values->unobserved[at] = add_saturated(d->p->values->unobserved[at], count);
        free(name);
    }
    return decode_close(&c);
}

bool sections_values_get(struct decoder *d)
{
    if (!d->file.known[SECTION_VALUES].offset)
        return true;
    if (!get_head(d) || !get_hotlists(d) || !get_texts(d) || !get_unobserved(d))
        return false;
    return profile_values_settle(d->p->values) ||
           err_set(d->e, ERR_INTERNAL, "%s: out of memory", d->file.name);
}

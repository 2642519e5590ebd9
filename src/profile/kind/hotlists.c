/* The values of each instruction. */
#include <stdlib.h>

#include "profile/kind/kind.h"

PROFILE_PLACE_FIRST(struct profile_hotlist);

static bool needed(const struct profile *p)
{
    return observed_values(p) != NULL;
}

static void put_places(struct buf *b, const struct profile_hotlist *at, uint32_t n)
{
    write_places(b, at, n, sizeof *at);
    for (uint32_t i = 0; i < n; i++)
        buf_put_uleb(b, at[i].kind);
    for (uint32_t i = 0; i < n; i++)
        buf_put_uleb(b, at[i].site_image + FRAME_IMAGE_FIRST);
    for (uint32_t i = 0; i < n; i++)
        buf_put_uleb(b, at[i].site);
}

/* Columns of the hotlists, then those of all their entries. */
static void put(struct buf *b, const struct encoder *x)
{
    const struct profile_values *v = observed_values(x->p);
    uint32_t n = v->hotlist_count;
    const struct profile_hotlist *at = v->hotlists;
    buf_put_uleb(b, n);
    put_places(b, at, n);
    for (uint32_t i = 0; i < n; i++)
        buf_put_uleb(b, at[i].list->observed);
    for (uint32_t i = 0; i < n; i++)
        buf_put_uleb(b, at[i].list->steps);
    for (uint32_t i = 0; i < n; i++)
        buf_put_uleb(b, at[i].list->count);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < at[i].list->count; k++)
            buf_put_uleb(b, at[i].list->entries[k].space);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < at[i].list->count; k++)
            buf_put_uleb(b, at[i].list->entries[k].bits);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < at[i].list->count; k++)
            buf_put_uleb(b, at[i].list->entries[k].count);
}

static bool good(const struct profile *p, const struct profile_hotlist *h,
                 const struct profile_hotlist *last)
{
    const struct profile_values *v = observed_values(p);
    if (!places_good(p, h, last) || h->kind >= v->kind_count ||
        (h->site_image >= p->image_count && h->site_image < PROFILE_IMAGE_PSEUDO) ||
        !hotlist_check(h->list, (enum hotlist_kind)v->summary))
        return false;
    for (uint32_t i = 0; i < h->list->count; i++)
        if (!hotlist_space_good(h->list->entries[i].space, p->image_count))
            return false;
    return true;
}

static bool check(const struct profile *p, struct err *e)
{
    const struct profile_values *v = observed_values(p);
    for (uint32_t i = 0; i < v->hotlist_count; i++)
        if (!good(p, &v->hotlists[i], i ? &v->hotlists[i - 1] : NULL))
            return err_set(e, ERR_INTERNAL,
                           "the profile cannot be written: a hotlist is of no image, "
                           "process or kind, is impossible, or is out of order");
    return true;
}

static void get_places(struct decoder *d, struct cursor *c, struct profile_hotlist *at, uint32_t n)
{
    const struct profile *p = d->p;
    uint32_t kinds = observed_values(p)->kind_count;
    uint64_t ranks = (uint64_t)p->image_count + FRAME_IMAGE_FIRST - 1;
    read_places(d, c, at, n, sizeof *at);
    for (uint32_t i = 0; i < n && !c->failed; i++) {
        if (!kinds)
            cursor_fail(c, "no hotlist, as there is no kind of value");
        at[i].kind =
            (uint32_t)cursor_uleb(c, kinds - 1, "the index of a kind of value");
    }
    for (uint32_t i = 0; i < n && !c->failed; i++)
        at[i].site_image =
            (uint32_t)cursor_uleb(c, (uint32_t)ranks, "the image of a site") - FRAME_IMAGE_FIRST;
    for (uint32_t i = 0; i < n && !c->failed; i++)
        at[i].site = read_u64(c, "a site");
}

struct stream {
    uint64_t observed;
    uint32_t steps, entries;
};

static void get_streams(struct cursor *c, struct stream *at, uint32_t n, uint32_t most)
{
    for (uint32_t i = 0; i < n && !c->failed; i++)
        at[i].observed = read_u64(c, "how many values were observed");
    for (uint32_t i = 0; i < n && !c->failed; i++)
        at[i].steps =
            (uint32_t)cursor_uleb(c, HOTLIST_STEPS_MAX, "the steps of a probability, up to 640");
    for (uint32_t i = 0; i < n && !c->failed; i++)
        at[i].entries = (uint32_t)cursor_uleb(c, most, "the entries of a hotlist, up to 16 or 50");
}

static void get_entries(struct decoder *d, struct cursor *c)
{
    const struct profile_values *v = observed_values(d->p);
    uint32_t spaces = HOTLIST_IMAGE + d->p->image_count - 1;
    for (uint32_t i = 0; i < v->hotlist_count && !c->failed; i++)
        for (uint32_t k = 0; k < v->hotlists[i].list->count && !c->failed; k++)
            v->hotlists[i].list->entries[k].space =
                (uint32_t)cursor_uleb(c, spaces, "the space of a value");
    for (uint32_t i = 0; i < v->hotlist_count && !c->failed; i++)
        for (uint32_t k = 0; k < v->hotlists[i].list->count && !c->failed; k++)
            v->hotlists[i].list->entries[k].bits = read_u64(c, "a value");
    for (uint32_t i = 0; i < v->hotlist_count && !c->failed; i++) {
        for (uint32_t k = 0; k < v->hotlists[i].list->count && !c->failed; k++)
            v->hotlists[i].list->entries[k].count = read_u64(c, "the count of a value");
        if (!c->failed && !hotlist_check(v->hotlists[i].list, (enum hotlist_kind)v->summary))
            cursor_fail(c, "counts that are not 0, and no more than were observed");
    }
}

/* What is to be added needs its number of entries first. */
static void make_hotlists(struct decoder *d, struct cursor *c, const struct profile_hotlist *places,
                          const struct stream *streams, uint32_t n)
{
    struct profile_values *values = observed_values(d->p);
    uint64_t entries = 0;
    for (uint32_t i = 0; i < n; i++)
        entries += streams[i].entries;
    if (entries * 3 > c->size - c->at)
        cursor_fail(c, "as many entries as fit the section");
    for (uint32_t i = 0; i < n && !c->failed; i++) {
        struct profile_hotlist *h = profile_values_add_hotlist(values, streams[i].entries);
        struct hotlist *list = h ? h->list : NULL;
        if (!h) {
            read_no_memory(c);
            return;
        }
        *h = places[i];
        h->list = list;
        list->observed = streams[i].observed;
        list->steps = streams[i].steps;
        list->count = streams[i].entries;
    }
}

static void get(struct decoder *d, struct cursor *c)
{
    uint32_t n = cursor_count(c, 9, "a number of hotlists that fits the section");
    struct profile_hotlist *places = read_array(c, n, sizeof *places);
    struct stream *streams = read_array(c, n, sizeof *streams);
    if (places && streams && !c->failed) {
        get_places(d, c, places, n);
        get_streams(c, streams, n, hotlist_most((enum hotlist_kind)observed_values(d->p)->summary));
        if (!c->failed)
            make_hotlists(d, c, places, streams, n);
        get_entries(d, c);
    }
    free(places);
    free(streams);
}

const struct section_kind kind_hotlists = {
    .type = {33, "hotlists", 0},
    .within = 32,
    .inseparable = true,
    .about = "with 32: the values of each instruction",
    .needed = needed,
    .check = check,
    .put = put,
    .get = get,
};

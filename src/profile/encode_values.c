#include "profile/sections_values.h"

#include "profile/frames.h"

static void put_head(struct buf *b, const struct profile_values *v)
{
    buf_put_string(b, v->module);
    buf_put_uleb(b, v->summary);
    buf_put_uleb(b, v->redacted);
    buf_put_uleb(b, v->module_end);
    buf_put_uleb(b, v->module_detail);
    buf_put_uleb(b, v->every);
    buf_put_uleb(b, v->sequences);
    buf_put_uleb(b, v->tuples);
    buf_put_uleb(b, v->lost);
    buf_put_uleb(b, v->refused);
    buf_put_uleb(b, v->kind_count);
    for (uint32_t i = 0; i < v->kind_count; i++) {
        const struct profile_value_kind *kind = &v->kinds[i];
        buf_put_string(b, kind->name);
        buf_put_uleb(b, kind->format);
        buf_put_uleb(b, kind->role);
        buf_put_uleb(b, kind->name_count);
        for (uint32_t k = 0; k < kind->name_count; k++)
            buf_put_string(b, kind->names[k]);
    }
    buf_put_uleb(b, v->fact_count);
    for (uint32_t i = 0; i < v->fact_count; i++) {
        buf_put_string(b, v->facts[i].name);
        buf_put_uleb(b, v->facts[i].value);
    }
}

static void put_places(struct buf *b, const struct profile_hotlist *at, uint32_t n)
{
    for (uint32_t i = 0, last = 0; i < n; last = at[i++].image + FRAME_IMAGE_FIRST)
        buf_put_uleb(b, at[i].image + FRAME_IMAGE_FIRST - last);
    for (uint32_t i = 0; i < n; i++)
        buf_put_uleb(b, at[i].process);
    for (uint32_t i = 0; i < n; i++) {
        bool same = i && at[i].image == at[i - 1].image && at[i].process == at[i - 1].process;
        buf_put_uleb(b, at[i].offset - (same ? at[i - 1].offset : 0));
    }
    for (uint32_t i = 0; i < n; i++)
        buf_put_uleb(b, at[i].kind);
    for (uint32_t i = 0; i < n; i++)
        buf_put_uleb(b, at[i].site_image + FRAME_IMAGE_FIRST);
    for (uint32_t i = 0; i < n; i++)
        buf_put_uleb(b, at[i].site);
}

/* Columns of the hotlists, then those of all their entries. */
static void put_hotlists(struct buf *b, const struct profile_values *v)
{
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

static void put_texts(struct buf *b, const struct profile_values *v)
{
    buf_put_uleb(b, v->text_count);
    for (uint32_t i = 0; i < v->text_count; i++) {
        buf_put_uleb(b, v->texts[i].kind);
        buf_put_uleb(b, v->texts[i].value.space);
        buf_put_uleb(b, v->texts[i].value.bits);
        buf_put_string(b, v->texts[i].text);
    }
}

static void put_unobserved(struct buf *b, const struct profile_values *v)
{
    buf_put_uleb(b, UNOBSERVED_COUNT);
    for (unsigned i = 0; i < UNOBSERVED_COUNT; i++) {
        buf_put_string(b, profile_unobserved_name(i));
        buf_put_uleb(b, v->unobserved[i]);
    }
}

void section_unobserved_put(struct section_out *out, const struct profile_values *v)
{
    *out = (struct section_out){.type = SECTION_UNOBSERVED, .optional = true};
    put_unobserved(&out->raw, v);
}

void sections_values_put(struct section_out *out, const struct profile_values *v)
{
    out[0] = (struct section_out){.type = SECTION_VALUES, .optional = true};
    out[1] = (struct section_out){.type = SECTION_HOTLISTS, .optional = true};
    out[2] = (struct section_out){.type = SECTION_TEXTS, .optional = true};
    put_head(&out[0].raw, v);
    put_hotlists(&out[1].raw, v);
    put_texts(&out[2].raw, v);
}

static bool space_good(const struct profile *p, uint32_t space)
{
    return space < HOTLIST_IMAGE || space - HOTLIST_IMAGE < p->image_count;
}

static bool hotlist_good(const struct profile *p, const struct profile_hotlist *h)
{
    const struct profile_values *v = p->values;
    bool site = h->site_image < p->image_count || h->site_image >= PROFILE_IMAGE_PSEUDO;
    if ((h->image >= p->image_count && h->image != PROFILE_IMAGE_NONE) || !site ||
        h->process >= p->process_count || h->kind >= v->kind_count ||
        !hotlist_check(h->list, (enum hotlist_kind)v->summary))
        return false;
    for (uint32_t i = 0; i < h->list->count; i++)
        if (!space_good(p, h->list->entries[i].space))
            return false;
    return true;
}

/* Order is checked as far as differences would be negative. */
static bool in_order(const struct profile_hotlist *last, const struct profile_hotlist *h)
{
    uint32_t before = last->image + FRAME_IMAGE_FIRST, rank = h->image + FRAME_IMAGE_FIRST;
    return rank > before || (rank == before && (h->process != last->process || h->offset >= last->offset));
}

bool sections_values_check(const struct profile *p, struct err *e)
{
    const struct profile_values *v = p->values;
    bool good = !v || v->summary < HOTLIST_KINDS;
    for (uint32_t i = 0; good && v && i < v->hotlist_count; i++)
        good = hotlist_good(p, &v->hotlists[i]) && (!i || in_order(&v->hotlists[i - 1], &v->hotlists[i]));
    for (uint32_t i = 0; good && v && i < v->text_count; i++)
        good = v->texts[i].kind < v->kind_count && space_good(p, v->texts[i].value.space);
    return good || err_set(e, ERR_INTERNAL, "the profile cannot be written: a hotlist is of no image, "
                           "process or kind, is impossible, or is out of order");
}

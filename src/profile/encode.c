#include "profile/encode.h"

#include <stdlib.h>

#include "base/buf.h"
#include "profile/kind/kind.h"

static bool needed(const struct section_kind *k, const struct profile *p)
{
    return !k->needed || k->needed(p);
}

/* With the section that it belongs to. */
static bool written(const struct section_kind *k, const struct profile *p)
{
    const struct section_kind *const *outer = section_kinds;
    while (k->within && *outer && (*outer)->type.number != k->within)
        outer++;
    return needed(k, p) && (!k->within || (*outer && needed(*outer, p)));
}

/* What the reader would refuse must not be written. */
static bool check(const struct profile *p, struct err *e)
{
    for (const struct section_kind *const *k = section_kinds; *k; k++)
        if ((*k)->check && written(*k, p) && !(*k)->check(p, e))
            return false;
    return true;
}

static bool collect_frames(struct encoder *x)
{
    const struct profile *p = x->p;
    size_t nodes = 0, at = 0;
    for (uint32_t i = 0; i < p->thread_count; i++)
        nodes += p->threads[i].node_count;
    x->frame_of = reallocarray(NULL, nodes + 1, sizeof *x->frame_of);
    if (!x->frame_of)
        return false;
    for (uint32_t i = 0; i < p->thread_count; i++)
        for (uint32_t k = 0; k < p->threads[i].node_count; k++)
            if (!frames_add(&x->frames, &p->threads[i].nodes[k], &x->frame_of[at++]))
                return false;
    return frames_sort(&x->frames);
}

/* What is to be written: the sections of the table, and those that are only passed on. */
struct sections {
    struct section_out *list;
    struct section_type *types; /* of those that are passed on */
    uint32_t count;
};

static bool make_sections(struct sections *s, const struct encoder *x)
{
    const struct profile *p = x->p;
    uint32_t kinds = 0;
    while (section_kinds[kinds])
        kinds++;
    s->list = calloc((size_t)kinds + p->unknown_count, sizeof *s->list);
    s->types = calloc((size_t)p->unknown_count + 1, sizeof *s->types);
    if (!s->list || !s->types)
        return false;
    for (const struct section_kind *const *k = section_kinds; *k; k++)
        if (written(*k, p)) {
            struct section_out *out = &s->list[s->count++];
            out->type = &(*k)->type;
            (*k)->put(&out->raw, x);
        }
    for (uint32_t i = 0; i < p->unknown_count; i++) {
        const struct profile_unknown *u = &p->unknown[i];
        struct section_out *out = &s->list[s->count++];
        s->types[i] = (struct section_type){u->type, "unknown", u->alone ? SECTION_ALONE : 0};
        out->type = &s->types[i];
        buf_put(&out->raw, u->data, u->size);
    }
    return true;
}

uint8_t *profile_encode_with(const struct profile *p, bool compress, size_t *size, struct err *e)
{
    struct encoder x = {.p = p, .compress = compress};
    struct sections s = {0};
    uint8_t *result = NULL;
    if (!check(p, e))
        return NULL;
    if (collect_frames(&x) && make_sections(&s, &x))
        result = container_finish(CONTAINER_PROFILE, s.list, s.count, compress, size, e);
    else
        err_set(e, ERR_INTERNAL, "out of memory while the profile's file was put together");
    for (uint32_t i = 0; i < s.count; i++)
        buf_free(&s.list[i].raw);
    free(s.list);
    free(s.types);
    frames_free(&x.frames);
    free(x.frame_of);
    return result;
}

uint8_t *profile_encode(const struct profile *p, size_t *size, struct err *e)
{
    return profile_encode_with(p, true, size, e);
}

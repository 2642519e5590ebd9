/* Transfers of control. */
#include "profile/kind/kind.h"

static bool needed(const struct profile *p)
{
    return observed_code(p) != NULL;
}

static bool same_places(const struct profile_edge *a, const struct profile_edge *b)
{
    return a->from_image == b->from_image && a->to_image == b->to_image && a->process == b->process;
}

/* Order is checked as far as differences would be negative. */
static bool edges_good(const struct profile *p, const struct profile_counts *c)
{
    for (uint32_t i = 0; i < c->edge_count; i++) {
        const struct profile_edge *e = &c->edges[i], *last = i ? e - 1 : e;
        if (!image_exists(p, e->from_image) || !image_exists(p, e->to_image) ||
            e->process >= p->process_count ||
            e->from_image + FRAME_IMAGE_FIRST < last->from_image + FRAME_IMAGE_FIRST ||
            (same_places(e, last) && e->from < last->from))
            return false;
    }
    return true;
}

static bool check(const struct profile *p, struct err *e)
{
    return edges_good(p, observed_code(p)) ||
           err_set(e, ERR_INTERNAL,
                   "the profile cannot be written: an edge is of no image or process, "
                   "or out of order");
}

static void put(struct buf *b, const struct encoder *x)
{
    const struct profile_counts *c = observed_code(x->p);
    uint32_t n = c->edge_count;
    const struct profile_edge *at = c->edges;
    buf_put_uleb(b, n);
    for (uint32_t i = 0, last = 0; i < n; last = at[i++].from_image + FRAME_IMAGE_FIRST)
        buf_put_uleb(b, at[i].from_image + FRAME_IMAGE_FIRST - last);
    for (uint32_t i = 0; i < n; i++)
        buf_put_uleb(b, at[i].to_image + FRAME_IMAGE_FIRST);
    for (uint32_t i = 0; i < n; i++)
        buf_put_uleb(b, at[i].process);
    for (uint32_t i = 0; i < n; i++) {
        bool same = i && same_places(&at[i], &at[i - 1]);
        buf_put_uleb(b, at[i].from - (same ? at[i - 1].from : 0));
    }
    for (uint32_t i = 0; i < n; i++)
        buf_put_sleb(b, (int64_t)(at[i].to - at[i].from));
    for (uint32_t i = 0; i < n; i++)
        buf_put_uleb(b, at[i].count);
}

static void get(struct decoder *d, struct cursor *c)
{
    struct profile_counts *k = observed_code(d->p);
    uint32_t n = cursor_count(c, 6, "a number of edges that fits the section"), rank = 0;
    struct profile_edge *at = k->edges = read_array(c, n, sizeof *at);
    for (uint32_t i = 0; i < n && !c->failed; i++)
        at[i].from_image = read_image_step(d, c, &rank);
    if (at)
        read_images(d, c, &at->to_image, n, sizeof *at, "the image that an edge goes to, not 0");
    for (uint32_t i = 0; i < n && !c->failed; i++)
        at[i].process = read_process(d, c);
    for (uint32_t i = 0; i < n && !c->failed; i++) {
        bool same = i && same_places(&at[i], &at[i - 1]);
        uint64_t base = same ? at[i - 1].from : 0;
        at[i].from = base + cursor_uleb(c, UINT64_MAX - base, "the step to an edge");
    }
    for (uint32_t i = 0; i < n && !c->failed; i++)
        at[i].to = at[i].from + (uint64_t)cursor_sleb(c, "the distance that an edge goes");
    for (uint32_t i = 0; i < n && !c->failed; i++)
        at[i].count = read_u64(c, "the executions of an edge");
    k->edge_count = c->failed ? 0 : n;
}

const struct section_kind kind_edges = {
    .type = {26, "edges", 0},
    .within = 24,
    .inseparable = true,
    .about = "with 24: transfers of control",
    .needed = needed,
    .check = check,
    .put = put,
    .get = get,
};

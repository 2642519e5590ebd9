#include "profile/sections_counts.h"

#include "profile/frames.h"
#include "profile/sections_paths.h"
#include "profile/sections_streams.h"

static void put_head(struct buf *b, const struct profile_counts *c)
{
    buf_put_string(b, c->carrier);
    buf_put_string(b, c->tool);
    buf_put_uleb(b, c->length);
    buf_put_uleb(b, c->native_ns);
    buf_put_uleb(b, c->counted);
    buf_put_uleb(b, c->instructions);
    buf_put_uleb(b, c->bursts);
    buf_put_uleb(b, c->burst_instructions);
    buf_put_uleb(b, c->burst_ns);
    buf_put_uleb(b, c->translated);
    buf_put_uleb(b, c->code_bytes);
    buf_put_uleb(b, c->translation_ns);
    buf_put_uleb(b, c->dispatches);
    buf_put_uleb(b, c->dispatch_ns);
    buf_put_uleb(b, STOP_COUNT);
    for (unsigned i = 0; i < STOP_COUNT; i++) {
        buf_put_string(b, profile_stop_name(i));
        buf_put_uleb(b, c->stopped[i]);
    }
    buf_put_uleb(b, c->classified ? CLASS_COUNT : 0);
    for (unsigned i = 0; c->classified && i < CLASS_COUNT; i++) {
        buf_put_string(b, profile_class_name(i));
        buf_put_uleb(b, c->classes[i]);
    }
}

/* Columns, as in section frames: equal neighbours make equal bytes. */
static void put_blocks(struct buf *b, const struct profile_counts *c)
{
    uint32_t n = c->block_count;
    const struct profile_block *at = c->blocks;
    buf_put_uleb(b, n);
    for (uint32_t i = 0, last = 0; i < n; last = at[i++].image + FRAME_IMAGE_FIRST)
        buf_put_uleb(b, at[i].image + FRAME_IMAGE_FIRST - last);
    for (uint32_t i = 0; i < n; i++)
        buf_put_uleb(b, at[i].process);
    for (uint32_t i = 0; i < n; i++) {
        bool same = i && at[i].image == at[i - 1].image && at[i].process == at[i - 1].process;
        buf_put_uleb(b, at[i].offset - (same ? at[i - 1].offset : 0));
    }
    for (uint32_t i = 0; i < n; i++)
        buf_put_uleb(b, at[i].bytes);
    for (uint32_t i = 0; i < n; i++)
        buf_put_uleb(b, at[i].instructions);
    for (uint32_t i = 0; i < n; i++)
        buf_put_uleb(b, at[i].count);
}

static bool same_places(const struct profile_edge *a, const struct profile_edge *b)
{
    return a->from_image == b->from_image && a->to_image == b->to_image && a->process == b->process;
}

static void put_edges(struct buf *b, const struct profile_counts *c)
{
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

static void put_latencies(struct buf *b, const struct profile_counts *c)
{
    buf_put_uleb(b, LATENCY_KIND_COUNT);
    for (unsigned k = 0; k < LATENCY_KIND_COUNT; k++) {
        const struct latency *l = &c->latencies[k];
        uint32_t used = 0;
        for (unsigned i = 0; i < LATENCY_BUCKETS; i++)
            used += l->counts[i] != 0;
        buf_put_string(b, profile_latency_name(k));
        buf_put_uleb(b, l->sum_ns);
        buf_put_uleb(b, used);
        for (unsigned i = 0; i < LATENCY_BUCKETS; i++)
            if (l->counts[i]) {
                buf_put_uleb(b, i);
                buf_put_uleb(b, l->counts[i]);
            }
    }
}

void sections_counts_put(struct section_out *out, const struct profile_counts *c)
{
    out[0] = (struct section_out){.type = SECTION_COUNTS, .optional = true};
    out[1] = (struct section_out){.type = SECTION_BLOCKS, .optional = true};
    out[2] = (struct section_out){.type = SECTION_EDGES, .optional = true};
    out[3] = (struct section_out){.type = SECTION_LATENCIES, .optional = true};
    put_head(&out[0].raw, c);
    put_blocks(&out[1].raw, c);
    put_edges(&out[2].raw, c);
    put_latencies(&out[3].raw, c);
}

static bool image_exists(const struct profile *p, uint32_t image)
{
    return image < p->image_count || image == PROFILE_IMAGE_NONE;
}

/* Order is checked as far as differences would be negative. */
static bool blocks_good(const struct profile *p, const struct profile_counts *c)
{
    for (uint32_t i = 0; i < c->block_count; i++) {
        const struct profile_block *b = &c->blocks[i], *last = i ? b - 1 : b;
        uint32_t rank = b->image + FRAME_IMAGE_FIRST, before = last->image + FRAME_IMAGE_FIRST;
        if (!image_exists(p, b->image) || b->process >= p->process_count || rank < before ||
            (rank == before && b->process == last->process && b->offset < last->offset))
            return false;
    }
    return true;
}

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

bool sections_counts_check(const struct profile *p, struct err *e)
{
    if (!p->counts || (blocks_good(p, p->counts) && edges_good(p, p->counts) &&
                       section_paths_good(p->counts) &&
                       section_streams_good(p, p->counts->streams)))
        return true;
    return err_set(e, ERR_INTERNAL, "the profile cannot be written: a block, edge or stream is of no "
                   "image or process, or a path of no block, or out of order");
}

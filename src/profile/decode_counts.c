#include "profile/sections_counts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"
#include "profile/frames.h"
#include "profile/sections_paths.h"
#include "profile/sections_streams.h"

static uint64_t get_u64(struct cursor *c, const char *what)
{
    return cursor_uleb(c, UINT64_MAX, what);
}

/* What this version has no name for is not lost. */
static bool note_unknown(struct decoder *d, const char *what, const char *name, uint64_t count)
{
    char *notes;
    const char *old = d->p->notes;
    if (asprintf(&notes, "%s%s%" PRIu64 " %s '%s', which this version does not know", old,
                 *old ? "\n" : "", count, what, name) < 0)
        return err_set(d->e, ERR_INTERNAL, "%s: out of memory", d->file.name);
    free(d->p->notes);
    d->p->notes = notes;
    return true;
}

/* Counts by name, into counts[] by enumerator. */
static bool get_named(struct decoder *d, struct cursor *c, uint64_t *counts, unsigned known,
                      const char *(*name_of)(unsigned), const char *what)
{
    uint32_t n = (uint32_t)cursor_uleb(c, REASONS_MAX, "a number of names up to 64");
    bool ok = true;
    for (uint32_t i = 0; ok && i < n && !c->failed; i++) {
        char *name = cursor_string(c, "a name");
        uint64_t count = get_u64(c, "a count");
        unsigned k = 0;
        while (name && k < known && strcmp(name, name_of(k)) != 0)
            k++;
        if (name && k < known)
            counts[k] = add_saturated(counts[k], count);
        else if (name && count)
            ok = note_unknown(d, what, name, count);
        free(name);
    }
    return ok && !c->failed && n > 0;
}

static bool get_head(struct decoder *d)
{
    struct cursor c;
    if (!decode_open(d, SECTION_COUNTS, &c))
        return false;
    char *carrier = cursor_string(&c, "the name of a carrier");
    char *tool = cursor_string(&c, "the name of a tool");
    struct profile_counts *k = carrier && tool ? profile_counts_new(carrier, tool) : NULL;
    free(carrier);
    free(tool);
    d->p->counts = k;
    if (!k) {
        free((void *)(uintptr_t)c.data);
        return err_set(d->e, ERR_INTERNAL, "%s: out of memory", d->file.name);
    }
    k->length = get_u64(&c, "the length of bursts");
    k->native_ns = get_u64(&c, "the time of a native run");
    k->counted = cursor_uleb(&c, 1, "0 or 1: whether instructions were counted");
    k->instructions = get_u64(&c, "the number of instructions");
    k->bursts = get_u64(&c, "the number of bursts");
    k->burst_instructions = get_u64(&c, "the instructions of bursts");
    k->burst_ns = get_u64(&c, "the time of bursts");
    k->translated = get_u64(&c, "the number of blocks translated");
    k->code_bytes = get_u64(&c, "the size of translated code");
    k->translation_ns = get_u64(&c, "the time of translation");
    k->dispatches = get_u64(&c, "the number of dispatches");
    k->dispatch_ns = get_u64(&c, "the time of dispatches");
    get_named(d, &c, k->stopped, STOP_COUNT, profile_stop_name, "times the engine stopped for");
    k->classified = get_named(d, &c, k->classes, CLASS_COUNT, profile_class_name,
                              "instructions are of the class");
    return decode_close(&c);
}

static bool get_blocks(struct decoder *d)
{
    struct profile_counts *k = d->p->counts;
    struct cursor c;
    if (!k || !decode_open(d, SECTION_BLOCKS, &c))
        return false;
    uint32_t n = cursor_count(&c, 6, "a number of blocks that fits the section"), rank = 0;
    struct profile_block *at = k->blocks = decode_array(&c, n, sizeof *at);
    for (uint32_t i = 0; i < n && !c.failed; i++)
        at[i].image = decode_image_step(d, &c, &rank);
    for (uint32_t i = 0; i < n && !c.failed; i++)
        at[i].process = decode_process_index(d, &c);
    for (uint32_t i = 0; i < n && !c.failed; i++) {
        bool same = i && at[i].image == at[i - 1].image && at[i].process == at[i - 1].process;
        uint64_t base = same ? at[i - 1].offset : 0;
        at[i].offset = base + cursor_uleb(&c, UINT64_MAX - base, "the step to a block");
    }
    for (uint32_t i = 0; i < n && !c.failed; i++)
        at[i].bytes = (uint32_t)cursor_uleb(&c, UINT32_MAX, "the size of a block");
    for (uint32_t i = 0; i < n && !c.failed; i++)
        at[i].instructions = (uint32_t)cursor_uleb(&c, UINT32_MAX, "the instructions of a block");
    for (uint32_t i = 0; i < n && !c.failed; i++)
        at[i].count = get_u64(&c, "the executions of a block");
    k->block_count = c.failed ? 0 : n;
    return decode_close(&c);
}

static bool get_edges(struct decoder *d)
{
    struct profile_counts *k = d->p->counts;
    struct cursor c;
    if (!k || !decode_open(d, SECTION_EDGES, &c))
        return false;
    uint32_t n = cursor_count(&c, 6, "a number of edges that fits the section"), rank = 0;
    uint64_t ranks = (uint64_t)d->p->image_count + FRAME_IMAGE_FIRST - 1;
    struct profile_edge *at = k->edges = decode_array(&c, n, sizeof *at);
    for (uint32_t i = 0; i < n && !c.failed; i++)
        at[i].from_image = decode_image_step(d, &c, &rank);
    for (uint32_t i = 0; i < n && !c.failed; i++) {
        uint32_t to = (uint32_t)cursor_uleb(&c, ranks, "the image that an edge goes to");
        if (to < FRAME_IMAGE_NONE)
            cursor_fail(&c, "the image that an edge goes to, which is never 0");
        at[i].to_image = to - FRAME_IMAGE_FIRST;
    }
    for (uint32_t i = 0; i < n && !c.failed; i++)
        at[i].process = decode_process_index(d, &c);
    for (uint32_t i = 0; i < n && !c.failed; i++) {
        bool same = i && at[i].from_image == at[i - 1].from_image &&
                    at[i].to_image == at[i - 1].to_image && at[i].process == at[i - 1].process;
        uint64_t base = same ? at[i - 1].from : 0;
        at[i].from = base + cursor_uleb(&c, UINT64_MAX - base, "the step to an edge");
    }
    for (uint32_t i = 0; i < n && !c.failed; i++)
        at[i].to = at[i].from + (uint64_t)cursor_sleb(&c, "the distance that an edge goes");
    for (uint32_t i = 0; i < n && !c.failed; i++)
        at[i].count = get_u64(&c, "the executions of an edge");
    k->edge_count = c.failed ? 0 : n;
    return decode_close(&c);
}

static void get_latency(struct cursor *c, struct latency *to)
{
    to->sum_ns = add_saturated(to->sum_ns, get_u64(c, "a sum of times"));
    uint32_t n = (uint32_t)cursor_uleb(c, LATENCY_BUCKETS, "a number of buckets up to 160");
    for (uint32_t i = 0; i < n && !c->failed; i++) {
        uint64_t *at = &to->counts[cursor_uleb(c, LATENCY_BUCKETS - 1, "a bucket below 160")];
        *at = add_saturated(*at, get_u64(c, "a count"));
    }
}

/* A kind that this version does not know is passed over: what it measures, this version does not say. */
static bool get_latencies(struct decoder *d)
{
    struct cursor c;
    if (!d->file.known[SECTION_LATENCIES].offset)
        return true;
    if (!decode_open(d, SECTION_LATENCIES, &c))
        return false;
    uint32_t n = (uint32_t)cursor_uleb(&c, REASONS_MAX, "a number of names up to 64");
    for (uint32_t i = 0; i < n && !c.failed; i++) {
        char *name = cursor_string(&c, "a name");
        struct latency unknown = {0};
        unsigned k = 0;
        while (name && k < LATENCY_KIND_COUNT && strcmp(name, profile_latency_name(k)) != 0)
            k++;
        get_latency(&c, k < LATENCY_KIND_COUNT ? &d->p->counts->latencies[k] : &unknown);
        free(name);
    }
    return decode_close(&c);
}

bool sections_counts_get(struct decoder *d)
{
    if (!d->file.known[SECTION_COUNTS].offset)
        return true;
    return get_head(d) && get_blocks(d) && get_edges(d) && get_latencies(d) &&
           section_paths_get(d) && section_streams_get(d) &&
           (profile_counts_settle(d->p->counts) ||
            err_set(d->e, ERR_INTERNAL, "%s: out of memory", d->file.name));
}

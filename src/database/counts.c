#include "database/counts.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/saturate.h"
#include "profile/container.h"

static const struct section_type section = {1, "samples", SECTION_REQUIRED};

static const struct section_type *lookup(uint32_t number)
{
    return number == section.number ? &section : NULL;
}

bool counts_add(struct counts *c, uint32_t node, uint64_t weight)
{
    if (!ARRAY_ROOM(c->list, c->count, c->capacity))
        return false;
    c->list[c->count++] = (struct count){node, weight};
    return true;
}

bool counts_add_all(struct counts *c, const struct counts *from)
{
    c->taken = add_saturated(c->taken, from->taken);
    c->weight = add_saturated(c->weight, from->weight);
    c->squares = add_saturated(c->squares, from->squares);
    c->guessed = add_saturated(c->guessed, from->guessed);
    for (unsigned i = 0; i < TRUNC_COUNT; i++)
        c->truncated[i] = add_saturated(c->truncated[i], from->truncated[i]);
    for (uint32_t i = 0; i < from->count; i++)
        if (!counts_add(c, from->list[i].node, from->list[i].weight))
            return false;
    return true;
}

static int compare(const void *a, const void *b)
{
    const struct count *x = a, *y = b;
    return (x->node > y->node) - (x->node < y->node);
}

void counts_settle(struct counts *c)
{
    uint32_t kept = 0;
    if (c->count)
        qsort(c->list, c->count, sizeof *c->list, compare);
    for (uint32_t i = 0; i < c->count; i++)
        if (kept && c->list[kept - 1].node == c->list[i].node)
            c->list[kept - 1].weight = add_saturated(c->list[kept - 1].weight, c->list[i].weight);
        else
            c->list[kept++] = c->list[i];
    c->count = kept;
}

uint8_t *counts_encode(const struct counts *c, size_t *size, struct err *e)
{
    struct section_out out = {.type = &section};
    const uint64_t totals[] = {c->taken, c->weight, c->squares, c->guessed, TRUNC_COUNT};
    for (unsigned i = 0; i < sizeof totals / sizeof totals[0]; i++)
        buf_put_uleb(&out.raw, totals[i]);
    for (unsigned i = 0; i < TRUNC_COUNT; i++)
        buf_put_uleb(&out.raw, c->truncated[i]);
    buf_put_uleb(&out.raw, c->count);
    for (uint32_t i = 0; i < c->count; i++)
        buf_put_uleb(&out.raw, c->list[i].node - (i ? c->list[i - 1].node : 0));
    for (uint32_t i = 0; i < c->count; i++)
        buf_put_uleb(&out.raw, c->list[i].weight);
    uint8_t *bytes = container_finish(CONTAINER_COUNTS, &out, 1, true, size, e);
    buf_free(&out.raw);
    return bytes;
}

static void totals_read(struct counts *c, struct cursor *at)
{
    uint64_t *const totals[] = {&c->taken, &c->weight, &c->squares, &c->guessed};
    for (unsigned i = 0; i < sizeof totals / sizeof totals[0]; i++)
        *totals[i] = cursor_uleb(at, UINT64_MAX, "a number of samples");
    uint32_t reasons = cursor_count(at, 1, "a number of reasons that fits");
    for (uint32_t i = 0; i < reasons && !at->failed; i++) {
        uint64_t n = cursor_uleb(at, UINT64_MAX, "samples whose stack was cut off");
        if (i < TRUNC_COUNT)
            c->truncated[i] = n;
    }
}

static void list_read(struct counts *c, struct cursor *at, uint32_t nodes)
{
    uint64_t node = 0;
    uint32_t count = cursor_count(at, 2, "a number of nodes that fits");
    c->list = calloc((size_t)count + 1, sizeof *c->list);
    if (!c->list)
        return;
    c->capacity = count;
    for (uint32_t i = 0; i < count && !at->failed; i++) {
        uint64_t step = cursor_uleb(at, UINT32_MAX, "the number of a node");
        node += step;
        if (node >= nodes || (i && !step))
            cursor_fail(at, "nodes of the dictionary in ascending order");
        c->list[c->count++].node = (uint32_t)node;
    }
    for (uint32_t i = 0; i < c->count && !at->failed; i++)
        c->list[i].weight = cursor_uleb(at, UINT64_MAX, "a weight");
}

bool counts_decode(struct counts *c, const uint8_t *data, size_t size, uint32_t nodes,
                   struct err *e)
{
    struct container in = {.lookup = lookup};
    struct section_in found;
    *c = (struct counts){0};
    if (!container_open(&in, data, size, "samples of the database", e))
        return false;
    if (in.kind != CONTAINER_COUNTS || !container_find(&in, section.number, &found))
        return err_set(e, ERR_FORMAT, "samples of the database are none");
    struct cursor at = {.file = "samples of the database", .section = section.name, .e = e};
    uint8_t *raw = container_load(&in, &found, &at.size, e);
    if (!raw)
        return false;
    at.data = raw;
    totals_read(c, &at);
    list_read(c, &at, nodes);
    bool ok = cursor_end(&at) && (c->list || err_set(e, ERR_INTERNAL, "out of memory"));
    free(raw);
    return ok;
}

void counts_fini(struct counts *c)
{
    free(c->list);
    *c = (struct counts){0};
}

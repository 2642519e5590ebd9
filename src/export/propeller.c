/* Clusters of basic blocks, as `clang -fbasic-block-sections=list=` reads them (LLVM, llvm/lib/
 * CodeGen/BasicBlockSectionsProfileReader.cpp), version 1:
 *
 *     v1
 *     f FUNCTION
 *     c 0 4 2        its executed blocks, in their order; the others go to FUNCTION.cold
 *
 * Blocks are numbered by the compiler (symbols/block_map.h). Their order is that of Pettis and
 * Hansen, "Profile Guided Code Positioning" (PLDI 1990), bottom-up: from the most frequent
 * transition to the rarest, the block that it leads to is put behind the one that it comes from,
 * unless one of the two has a neighbour there already. The chain with the first block comes first,
 * then the others, the most executed first. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/saturate.h"
#include "export/export.h"
#include "export/list.h"
#include "export/transfers.h"
#include "symbols/block_map.h"

enum { NONE = UINT32_MAX };

/* From one block to another of one function, by index. */
struct transition {
    uint32_t from, to;
    uint64_t count;
};

struct clusters {
    const struct binary *b;
    struct block_map map;
    uint64_t *counts;          /* by block: executions */
    uint32_t *next, *in, *ranked; /* by block: behind it; nearer to its chain's first; chains */
    bool *placed;              /* by block: another one is before it */
    uint64_t *heat;            /* by block that begins a chain: the most executed of it */
    struct transition *list;
    uint32_t count, capacity;
    uint64_t elsewhere;        /* executions in code of no block */
    uint32_t functions, blocks; /* written */
    bool failed;
};

static uint32_t block_at(const struct clusters *c, uint64_t address)
{
    const struct block_map_block *block = block_map_find(&c->map, address);
    return block ? (uint32_t)(block - c->map.blocks) : NONE;
}

/* ---- transitions ---- */

static void add(struct clusters *c, uint32_t from, uint32_t to, uint64_t count)
{
    if (from == NONE || to == NONE || c->map.blocks[from].function != c->map.blocks[to].function)
        return;
    if (!ARRAY_ROOM(c->list, c->count, c->capacity)) {
        c->failed = true;
        return;
    }
    c->list[c->count++] = (struct transition){ from, to, count };
}

/* The blocks that a range goes through, one after the other. */
static void add_range(struct clusters *c, const struct transfer_range *r)
{
    uint32_t block = block_at(c, r->start);
    if (r->entry == ENTERED_BY_FALLING && block != block_at(c, r->before))
        add(c, block_at(c, r->before), block, r->count);
    if (block == NONE)
        c->elsewhere = add_saturated(c->elsewhere, r->count);
    while (block != NONE) {
        c->counts[block] = add_saturated(c->counts[block], r->count);
        if (r->last < c->map.blocks[block].end)
            break;
        uint32_t next = block_at(c, c->map.blocks[block].end);
        add(c, block, next, r->count);
        block = next;
    }
}

static int compare_places(const void *a, const void *b)
{
    const struct transition *x = a, *y = b;
    int order = list_compare(x->from, y->from);
    return order ? order : list_compare(x->to, y->to);
}

static int compare_counts(const void *a, const void *b)
{
    const struct transition *x = a, *y = b;
    int order = list_compare(y->count, x->count);
    return order ? order : compare_places(a, b);
}

static void find_transitions(struct clusters *c, const struct transfers *t)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < t->range_count; i++)
        add_range(c, &t->ranges[i]);
    for (uint32_t i = 0; i < t->branch_count; i++) {
        uint32_t to = block_at(c, t->branches[i].to);
        if (to != NONE && t->branches[i].to == c->map.blocks[to].start)
            add(c, block_at(c, t->branches[i].from), to, t->branches[i].count);
    }
    if (c->count)
        qsort(c->list, c->count, sizeof *c->list, compare_places);
    for (uint32_t i = 0; i < c->count; i++) {
        struct transition *last = kept ? &c->list[kept - 1] : NULL;
        if (last && !compare_places(last, &c->list[i]))
            last->count = add_saturated(last->count, c->list[i].count);
        else
            c->list[kept++] = c->list[i];
    }
    c->count = kept;
    if (c->count)
        qsort(c->list, c->count, sizeof *c->list, compare_counts);
}

/* ---- chains ---- */

static uint32_t beginning(struct clusters *c, uint32_t block)
{
    while (c->in[block] != block)
        block = c->in[block] = c->in[c->in[block]];
    return block;
}

static void chain(struct clusters *c)
{
    for (uint32_t i = 0; i < c->map.count; i++) {
        c->next[i] = NONE;
        c->in[i] = i;
        c->heat[i] = c->counts[i];
    }
    for (uint32_t i = 0; i < c->count; i++) {
        uint32_t from = c->list[i].from, to = c->list[i].to, first = beginning(c, from);
        if (c->next[from] != NONE || c->placed[to] || first == to || !c->map.blocks[to].id)
            continue;
        c->next[from] = to;
        c->placed[to] = true;
        c->in[to] = first;
        if (c->heat[to] > c->heat[first])
            c->heat[first] = c->heat[to];
    }
}

/* Chains by function; of one function, that with its first block, then the hottest. */
static int compare_chains(const void *a, const void *b, void *context)
{
    const struct clusters *c = context;
    const uint32_t *x = a, *y = b;
    const struct block_map_block *v = &c->map.blocks[*x], *w = &c->map.blocks[*y];
    int order = list_compare(v->function, w->function);
    if (!order)
        order = (v->id != 0) - (w->id != 0);
    if (!order)
        order = list_compare(c->heat[*y], c->heat[*x]);
    return order ? order : list_compare(*x, *y);
}

static void put_chain(struct clusters *c, struct buf *out, uint32_t block)
{
    for (; block != NONE; block = c->next[block], c->blocks++)
        buf_printf(out, " %" PRIu32, c->map.blocks[block].id);
}

/* One function's chains; the first is not that of its first block: that was not executed, or not
 * seen, and is listed all the same. */
static void put_function(struct clusters *c, struct buf *out, uint32_t first, uint32_t count)
{
    const struct block_map_block *block = &c->map.blocks[c->ranked[first]];
    struct code_function f;
    if (!code_symbol(c->b->code, block->function, &f) || f.start != block->function)
        return;
    buf_printf(out, "f %.*s\nc", (int)strcspn(f.name, "@"), f.name);
    if (block->id)
        buf_puts(out, " 0");
    for (uint32_t i = 0; i < count; i++)
        put_chain(c, out, c->ranked[first + i]);
    buf_puts(out, "\n");
    c->functions++;
}

static void put_all(struct clusters *c, struct buf *out)
{
    uint32_t chains = 0;
    for (uint32_t i = 0; i < c->map.count; i++)
        if (c->heat[i] && !c->placed[i])
            c->ranked[chains++] = i;
    qsort_r(c->ranked, chains, sizeof *c->ranked, compare_chains, c);
    buf_puts(out, "v1\n");
    for (uint32_t first = 0, end; first < chains; first = end) {
        uint64_t function = c->map.blocks[c->ranked[first]].function;
        for (end = first; end < chains && c->map.blocks[c->ranked[end]].function == function;)
            end++;
        put_function(c, out, first, end - first);
    }
}

static bool read_map(struct clusters *c, const char *path, struct err *e)
{
    size_t size = 0;
    bool failed = false;
    const uint8_t *data = code_section(c->b->code, BLOCK_MAP_SECTION, &size);
    if (!data)
        return err_set(e, ERR_USAGE, "%s does not say where its blocks are: compile it with clang "
                       "-fbasic-block-address-map, and record it again", path);
    if (!block_map_read(&c->map, data, size, &failed) && !failed)
        return err_set(e, ERR_USAGE, "the map of blocks of %s is not of LLVM 19's version (2), or "
                       "damaged", path);
    size_t count = (size_t)c->map.count + 1;
    c->counts = calloc(count, sizeof *c->counts);
    c->next = calloc(count, sizeof *c->next);
    c->in = calloc(count, sizeof *c->in);
    c->ranked = calloc(count, sizeof *c->ranked);
    c->placed = calloc(count, sizeof *c->placed);
    c->heat = calloc(count, sizeof *c->heat);
    bool ok = !failed && c->counts && c->next && c->in && c->ranked && c->placed && c->heat;
    return ok || err_set(e, ERR_INTERNAL, "cannot make clusters of blocks: out of memory");
}

static void clusters_fini(struct clusters *c)
{
    block_map_free(&c->map);
    free(c->counts);
    free(c->next);
    free(c->in);
    free(c->ranked);
    free(c->placed);
    free(c->heat);
    free(c->list);
}

static bool make(struct clusters *c, const char *path, struct buf *out,
                 struct export_result *result, struct err *e)
{
    struct transfers t;
    if (!read_map(c, path, e) || !transfers_find(&t, c->b, false, e))
        return false;
    find_transitions(c, &t);
    chain(c);
    put_all(c, out);
    for (uint32_t i = 0; i < c->map.count; i++)
        result->samples = add_saturated(result->samples, c->counts[i]);
    buf_printf(&result->remarks, "of %s: %" PRIu32 " blocks of %" PRIu32 " functions\n", path,
               c->blocks, c->functions);
    if (c->elsewhere)
        buf_printf(&result->remarks, "left out: %" PRIu64 " executions of ranges whose blocks are "
                   "not known\n", c->elsewhere);
    transfers_remark(&t, c->b, &result->remarks);
    transfers_fini(&t);
    return (!c->failed && buf_ok(out)) ||
           err_set(e, ERR_INTERNAL, "cannot make clusters of blocks: out of memory");
}

bool export_propeller(const struct profile *p, const struct symbols *s,
                      const struct export_options *options, struct buf *out,
                      struct export_result *result, struct err *e)
{
    struct binary b;
    struct clusters c = { .b = &b };
    (void)s;
    *result = (struct export_result){ 0 };
    if (!binary_open(&b, p, options->image, &result->remarks, e))
        return false;
    bool ok = make(&c, options->image ? options->image : p->images[b.image].path, out, result, e);
    clusters_fini(&c);
    binary_close(&b);
    return ok;
}

#include "export/source_counts.h"

#include "base/array.h"
#include "base/saturate.h"
#include "export/list.h"
#include "export/transfers_internal.h"

static void add(struct source_counts *c, uint64_t address, uint64_t count)
{
    if (!count)
        return;
    if (!ARRAY_ROOM(c->list, c->count, c->capacity)) {
        c->failed = true;
        return;
    }
    c->list[c->count++] = (struct source_count){ address, count };
}

static int compare(const void *a, const void *b)
{
    const struct source_count *x = a, *y = b;
    return list_compare(x->address, y->address);
}

static void settle(struct source_counts *c)
{
    uint32_t kept = 0;
    if (c->count)
        qsort(c->list, c->count, sizeof *c->list, compare);
    for (uint32_t i = 0; i < c->count; i++) {
        struct source_count *last = kept ? &c->list[kept - 1] : NULL;
        if (last && last->address == c->list[i].address)
            last->count = add_saturated(last->count, c->list[i].count);
        else
            c->list[kept++] = c->list[i];
    }
    c->count = kept;
}

/* Ranges of one extent differ in how they were entered, and follow each other. */
void source_counts_of_transfers(struct source_counts *c, const struct binary *b,
                                const struct transfers *t)
{
    for (uint32_t i = 0; i < t->range_count && !c->failed;) {
        const struct transfer_range *range = &t->ranges[i];
        struct transfer_insn insn;
        uint64_t count = 0;
        for (; i < t->range_count && t->ranges[i].start == range->start &&
               t->ranges[i].last == range->last; i++)
            count = add_saturated(count, t->ranges[i].count);
        for (uint64_t at = range->start; at <= range->last && transfers_insn(b, at, &insn);
             at = insn.next)
            add(c, at, count);
    }
    settle(c);
}

void source_counts_of_samples(struct source_counts *c, const struct binary *b)
{
    const struct profile *p = b->profile;
    for (uint32_t t = 0; t < p->thread_count; t++)
        for (uint32_t i = 0; i < p->threads[t].node_count && !c->failed; i++) {
            const struct profile_node *node = &p->threads[t].nodes[i];
            if (binary_has(b, node->image))
                add(c, node->offset, node->self);
        }
    settle(c);
}

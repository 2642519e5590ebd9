#include "collector/machine/machine_hits.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/saturate.h"
#include "collector/machine/machine_places.h"
#include "x86/format.h"

bool machine_hits_take(struct machine_hits *h, const struct profile *p)
{
    for (uint32_t t = 0; t < p->thread_count; t++)
        for (uint32_t i = 0; i < p->threads[t].node_count; i++) {
            const struct profile_node *n = &p->threads[t].nodes[i];
            if (!n->self || !profile_is_private(n->image, n->offset) ||
                !machine_kernel_is(n->offset))
                continue;
            if (!ARRAY_ROOM(h->list, h->count, h->capacity))
                return false;
            h->list[h->count++] = (struct machine_hit){n->offset | ~KEY_OFFSET_MASK, n->self};
        }
    return true;
}

static int compare(const void *a, const void *b)
{
    const struct machine_hit *x = a, *y = b;
    return (x->address > y->address) - (x->address < y->address);
}

/* In order, each address once. Returns the sum. */
static uint64_t add_up(struct machine_hits *h)
{
    uint64_t sum = 0;
    uint32_t count = 0;
    if (h->count)
        qsort(h->list, h->count, sizeof *h->list, compare);
    for (uint32_t i = 0; i < h->count; i++) {
        sum = add_saturated(sum, h->list[i].weight);
        if (count && h->list[count - 1].address == h->list[i].address)
            h->list[count - 1].weight = add_saturated(h->list[count - 1].weight, h->list[i].weight);
        else
            h->list[count++] = h->list[i];
    }
    h->count = count;
    return sum;
}

struct keeping {
    struct machine_hits *h;
    struct entity_batch made;
    const struct machine_symbols *symbols;
    struct machine_code *code;
};

/* bytes NULL: not known. */
static bool keep(struct keeping *k, uint64_t address, const uint8_t *bytes, size_t size,
                 uint64_t weight)
{
    struct machine_hits *h = k->h;
    uint64_t entity = machine_place_name(&k->made, k->symbols, address, bytes, size);
    if (!entity || !ARRAY_ROOM(h->kept, h->kept_count, h->kept_capacity))
        return false;
    h->kept[h->kept_count++] = (struct profile_hit){entity, weight};
    return true;
}

/* The function's code, without what fills the room behind it. */
static size_t code_read(const struct keeping *k, uint64_t start, uint8_t code[MACHINE_HITS_CODE])
{
    uint64_t next = machine_symbols_next(k->symbols, start), size = next ? next - start : 0;
    size = size < MACHINE_HITS_CODE ? size : MACHINE_HITS_CODE;
    size = k->code ? machine_code_read(k->code, start, code, (size_t)size) : 0;
    while (size && code[size - 1] == 0xcc)
        size--;
    return (size_t)size;
}

/* list: the function's. One at no instruction's begin, or beyond what was read, stands alone. */
static bool function_keep(struct keeping *k, uint64_t start, const struct machine_hit *list,
                          uint32_t count)
{
    enum { LONGEST = 15 };
    uint8_t code[MACHINE_HITS_CODE];
    char text[X86_TEXT_SIZE];
    size_t size = code_read(k, start, code), at = 0;
    uint32_t i = 0;
    bool ok = true;
    while (ok && at < size && (size < MACHINE_HITS_CODE || size - at >= LONGEST)) {
        uint64_t address = start + at, weight = 0;
        unsigned length = x86_format(code + at, size - at, address, NULL, NULL, text, sizeof text);
        for (; ok && i < count && list[i].address < address; i++)
            ok = keep(k, list[i].address, NULL, 0, list[i].weight);
        if (i < count && list[i].address == address)
            weight = list[i++].weight;
        ok = ok && keep(k, address, code + at, length, weight);
        at += length;
    }
    for (; ok && i < count; i++)
        ok = keep(k, list[i].address, NULL, 0, list[i].weight);
    return ok;
}

bool machine_hits_keep(struct machine_hits *h, struct profile *p,
                       const struct machine_symbols *symbols, struct machine_code *code)
{
    struct keeping k = {.h = h, .symbols = symbols, .code = code};
    uint64_t all = add_up(h), start;
    bool ok = true;
    for (uint32_t i = 0, next; ok && i < h->count; i = next) {
        const char *module;
        const bool named =
            *machine_symbols_function(symbols, h->list[i].address, &module, &start);
        const uint64_t end = named ? machine_symbols_next(symbols, start) : 0;
        uint64_t sum = h->list[i].weight;
        for (next = i + 1; next < h->count && h->list[next].address < end; next++)
            sum = add_saturated(sum, h->list[next].weight);
        if (end && sum >= all / MACHINE_HITS_SHARE)
            ok = function_keep(&k, start, h->list + i, next - i);
    }
    ok = ok && entity_batch_merge(&k.made, p) && profile_hits_add(p, h->kept, h->kept_count);
    entity_batch_free(&k.made);
    return ok;
}

void machine_hits_free(struct machine_hits *h)
{
    free(h->list);
    free(h->kept);
    *h = (struct machine_hits){0};
}

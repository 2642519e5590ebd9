#include "report/path_ids.h"

#include <stdlib.h>

#include "sigsafe/hash.h"

static size_t slot_of(const struct path_ids *p, uint64_t parent, uint64_t function)
{
    uint64_t h = (hash_word(parent) ^ function) * UINT64_C(0xff51afd7ed558ccd);
    size_t at = (size_t)(h ^ h >> 29) & (p->size - 1);
    while (p->keys[2 * at + 1] &&
           (p->keys[2 * at] != parent || p->keys[2 * at + 1] != function + 1))
        at = (at + 1) & (p->size - 1);
    return at;
}

uint64_t path_ids_find(struct path_ids *p, uint64_t parent, uint64_t function)
{
    size_t at = slot_of(p, parent, function);
    if (!p->keys[2 * at + 1]) {
        p->keys[2 * at] = parent;
        p->keys[2 * at + 1] = function + 1;
        p->ids[at] = ++p->used;
    }
    return p->ids[at];
}

bool path_ids_init(struct path_ids *p, size_t nodes)
{
    *p = (struct path_ids){.size = 256};
    while (p->size < 2 * nodes)
        p->size *= 2;
    p->keys = calloc(p->size, 2 * sizeof *p->keys);
    p->ids = calloc(p->size, sizeof *p->ids);
    return p->keys && p->ids;
}

void path_ids_fini(struct path_ids *p)
{
    free(p->keys);
    free(p->ids);
    *p = (struct path_ids){0};
}

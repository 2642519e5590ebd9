/* Memory that lives as long as a struct symbols: strings kept once each, and small arrays.
 *
 * Context: ordinary code, one thread a pool.
 * Ownership: the pool owns everything it hands out, until pool_free. Failure is sticky: after an
 * allocation fails, pool_intern returns "" and pool_alloc NULL, and pool_ok is false. */
#ifndef PENUMBRA_SYMBOLS_POOL_H
#define PENUMBRA_SYMBOLS_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pool {
    struct pool_block *blocks;
    const char **slots; /* open addressing over interned strings */
    size_t slot_count, used;
    bool failed;
};

static inline bool pool_ok(const struct pool *p)
{
    return !p->failed;
}

void pool_free(struct pool *p);
/* Zeroed bytes, aligned for any object. */
void *pool_alloc(struct pool *p, size_t size);
/* The one copy of the string in the pool: equal strings have equal pointers. */
const char *pool_intern(struct pool *p, const char *string);

#endif

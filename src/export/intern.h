/* A table of distinct byte strings, numbered 0, 1, 2, ... in the order they were first added, each
 * with two sums. Foreign formats are mostly such tables: strings, functions, locations, stacks.
 *
 * Context: ordinary code, one thread a table.
 * Ownership: the table owns copies of its keys until intern_fini. A zeroed struct is empty.
 *
 * Failure is sticky, as in base/buf.h: after an allocation fails, intern_add returns 0 and
 * intern_ok() is false. Check once, before the numbers are used. */
#ifndef PENUMBRA_EXPORT_INTERN_H
#define PENUMBRA_EXPORT_INTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct intern_entry {
    size_t at; /* where the key begins in intern.keys */
    uint32_t size;
    uint32_t hash;
    uint64_t sum[2]; /* the user's: what the entry adds up to */
};

struct intern {
    struct buf keys;
    struct intern_entry *entries;
    uint32_t count, capacity;
    uint32_t *slots; /* entry number + 1, or 0; linear probing; a power of two of them */
    uint32_t slot_count;
    bool failed;
};

static inline bool intern_ok(const struct intern *t)
{
    return !t->failed && buf_ok(&t->keys);
}

void intern_fini(struct intern *t);
/* Forgets all keys, and keeps the memory for others. */
void intern_clear(struct intern *t);

/* The number of the key, which is added, with sums of zero, if it is new. 8-byte aligned copy. */
uint32_t intern_add(struct intern *t, const void *key, size_t size);

/* The same for the bytes of a C string without its end. */
uint32_t intern_add_string(struct intern *t, const char *string);

/* Valid until the next intern_add. Keys are followed by a zero byte. */
static inline const void *intern_key(const struct intern *t, uint32_t number)
{
    return t->keys.data + t->entries[number].at;
}

#endif

#include "export/intern.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* One slot after the other, as there may be many more slots than keys now. The last key first: no
 * other's way to its slot leads over it. */
void intern_clear(struct intern *t)
{
    while (t->count) {
        uint32_t at = t->entries[t->count - 1].hash & (t->slot_count - 1);
        while (t->slots[at] != t->count)
            at = (at + 1) & (t->slot_count - 1);
        t->slots[at] = 0;
        t->count--;
    }
    t->keys.size = 0;
}

void intern_fini(struct intern *t)
{
    buf_free(&t->keys);
    free(t->entries);
    free(t->slots);
    *t = (struct intern){0};
}

static bool slots_grow(struct intern *t)
{
    uint32_t slot_count = t->slot_count ? t->slot_count * 2 : 1024;
    uint32_t *slots = slot_count ? calloc(slot_count, sizeof *slots) : NULL;
    if (!slots)
        return false;
    for (uint32_t i = 0; i < t->count; i++) {
        uint32_t at = t->entries[i].hash & (slot_count - 1);
        while (slots[at])
            at = (at + 1) & (slot_count - 1);
        slots[at] = i + 1;
    }
    free(t->slots);
    t->slots = slots;
    t->slot_count = slot_count;
    return true;
}

static bool entries_grow(struct intern *t)
{
    uint32_t capacity = t->capacity ? t->capacity * 2 : 256;
    struct intern_entry *entries =
        capacity > t->capacity ? realloc(t->entries, capacity * sizeof *entries) : NULL;
    if (!entries)
        return false;
    t->entries = entries;
    t->capacity = capacity;
    return true;
}

static uint32_t entry_append(struct intern *t, uint32_t slot, const void *key, size_t size,
                             uint32_t hash)
{
    static const uint8_t zeros[8];
    size_t at = t->keys.size;
    buf_put(&t->keys, key, size);
    buf_put(&t->keys, zeros, 8 - size % 8); /* ends the key, aligns the next one */
    if (!buf_ok(&t->keys) || (t->count == t->capacity && !entries_grow(t))) {
        t->failed = true;
        return 0;
    }
    t->entries[t->count] =
        (struct intern_entry){.at = at, .size = (uint32_t)size, .hash = hash};
    t->slots[slot] = ++t->count;
    return t->count - 1;
}

uint32_t intern_add(struct intern *t, const void *key, size_t size)
{
    if (size > UINT32_MAX)
        t->failed = true;
    if (!t->failed && t->count >= t->slot_count / 2 && !slots_grow(t))
        t->failed = true;
    if (t->failed)
        return 0;
    uint32_t hash = (uint32_t)hash_bytes(key, size);
    uint32_t slot = hash & (t->slot_count - 1);
    for (; t->slots[slot]; slot = (slot + 1) & (t->slot_count - 1)) {
        const struct intern_entry *found = &t->entries[t->slots[slot] - 1];
        if (found->hash == hash && found->size == size &&
            memcmp(t->keys.data + found->at, key, size) == 0)
            return t->slots[slot] - 1;
    }
    return entry_append(t, slot, key, size, hash);
}

uint32_t intern_add_string(struct intern *t, const char *string)
{
    return intern_add(t, string, strlen(string));
}

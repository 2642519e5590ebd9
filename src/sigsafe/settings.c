#include "sigsafe/settings.h"

#include "sigsafe/bytes.h"

enum { BLOCKS_MOST = 64 };

void *settings_find_as(const struct spool *s, uint32_t type, uint32_t version, uint64_t size)
{
    spool_ref ref = __atomic_load_n(&spool_header(s)->settings, __ATOMIC_ACQUIRE);
    for (unsigned i = 0; i < BLOCKS_MOST; i++) {
        const struct spool_settings *block = spool_at(s, ref, sizeof *block);
        if (!block)
            return NULL;
        uint32_t has = block->size;
        if (block->type == type && block->version == version && has >= size)
            return spool_at(s, ref + 1, has);
        ref = block->next;
    }
    return NULL;
}

void *settings_add(const struct spool *s, uint32_t type, uint32_t version, uint32_t size)
{
    struct spool_settings *block = spool_alloc_as(s, sizeof *block + size);
    if (!block)
        return NULL;
    block->type = (uint16_t)type;
    block->version = (uint16_t)version;
    block->size = size;
    spool_push_as(s, &spool_header(s)->settings, block);
    return block + 1;
}

const struct spool_config *settings_sampling(const struct spool *s)
{
    static const struct spool_config none;
    const struct spool_config *found = settings_sampling_as(s);
    return found ? found : &none;
}

bool settings_put(const struct spool *s, const struct settings *from)
{
#define PUT(id, name, number, version, type)                                                       \
    type *name = settings_add(s, id, version, sizeof *name);                                       \
    if (!name)                                                                                     \
        return false;                                                                              \
    bytes_copy_as(name, &from->name, sizeof *name);
    SETTINGS(PUT)
#undef PUT
    return true;
}

bool settings_get(const struct spool *s, struct settings *to)
{
    bool all = true;
    bytes_clear_as(to, sizeof *to);
#define GET(id, name, number, version, type)                                                       \
    const type *name = settings_##name##_as(s);                                                    \
    if (name)                                                                                      \
        bytes_copy_as(&to->name, name, sizeof *name);                                              \
    all &= name != NULL;
    SETTINGS(GET)
#undef GET
    return all;
}

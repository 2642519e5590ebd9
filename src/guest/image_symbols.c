#include "guest/image_symbols.h"

#include <stddef.h>

uint64_t image_dynamic_as(const struct image_source *source, int64_t tag)
{
    const Elf64_Dyn *dynamic = NULL;
    for (uint32_t i = 0; i < source->phdr_count; i++)
        if (source->phdr[i].p_type == PT_DYNAMIC)
            dynamic = (const Elf64_Dyn *)(source->bias + source->phdr[i].p_vaddr);
    for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++)
        if (dynamic->d_tag == tag)
            return dynamic->d_un.d_val;
    return 0;
}

uint64_t image_dynamic_address_as(const struct image_source *source, int64_t tag)
{
    uint64_t address = image_dynamic_as(source, tag);
    return address && address < source->bias ? address + source->bias : address;
}

bool image_symbols_open_as(const struct image_source *source, struct image_symbols *out)
{
    out->symbols = (const Elf64_Sym *)image_dynamic_address_as(source, DT_SYMTAB);
    out->names = (const char *)image_dynamic_address_as(source, DT_STRTAB);
    out->names_size = image_dynamic_as(source, DT_STRSZ);
    out->gnu_hash = (const uint32_t *)image_dynamic_address_as(source, DT_GNU_HASH);
    return out->symbols && out->names && out->gnu_hash;
}

/* Whether the name at `offset` is `name`, or begins with it. */
static bool named(const struct image_symbols *s, uint64_t offset, const char *name, bool prefix)
{
    for (; offset < s->names_size; offset++, name++) {
        if (!*name && prefix)
            return true;
        if (s->names[offset] != *name)
            return false;
        if (!*name)
            return true;
    }
    return false;
}

/* The table (https://flapenguin.me/elf-dt-gnu-hash describes it):
 *
 *     0   buckets, first (symbol that is hashed), words (of the Bloom filter), shift
 *     16  uint64_t bloom[words]
 *         uint32_t bucket[buckets]    the first symbol of a chain, or 0
 *         uint32_t chain[]            by symbol - first: its hash, whose bit 0 ends the chain */
static bool may_have(const struct image_symbols *s, uint32_t hash)
{
    uint32_t words = s->gnu_hash[2], shift = s->gnu_hash[3] & 31;
    const uint64_t *bloom = (const uint64_t *)(const void *)(s->gnu_hash + 4);
    uint64_t word = words ? bloom[hash / 64 % words] : UINT64_MAX;
    return word >> hash % 64 & word >> (hash >> shift) % 64 & 1;
}

uint32_t image_symbols_hash_as(const char *name)
{
    uint32_t hash = 5381;
    for (; *name; name++)
        hash = hash * 33 + (uint8_t)*name;
    return hash;
}

const Elf64_Sym *image_symbols_hashed_as(const struct image_symbols *s, const char *name,
                                         uint32_t hash)
{
    uint32_t buckets = s->gnu_hash[0], first = s->gnu_hash[1], words = s->gnu_hash[2];
    if (!buckets || !may_have(s, hash))
        return NULL;
    const uint32_t *bucket = s->gnu_hash + 4 + 2 * (uint64_t)words, *chain = bucket + buckets;
    uint32_t i = bucket[hash % buckets];
    if (i < first)
        return NULL;
    for (;; i++) {
        uint32_t found = chain[i - first];
        if ((found | 1) == (hash | 1) && named(s, s->symbols[i].st_name, name, false))
            return s->symbols[i].st_shndx == SHN_UNDEF ? NULL : &s->symbols[i];
        if (found & 1)
            return NULL;
    }
}

const Elf64_Sym *image_symbols_find_as(const struct image_symbols *s, const char *name)
{
    return image_symbols_hashed_as(s, name, image_symbols_hash_as(name));
}

/* Undefined symbols come before those that are hashed. */
bool image_symbols_wants_as(const struct image_symbols *s, const char *prefix)
{
    for (uint32_t i = 1; i < s->gnu_hash[1]; i++)
        if (s->symbols[i].st_shndx == SHN_UNDEF && named(s, s->symbols[i].st_name, prefix, true))
            return true;
    return false;
}

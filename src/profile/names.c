#include "profile/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "sigsafe/cct.h"

enum { FIRST = 64, BLOCK = 1 << 16 };

/* Strings, one after the other, each with its end. */
struct names_block {
    struct names_block *next;
    size_t left; /* bytes at the end */
    char *at;
    char bytes[];
};

struct profile_names *profile_names_new(uint32_t image_count)
{
    struct profile_names *n = calloc(1, sizeof *n);
    if (!n)
        return NULL;
    n->images = calloc((size_t)image_count + 1, sizeof *n->images);
    n->image_count = image_count;
    if (n->images && profile_names_string(n, "") == 0)
        return n;
    profile_names_free(n);
    return NULL;
}

void profile_names_free(struct profile_names *n)
{
    if (!n)
        return;
    for (struct names_block *b = n->blocks, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    for (uint32_t i = 0; n->images && i < n->image_count; i++)
        free(n->images[i].places);
    free((void *)n->strings);
    free(n->names);
    free(n->images);
    free(n->string_slots);
    free(n->name_slots);
    free(n);
}

/* ---- hash tables: open addressing, at most half full ---- */

static uint64_t name_hash(const struct profile_name *name)
{
    uint64_t h = cct_hash(((uint64_t)name->function << 32) | name->file);
    h = cct_hash(h ^ (((uint64_t)name->line << 32) | name->outer));
    return cct_hash(h ^ name->start);
}

static bool same_name(const struct profile_name *a, const struct profile_name *b)
{
    return a->function == b->function && a->file == b->file && a->line == b->line &&
           a->outer == b->outer && a->start == b->start;
}

static void slot_put(uint32_t *slots, uint32_t count, uint64_t hash, uint32_t index)
{
    uint32_t i = (uint32_t)hash & (count - 1);
    while (slots[i])
        i = (i + 1) & (count - 1);
    slots[i] = index + 1;
}

/* An empty table with room for `used` and one more; NULL if *count has that. */
static uint32_t *slots_larger(uint32_t used, uint32_t *count, bool *failed)
{
    uint32_t needed = *count ? *count : FIRST;
    while (needed && needed / 2 <= used)
        needed *= 2;
    *failed = false;
    if (needed == *count)
        return NULL;
    uint32_t *slots = needed ? calloc(needed, sizeof *slots) : NULL;
    *failed = !slots;
    *count = slots ? needed : *count;
    return slots;
}

bool profile_names_reserve(struct profile_names *n, uint32_t strings)
{
    bool failed;
    uint32_t *slots = slots_larger(strings, &n->string_slot_count, &failed);
    if (!slots)
        return !failed;
    free(n->string_slots);
    n->string_slots = slots;
    for (uint32_t i = 0; i < n->string_count; i++)
        slot_put(slots, n->string_slot_count, hash_bytes(n->strings[i], strlen(n->strings[i])), i);
    return true;
}

static bool name_slots_grow(struct profile_names *n)
{
    bool failed;
    uint32_t *slots = slots_larger(n->name_count, &n->name_slot_count, &failed);
    if (!slots)
        return !failed;
    free(n->name_slots);
    n->name_slots = slots;
    for (uint32_t i = 0; i < n->name_count; i++)
        slot_put(slots, n->name_slot_count, name_hash(&n->names[i]), i);
    return true;
}

/* Where the string is in the table, or the empty slot where it belongs. There is room for it. */
static uint32_t *string_slot(const struct profile_names *n, const char *text, size_t length)
{
    uint32_t mask = n->string_slot_count - 1, i = (uint32_t)hash_bytes(text, length) & mask;
    for (; n->string_slots[i]; i = (i + 1) & mask) {
        const char *known = n->strings[n->string_slots[i] - 1];
        if (!strncmp(known, text, length) && !known[length])
            break;
    }
    return &n->string_slots[i];
}

static const char *string_keep(struct profile_names *n, const char *text, size_t length)
{
    struct names_block *b = n->blocks;
    if (!b || b->left <= length) {
        size_t size = length < BLOCK ? BLOCK : length + 1;
        b = malloc(sizeof *b + size);
        if (!b)
            return NULL;
        *b = (struct names_block){n->blocks, size, b->bytes};
        n->blocks = b;
    }
    char *string = b->at;
    memcpy(string, text, length);
    string[length] = 0;
    b->at += length + 1;
    b->left -= length + 1;
    return string;
}

uint32_t profile_names_text(struct profile_names *n, const char *text, size_t length)
{
    if (!profile_names_reserve(n, n->string_count))
        return UINT32_MAX;
    uint32_t *slot = string_slot(n, text, length);
    if (*slot)
        return *slot - 1;
    if (!ARRAY_ROOM(n->strings, n->string_count, n->string_capacity))
        return UINT32_MAX;
    const char *string = string_keep(n, text, length);
    if (!string)
        return UINT32_MAX;
    n->strings[n->string_count] = string;
    *slot = ++n->string_count;
    return *slot - 1;
}

uint32_t profile_names_string(struct profile_names *n, const char *string)
{
    return profile_names_text(n, string, strlen(string));
}

uint32_t profile_names_add(struct profile_names *n, const struct profile_name *name)
{
    if (!name_slots_grow(n))
        return UINT32_MAX;
    uint32_t mask = n->name_slot_count - 1, i = (uint32_t)name_hash(name) & mask;
    for (; n->name_slots[i]; i = (i + 1) & mask)
        if (same_name(&n->names[n->name_slots[i] - 1], name))
            return n->name_slots[i] - 1;
    if (!ARRAY_ROOM(n->names, n->name_count, n->name_capacity))
        return UINT32_MAX;
    n->names[n->name_count] = *name;
    n->name_slots[i] = n->name_count + 1;
    return n->name_count++;
}

bool profile_names_place(struct profile_names *n, uint32_t image, uint64_t offset, uint32_t name)
{
    struct profile_named_image *m = &n->images[image];
    if (name == UINT32_MAX || !ARRAY_ROOM(m->places, m->count, m->capacity))
        return false;
    m->places[m->count++] = (struct profile_named_place){offset, name};
    return true;
}

const struct profile_named_place *profile_names_find(const struct profile_names *n, uint32_t image,
                                                     uint64_t offset)
{
    if (!n || image >= n->image_count)
        return NULL;
    const struct profile_named_image *m = &n->images[image];
    uint32_t at = ARRAY_LEADING(m->count, i, m->places[i].offset < offset);
    return at < m->count && m->places[at].offset == offset ? &m->places[at] : NULL;
}

/* ---- merging ---- */

/* Names are copied as places are found that need them: files of one program have most in common. */
struct copying {
    struct profile_names *into;
    const struct profile_names *from;
    uint32_t *name_in; /* [k]: 1 + where name k of `from` is in `into`; 0: it is not copied */
};

/* The index in `into`; UINT32_MAX without memory. Chains are bounded (PROFILE_NAMES_DEPTH). */
static uint32_t name_copy(const struct copying *c, uint32_t k)
{
    struct profile_name name = c->from->names[k];
    if (c->name_in[k])
        return c->name_in[k] - 1;
    uint32_t outer = name.outer ? name_copy(c, name.outer - 1) : 0;
    if (outer == UINT32_MAX)
        return UINT32_MAX;
    name.outer = name.outer ? outer + 1 : 0;
    name.function = profile_names_string(c->into, c->from->strings[name.function]);
    name.file = profile_names_string(c->into, c->from->strings[name.file]);
    if (name.function == UINT32_MAX || name.file == UINT32_MAX)
        return UINT32_MAX;
    uint32_t index = profile_names_add(c->into, &name);
    c->name_in[k] = index + 1;
    return index;
}

/* Whether m knows of all places of the other. */
static bool image_covers(const struct profile_named_image *m,
                         const struct profile_named_image *other)
{
    uint32_t i = 0;
    for (uint32_t k = 0; k < other->count; k++) {
        while (i < m->count && m->places[i].offset < other->places[k].offset)
            i++;
        if (i == m->count || m->places[i].offset != other->places[k].offset)
            return false;
    }
    return true;
}

/* The places of both, in order, in a new array: of one place m's name if `mine_first`. */
static bool places_unite(struct profile_named_image *m, const struct profile_named_image *other,
                         bool mine_first, const struct copying *c)
{
    struct profile_named_place *all = calloc((size_t)m->count + other->count + 1, sizeof *all);
    uint32_t i = 0, k = 0, count = 0;
    if (!all)
        return false;
    while (i < m->count || k < other->count) {
        bool both =
            i < m->count && k < other->count && m->places[i].offset == other->places[k].offset;
        bool mine =
            k == other->count || (i < m->count && m->places[i].offset < other->places[k].offset);
        all[count] = (both ? mine_first : mine)
                         ? m->places[i]
                         : (struct profile_named_place){other->places[k].offset,
                                                        name_copy(c, other->places[k].name)};
        if (all[count++].name == UINT32_MAX) {
            free(all);
            return false;
        }
        i += both || mine;
        k += both || !mine;
    }
    free(m->places);
    m->places = all;
    m->capacity = m->count + other->count + 1;
    m->count = count;
    return true;
}

/* Where both know of places, a file at hand may still improve what the lesser one gave: the level
 * is the lesser. */
static bool image_unite(struct profile_named_image *m, const struct profile_named_image *other,
                        const struct copying *c)
{
    bool mine_first = m->level >= other->level;
    bool lesser = !m->count || (other->count && other->level < m->level);
    if (!(mine_first && image_covers(m, other)) && !places_unite(m, other, mine_first, c))
        return false;
    m->level = lesser ? other->level : m->level;
    return true;
}

bool profile_names_merge(struct profile_names *into, const struct profile_names *from,
                         const uint32_t *index_of, uint32_t image_count)
{
    if (image_count > into->image_count) {
        struct profile_named_image *images =
            reallocarray(into->images, (size_t)image_count + 1, sizeof *images);
        if (!images)
            return false;
        memset(images + into->image_count, 0, (image_count - into->image_count) * sizeof *images);
        into->images = images;
        into->image_count = image_count;
    }
    struct copying c = {into, from, calloc((size_t)from->name_count + 1, sizeof *c.name_in)};
    bool ok = c.name_in;
    for (uint32_t i = 0; ok && i < from->image_count; i++)
        if (from->images[i].count)
            ok = image_unite(&into->images[index_of[i]], &from->images[i], &c);
    free(c.name_in);
    return ok;
}

/* ---- checking ---- */

bool profile_names_chains_good(const struct profile_names *n)
{
    uint16_t *depth = calloc((size_t)n->name_count + 1, sizeof *depth);
    bool ok = depth;
    for (uint32_t i = 0; ok && i < n->name_count; i++) {
        const struct profile_name *name = &n->names[i];
        ok = name->function < n->string_count && name->file < n->string_count && name->outer <= i;
        depth[i] = (uint16_t)(ok && name->outer ? depth[name->outer - 1] + 1 : 1);
        ok = ok && depth[i] <= PROFILE_NAMES_DEPTH;
    }
    free(depth);
    return ok;
}

bool profile_names_good(const struct profile_names *n, uint32_t image_count)
{
    bool ok = n->image_count == image_count && n->string_count && !*n->strings[0] &&
              profile_names_chains_good(n);
    for (uint32_t i = 0; ok && i < n->image_count; i++) {
        const struct profile_named_image *m = &n->images[i];
        ok = m->level < NAMES_LEVELS;
        for (uint32_t k = 0; ok && k < m->count; k++)
            ok = m->places[k].name < n->name_count &&
                 (!k || m->places[k].offset > m->places[k - 1].offset);
    }
    return ok;
}

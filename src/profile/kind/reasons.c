/* Names of the reasons for which samples were dropped and stacks are incomplete. */
#include <string.h>

#include "profile/kind/kind.h"

static void put(struct buf *b, const struct encoder *x)
{
    (void)x;
    buf_put_uleb(b, DROP_COUNT);
    for (unsigned i = 0; i < DROP_COUNT; i++)
        buf_put_string(b, profile_drop_name(i));
    buf_put_uleb(b, TRUNC_COUNT - 1);
    for (unsigned i = 1; i < TRUNC_COUNT; i++)
        buf_put_string(b, profile_truncation_name(i));
}

static void get_map(struct cursor *c, struct reason_map *map, unsigned first, unsigned end,
                    const char *(*name)(unsigned))
{
    uint32_t count = (uint32_t)cursor_uleb(c, REASONS_MAX, "a number of reasons up to 64");
    for (; map->count < count && !c->failed; map->count++) {
        uint32_t i = map->count;
        map->names[i] = cursor_string(c, "the name of a reason");
        map->known[i] = UINT32_MAX;
        for (unsigned k = first; map->names[i] && k < end; k++)
            if (strcmp(map->names[i], name(k)) == 0)
                map->known[i] = k;
    }
}

static void get(struct decoder *d, struct cursor *c)
{
    get_map(c, &d->drops, 0, DROP_COUNT, profile_drop_name);
    get_map(c, &d->truncations, 1, TRUNC_COUNT, profile_truncation_name);
}

static bool note(struct decoder *d, const struct reason_map *map, const char *what)
{
    for (uint32_t i = 0; i < map->count; i++)
        if (map->unknown[i] && !read_note_unknown(d, map->unknown[i], what, map->names[i]))
            return false;
    return true;
}

static bool resolve(struct decoder *d)
{
    return note(d, &d->drops, "samples were dropped for the reason") &&
           note(d, &d->truncations, "samples were truncated for the reason");
}

const struct section_kind kind_reasons = {
    .type = {2, "reasons", SECTION_REQUIRED},
    .about = "names of the reasons for dropped samples and truncated stacks",
    .put = put,
    .get = get,
    .resolve = resolve,
};

#include "symbols/stored.h"

#include <stdio.h>
#include <stdlib.h>

const char *stored_place_name(struct pool *pool, const char *image_name, uint64_t address)
{
    char *name;
    if (asprintf(&name, "[%s+0x%llx]", image_name, (unsigned long long)address) < 0) {
        pool->failed = true;
        return "";
    }
    const char *result = pool_intern(pool, name);
    free(name);
    return result;
}

/* One kept name as a frame; without a function, its start or the place itself is what it is
 * called. */
static struct symbol_frame frame_of(const struct stored_request *r, const struct profile_name *name,
                                    uint64_t offset, struct pool *pool)
{
    const struct profile_names *n = r->names;
    struct symbol_frame frame = {
        .function = pool_intern(pool, n->strings[name->function]),
        .file = r->detail == SYMBOLS_LINES ? pool_intern(pool, n->strings[name->file]) : "",
        .line = r->detail == SYMBOLS_LINES ? name->line : 0,
        .start = name->start,
        .inlined = name->outer != 0,
    };
    if (!frame.function[0]) {
        frame.unnamed = true;
        frame.function = stored_place_name(pool, r->image_name, name->start ? name->start : offset);
    }
    return frame;
}

static void fill_one(const struct stored_request *r, const struct profile_named_place *place,
                     struct symbol_location *out, struct pool *pool)
{
    const struct profile_name *names = r->names->names;
    uint32_t count = 0, first = place->name + 1;
    for (uint32_t at = first; at; at = names[at - 1].outer) {
        if (r->detail == SYMBOLS_QUICK)
            first = at;
        count++;
    }
    count = r->detail == SYMBOLS_QUICK ? 1 : count;
    struct symbol_frame *frames = pool_alloc(pool, count * sizeof *frames);
    if (!frames)
        return;
    *out = (struct symbol_location){ .frames = frames, .count = count };
    for (uint32_t at = first; at; at = names[at - 1].outer)
        *frames++ = frame_of(r, &names[at - 1], place->offset, pool);
}

uint32_t stored_fill(const struct stored_request *r, struct symbol_location *out, struct pool *pool)
{
    uint32_t missing = 0;
    for (uint32_t i = 0; i < r->count && pool_ok(pool); i++) {
        const struct profile_named_place *place =
            profile_names_find(r->names, r->image, r->offsets[i]);
        if (place)
            fill_one(r, place, &out[i], pool);
        else
            missing++;
    }
    return missing;
}

bool stored_keep(struct profile_names *to, uint32_t image, const uint64_t *offsets,
                 const struct symbol_location *locations, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct symbol_location *where = &locations[i];
        uint32_t name = UINT32_MAX;
        for (uint32_t k = where->count; k--;) {
            const struct symbol_frame *frame = &where->frames[k];
            struct profile_name one = {
                .function = profile_names_string(to, frame->unnamed ? "" : frame->function),
                .file = profile_names_string(to, frame->file),
                .line = frame->line,
                .outer = k + 1 < where->count ? name + 1 : 0,
                .start = frame->start,
            };
            name = one.function != UINT32_MAX && one.file != UINT32_MAX
                       ? profile_names_add(to, &one) : UINT32_MAX;
            if (name == UINT32_MAX)
                return false;
        }
        if (where->count && !profile_names_place(to, image, offsets[i], name))
            return false;
    }
    return true;
}

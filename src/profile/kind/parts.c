/* What merging has kept apart: each a file of its own. */
#include <stdlib.h>
#include <string.h>

#include "profile/kind/kind.h"
#include "profile/parts.h"

enum { PARTS_SECTION = 62 };

static bool needed(const struct profile *p)
{
    return p->part_count != 0;
}

static bool in_order(const struct profile *p)
{
    struct part_key before = profile_key(p);
    for (uint32_t i = 0; i < p->part_count; i++) {
        struct part_key key = profile_part_key(&p->parts[i]);
        if (part_key_compare(&before, &key) >= 0)
            return false;
        before = key;
    }
    return true;
}

static bool check(const struct profile *p, struct err *e)
{
    return (in_order(p) && p->part_count <= PARTS_MAX) ||
           err_set(e, ERR_INTERNAL,
                   "the profile cannot be written: its parts are too many or out of order");
}

static void put(struct buf *b, const struct encoder *x)
{
    buf_put_uleb(b, x->p->part_count);
    for (uint32_t i = 0; i < x->p->part_count; i++) {
        const struct profile_part *part = &x->p->parts[i];
        struct err e = {0};
        size_t size = 0;
        uint8_t *data = profile_part_encode(part, x->compress, &size, &e);
        b->failed |= !data;
        buf_put_uleb(b, part->how == OBSERVED_EXACT);
        buf_put_string(b, part->carrier);
        buf_put_string(b, part->tool);
        buf_put_uleb(b, size);
        buf_put(b, data, data ? size : 0);
        free(data);
    }
}

/* Sums and the table are checked here, the contents when they are read. */
static bool is_file(const struct decoder *d, const uint8_t *data, size_t size)
{
    struct container file = {.lookup = d->file.lookup};
    struct section_in s;
    struct err ignored = {0};
    return container_open(&file, data, size, d->file.name, &ignored) &&
           file.kind == CONTAINER_PROFILE && !container_find(&file, PARTS_SECTION, &s);
}

static void get_part(struct decoder *d, struct cursor *c, struct profile_part *part)
{
    part->how =
        cursor_uleb(c, 1, "0 or 1: whether all was observed") ? OBSERVED_EXACT : OBSERVED_SAMPLED;
    part->carrier = cursor_string(c, "the name of a carrier");
    part->tool = cursor_string(c, "the name of a tool, or none");
    uint64_t size = cursor_uleb(c, c->size, "the size of a part");
    const uint8_t *data = cursor_bytes(c, (size_t)size, "a part of that size");
    if (c->failed)
        return;
    part->data = malloc(size ? (size_t)size : 1);
    if (!part->data) {
        read_no_memory(c);
        return;
    }
    memcpy(part->data, data, (size_t)size);
    part->size = (size_t)size;
    if (!is_file(d, part->data, part->size))
        cursor_fail(c, "a part that is a whole profile without parts");
}

static void get(struct decoder *d, struct cursor *c)
{
    struct profile *p = d->p;
    uint32_t count = (uint32_t)cursor_uleb(c, PARTS_MAX, "a number of parts, 1 to 64");
    if (!count)
        cursor_fail(c, "a number of parts, 1 to 64");
    p->parts = c->failed ? NULL : read_array(c, count, sizeof *p->parts);
    for (uint32_t i = 0; p->parts && i < count && !c->failed; i++) {
        struct profile_part *part = &p->parts[i];
        get_part(d, c, part);
        if (part->carrier && part->tool) {
            p->part_count++;
            continue;
        }
        free(part->carrier);
        free(part->tool);
    }
}

static bool resolve(struct decoder *d)
{
    return in_order(d->p) ||
           err_set(d->e, ERR_FORMAT, "%s: its parts are out of order, or two of them are the same",
                   d->file.name);
}

const struct section_kind kind_parts = {
    .type = {PARTS_SECTION, "parts", 0},
    .about = "optional: what merging has kept apart",
    .needed = needed,
    .check = check,
    .put = put,
    .get = get,
    .resolve = resolve,
};

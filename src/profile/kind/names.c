/* Functions, files and lines. */
#include "profile/kind/names.h"

#include <stdlib.h>

#include "profile/kind/kind.h"

static void put_image(struct buf *b, const struct profile_named_image *m)
{
    buf_put_uleb(b, m->level);
    buf_put_uleb(b, m->count);
    for (uint32_t i = 0; i < m->count; i++)
        buf_put_uleb(b, m->places[i].offset - (i ? m->places[i - 1].offset : 0));
    for (uint32_t i = 0; i < m->count; i++)
        buf_put_sleb(b, (int64_t)m->places[i].name - (i ? (int64_t)m->places[i - 1].name : 0));
}

void kind_names_write(struct buf *b, const struct profile_names *n)
{
    buf_put_uleb(b, n->string_count - 1);
    for (uint32_t i = 1; i < n->string_count; i++)
        buf_put_string(b, n->strings[i]);
    buf_put_uleb(b, n->name_count);
    for (uint32_t i = 0; i < n->name_count; i++)
        buf_put_uleb(b, n->names[i].function);
    for (uint32_t i = 0; i < n->name_count; i++)
        buf_put_uleb(b, n->names[i].file);
    for (uint32_t i = 0; i < n->name_count; i++)
        buf_put_uleb(b, n->names[i].line);
    for (uint32_t i = 0; i < n->name_count; i++)
        buf_put_sleb(b, (int64_t)(n->names[i].start - (i ? n->names[i - 1].start : 0)));
    for (uint32_t i = 0; i < n->name_count; i++)
        buf_put_uleb(b, n->names[i].outer ? i + 1 - n->names[i].outer : 0);
    for (uint32_t i = 0; i < n->image_count; i++)
        put_image(b, &n->images[i]);
}

static void get_strings(struct cursor *c, struct profile_names *n)
{
    uint32_t count = cursor_count(c, 1, "a number of strings that fits the section");
    if (!profile_names_reserve(n, count))
        read_no_memory(c);
    for (uint32_t i = 1; i <= count && !c->failed; i++) {
        uint32_t length;
        const char *text = cursor_text(c, &length, "a string");
        uint32_t index = text ? profile_names_text(n, text, length) : i;
        if (index == UINT32_MAX)
            read_no_memory(c);
        else if (index != i)
            cursor_fail(c, "strings that are there once and not empty");
    }
}

static void get_names(struct cursor *c, struct profile_names *n)
{
    uint32_t count = cursor_count(c, 5, "a number of names that fits the section");
    uint64_t start = 0;
    n->names = read_array(c, count, sizeof *n->names);
    if (c->failed)
        return;
    n->name_count = count;
    n->name_capacity = count ? count : 1;
    for (uint32_t i = 0; i < count; i++)
        n->names[i].function =
            (uint32_t)cursor_uleb(c, n->string_count - 1, "the string of a function");
    for (uint32_t i = 0; i < count; i++)
        n->names[i].file = (uint32_t)cursor_uleb(c, n->string_count - 1, "the string of a file");
    for (uint32_t i = 0; i < count; i++)
        n->names[i].line = (uint32_t)cursor_uleb(c, UINT32_MAX, "a line");
    for (uint32_t i = 0; i < count; i++)
        n->names[i].start = start += (uint64_t)cursor_sleb(c, "the step to a function's start");
    for (uint32_t i = 0; i < count; i++) {
        uint32_t back = (uint32_t)cursor_uleb(c, i, "a name before this one");
        n->names[i].outer = back ? i + 1 - back : 0;
    }
}

enum { CHUNK = 256 }; /* places, whose columns are read at once */

static void get_offsets(struct cursor *c, struct profile_named_image *m)
{
    uint64_t steps[CHUNK], offset = 0;
    for (uint32_t i = 0, n; i < m->count && !c->failed; i += n) {
        n = m->count - i < CHUNK ? m->count - i : CHUNK;
        cursor_ulebs(c, steps, n, "the step to a place");
        for (uint32_t k = 0; k < n; k++) {
            if (__builtin_add_overflow(offset, steps[k], &offset) || (i + k && !steps[k]))
                cursor_fail(c, "a place behind the one before");
            m->places[i + k].offset = offset;
        }
    }
}

static void get_names_of(struct cursor *c, struct profile_named_image *m, uint32_t names)
{
    int64_t steps[CHUNK], name = 0;
    for (uint32_t i = 0, n; i < m->count && !c->failed; i += n) {
        n = m->count - i < CHUNK ? m->count - i : CHUNK;
        cursor_slebs(c, steps, n, "the step to the name of a place");
        for (uint32_t k = 0; k < n; k++) {
            if (__builtin_add_overflow(name, steps[k], &name) || name < 0 || name >= names) {
                cursor_fail(c, "the step to the name of a place, which exists");
                name = 0;
            }
            m->places[i + k].name = (uint32_t)name;
        }
    }
}

static void get_image(struct cursor *c, const struct profile_names *n,
                      struct profile_named_image *m)
{
    m->level = (uint32_t)cursor_uleb(c, NAMES_LEVELS - 1, "what names are from, 0 to 3");
    uint32_t count = cursor_count(c, 2, "a number of places that fits the section");
    if (!count || c->failed)
        return;
    m->places = reallocarray(NULL, count, sizeof *m->places); /* all are written, or it fails */
    if (!m->places) {
        read_no_memory(c);
        return;
    }
    m->count = m->capacity = count;
    get_offsets(c, m);
    get_names_of(c, m, n->name_count);
}

static struct profile_names *get_all(struct cursor *c, uint32_t images)
{
    struct profile_names *n = profile_names_new(images);
    if (!n) {
        read_no_memory(c);
        return NULL;
    }
    get_strings(c, n);
    get_names(c, n);
    for (uint32_t i = 0; i < images && !c->failed; i++)
        get_image(c, n, &n->images[i]);
    if (!c->failed && !profile_names_chains_good(n))
        cursor_fail(c, "chains of names of at most 512");
    if (!c->failed)
        return n;
    profile_names_free(n);
    return NULL;
}

static bool needed(const struct profile *p)
{
    return p->names != NULL;
}

static bool check(const struct profile *p, struct err *e)
{
    return profile_names_good(p->names, p->image_count) ||
           err_set(e, ERR_INTERNAL, "the profile cannot be written: its names are not in order");
}

static void put(struct buf *b, const struct encoder *x)
{
    kind_names_write(b, x->p->names);
}

static void get(struct decoder *d, struct cursor *c)
{
    d->p->names = get_all(c, d->p->image_count);
}

static bool merge(struct merger *m)
{
    struct profile *into = m->into;
    const struct profile *from = m->from;
    if (!into->names && !from->names)
        return true;
    if (!into->names && !(into->names = profile_names_new(into->image_count)))
        return false;
    struct profile_names *none = from->names ? NULL : profile_names_new(from->image_count);
    const struct profile_names *names = from->names ? from->names : none;
    bool ok = names && profile_names_merge(into->names, names, m->image_of, into->image_count);
    profile_names_free(none);
    return ok;
}

const struct section_kind kind_names = {
    .type = {60, "names", 0},
    .about = "optional: functions, files and lines",
    .needed = needed,
    .check = check,
    .put = put,
    .get = get,
    .merge = merge,
};

struct profile_names *kind_names_read(const uint8_t *data, size_t size, uint32_t images)
{
    struct err ignored = {0};
    struct cursor c = {.data = data,
                       .size = size,
                       .file = "names",
                       .section = kind_names.type.name,
                       .e = &ignored};
    return get_all(&c, images);
}

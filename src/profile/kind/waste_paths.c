/* Call paths of the pairs of accesses that make waste. */
#include "profile/kind/kind.h"
#include "profile/table/waste_paths.h"
#include "sigsafe/tools.h"

_Static_assert(offsetof(struct profile_waste_path, pair) == 0, "it begins with a pair");

enum { CALL_LEAST = 4, PATH_LEAST = WASTE_PAIR_LEAST + 3, FOLDED_BOTH = 3 };

static struct profile_waste_paths *paths_of(const struct profile *p)
{
    struct profile_waste *w = observed_table(p, TABLE_WASTE);
    return w ? &w->paths : NULL;
}

static bool needed(const struct profile *p)
{
    const struct profile_waste_paths *w = paths_of(p);
    return w && w->kept;
}

static bool check(const struct profile *p, struct err *e)
{
    const struct profile_waste_paths *w = paths_of(p);
    bool good = waste_pairs_good(p, w->list, w->count, sizeof *w->list);
    for (uint32_t i = 0; good && i < w->call_count; i++)
        good = image_exists(p, w->calls[i].image) && w->calls[i].process < p->process_count &&
               w->calls[i].caller <= i;
    for (uint32_t i = 0; good && i < w->count; i++)
        good = w->list[i].from <= w->call_count && w->list[i].to <= w->call_count;
    return good || err_set(e, ERR_INTERNAL,
                           "the profile cannot be written: a call path is of no image or process, "
                           "or out of order");
}

/* Columns of plain numbers of a path, in the order of the file. */
#define PATH_COLUMNS(X)                                                                            \
    X(from, w->call_count, "a call of the path")                                                   \
    X(to, w->call_count, "a call of the other path")                                               \
    X(folded, FOLDED_BOTH, "which path lacks calls")

static void put(struct buf *b, const struct encoder *x)
{
    const struct profile_waste_paths *w = paths_of(x->p);
    uint32_t n = w->call_count;
    buf_put_uleb(b, w->evicted);
    buf_put_uleb(b, w->unknown);
    buf_put_uleb(b, n);
    buf_put_uleb(b, w->count);
    for (uint32_t i = 0; i < n; i++)
        buf_put_uleb(b, w->calls[i].caller ? i + 1 - w->calls[i].caller : 0);
    for (uint32_t i = 0; i < n; i++)
        buf_put_uleb(b, w->calls[i].image + FRAME_IMAGE_FIRST);
    for (uint32_t i = 0; i < n; i++)
        buf_put_uleb(b, w->calls[i].process);
    for (uint32_t i = 0; i < n; i++)
        buf_put_uleb(b, w->calls[i].offset);
    waste_pairs_put(b, w->list, w->count, sizeof *w->list);
#define PUT(name, most, what)                                                                      \
    for (uint32_t i = 0; i < w->count; i++)                                                        \
        buf_put_uleb(b, w->list[i].name);
    PATH_COLUMNS(PUT)
#undef PUT
}

static void get_calls(struct decoder *d, struct cursor *c, struct profile_waste_call *at,
                      uint32_t n)
{
    for (uint32_t i = 0; i < n && !c->failed; i++) {
        uint32_t back = (uint32_t)cursor_uleb(c, i, "a call before this one");
        at[i].caller = back ? i + 1 - back : 0;
    }
    read_images(d, c, &at->image, n, sizeof *at, "the image of a call, not 0");
    for (uint32_t i = 0; i < n && !c->failed; i++)
        at[i].process = read_process(d, c);
    for (uint32_t i = 0; i < n && !c->failed; i++)
        at[i].offset = read_u64(c, "the place of a call");
}

static void get(struct decoder *d, struct cursor *c)
{
    struct profile_waste_paths *w = paths_of(d->p);
    if (!w) {
        cursor_fail(c, "no call paths, as there are no pairs");
        return;
    }
    w->kept = true;
    w->evicted = read_u64(c, "the number of instances that were evicted");
    w->unknown = read_u64(c, "the number of instances without paths");
    w->call_count = cursor_count(c, CALL_LEAST, "a number of calls that fits the section");
    w->count = cursor_count(c, PATH_LEAST, "a number of paths that fits the section");
    w->calls = read_array(c, w->call_count, sizeof *w->calls);
    w->list = read_array(c, w->count, sizeof *w->list);
    w->call_capacity = w->call_count;
    w->capacity = w->count;
    if (w->calls && w->list) {
        get_calls(d, c, w->calls, w->call_count);
        waste_pairs_get(d, c, w->list, w->count, sizeof *w->list);
#define GET(name, most, what)                                                                      \
    for (uint32_t i = 0; i < w->count && !c->failed; i++)                                          \
        w->list[i].name = (uint32_t)cursor_uleb(c, most, what);
        PATH_COLUMNS(GET)
#undef GET
    }
    if (c->failed)
        w->call_count = w->count = 0;
}

const struct section_kind kind_waste_paths = {
    .type = {43, "waste paths", 0},
    .within = 42,
    .about = "optional, with 42: call paths of both accesses of a pair",
    .needed = needed,
    .check = check,
    .put = put,
    .get = get,
};

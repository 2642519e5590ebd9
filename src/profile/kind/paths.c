/* Interprocedural acyclic paths. */
#include "profile/kind/kind.h"

static bool needed(const struct profile *p)
{
    return p->counts && p->counts->paths;
}

/* A path's first block, as a difference from that of the path before: hot paths begin alike. */
static uint32_t begins(const struct profile_paths *p, uint32_t path)
{
    return p->sequence[p->paths[path].first];
}

static void put_totals(struct buf *b, const struct profile_paths *p)
{
    buf_put_uleb(b, p->dropped_paths);
    buf_put_uleb(b, p->dropped);
    buf_put_uleb(b, p->dropped_instructions);
    buf_put_uleb(b, p->cut);
    buf_put_uleb(b, p->cut_instructions);
}

static void put(struct buf *b, const struct encoder *x)
{
    const struct profile_paths *p = x->p->counts->paths;
    put_totals(b, p);
    buf_put_uleb(b, p->count);
    buf_put_uleb(b, p->sequence_count);
    for (uint32_t i = 0; i < p->count; i++)
        buf_put_uleb(b, i ? p->paths[i - 1].count - p->paths[i].count : p->paths[i].count);
    for (uint32_t i = 0; i < p->count; i++)
        buf_put_uleb(b, p->paths[i].length);
    for (uint32_t i = 0; i < p->count; i++) {
        uint32_t before = i ? begins(p, i - 1) : 0;
        const uint32_t *block = p->sequence + p->paths[i].first;
        for (uint32_t k = 0; k < p->paths[i].length; before = block[k++])
            buf_put_sleb(b, (int64_t)block[k] - (int64_t)before);
    }
}

static bool paths_good(const struct profile_counts *c)
{
    const struct profile_paths *p = c->paths;
    uint64_t sequence = 0;
    for (uint32_t i = 0; p && i < p->count; i++) {
        const struct profile_path *path = &p->paths[i];
        if (!path->length || path->first != sequence || (i && path->count > path[-1].count))
            return false;
        sequence += path->length;
    }
    if (p && sequence != p->sequence_count)
        return false;
    for (uint32_t i = 0; p && i < p->sequence_count; i++)
        if (p->sequence[i] >= c->block_count)
            return false;
    return true;
}

static bool check(const struct profile *p, struct err *e)
{
    return paths_good(p->counts) ||
           err_set(e, ERR_INTERNAL,
                   "the profile cannot be written: a path is of no block, or out of "
                   "order");
}

static void get_totals(struct cursor *c, struct profile_paths *p)
{
    struct {
        uint64_t *to;
        const char *what;
    } fields[] = {
        {&p->dropped_paths, "the number of paths dropped"},
        {&p->dropped, "the executions of dropped paths"},
        {&p->dropped_instructions, "the instructions of dropped paths"},
        {&p->cut, "the number of cut paths"},
        {&p->cut_instructions, "the instructions of cut paths"},
    };
    for (unsigned i = 0; i < sizeof fields / sizeof *fields; i++)
        *fields[i].to = cursor_uleb(c, UINT64_MAX, fields[i].what);
}

static void get_paths(struct cursor *c, struct profile_paths *p, uint32_t blocks)
{
    uint64_t count = UINT64_MAX;
    uint32_t at = 0;
    for (uint32_t i = 0; i < p->count && !c->failed; i++) {
        uint64_t step = cursor_uleb(c, count, "a count, or its step");
        count = i ? count - step : step;
        p->paths[i].count = count;
    }
    for (uint32_t i = 0; i < p->count && !c->failed; i++) {
        uint32_t most = p->sequence_count - at;
        p->paths[i].first = at;
        p->paths[i].length = (uint32_t)cursor_uleb(c, most, "the length of a path");
        if (!c->failed && !p->paths[i].length)
            cursor_fail(c, "the length of a path, which is never 0");
        at += p->paths[i].length;
    }
    if (!c->failed && at != p->sequence_count)
        cursor_fail(c, "lengths of paths that fill the section");
    for (uint32_t i = 0; i < p->count && !c->failed; i++) {
        uint32_t before = i ? begins(p, i - 1) : 0;
        for (uint32_t k = 0; k < p->paths[i].length && !c->failed; k++) {
            uint64_t block = before + (uint64_t)cursor_sleb(c, "the step to a block of a path");
            if (!c->failed && block >= blocks)
                cursor_fail(c, "the step to a block of a path, which exists");
            before = (uint32_t)block;
            p->sequence[p->paths[i].first + k] = before;
        }
    }
}

static void get(struct decoder *d, struct cursor *c)
{
    struct profile_paths *p = d->p->counts->paths = profile_paths_new();
    if (!p) {
        read_no_memory(c);
        return;
    }
    get_totals(c, p);
    p->count = cursor_count(c, 3, "a number of paths that fits the section");
    p->sequence_count = cursor_count(c, 1, "a number of blocks that fits the section");
    p->paths = read_array(c, p->count, sizeof *p->paths);
    p->sequence = read_array(c, p->sequence_count, sizeof *p->sequence);
    get_paths(c, p, d->p->counts->block_count);
    if (c->failed)
        p->count = p->sequence_count = 0;
}

const struct section_kind kind_paths = {
    .type = {40, "paths", 0},
    .within = 24,
    .about = "optional, with 24: interprocedural acyclic paths",
    .needed = needed,
    .check = check,
    .put = put,
    .get = get,
};

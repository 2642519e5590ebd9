#include "profile/sections_paths.h"

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

void section_paths_put(struct section_out *out, const struct profile_paths *p)
{
    struct buf *b = &out->raw;
    *out = (struct section_out){.type = SECTION_PATHS, .optional = true};
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

bool section_paths_good(const struct profile_counts *c)
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

static void get_totals(struct cursor *c, struct profile_paths *p)
{
    struct { uint64_t *to; const char *what; } fields[] = {
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

bool section_paths_get(struct decoder *d)
{
    struct cursor c;
    if (!d->file.known[SECTION_PATHS].offset)
        return true;
    struct profile_paths *p = d->p->counts->paths = profile_paths_new();
    if (!p)
        return err_set(d->e, ERR_INTERNAL, "%s: out of memory", d->file.name);
    if (!decode_open(d, SECTION_PATHS, &c))
        return false;
    get_totals(&c, p);
    p->count = cursor_count(&c, 3, "a number of paths that fits the section");
    p->sequence_count = cursor_count(&c, 1, "a number of blocks that fits the section");
    p->paths = decode_array(&c, p->count, sizeof *p->paths);
    p->sequence = decode_array(&c, p->sequence_count, sizeof *p->sequence);
    get_paths(&c, p, d->p->counts->block_count);
    if (c.failed)
        p->count = p->sequence_count = 0;
    return decode_close(&c);
}

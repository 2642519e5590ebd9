#include "profile/kind/read.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/notes.h"

int32_t read_i32(struct cursor *c, const char *what)
{
    int64_t value = cursor_sleb(c, what);
    if (value < INT32_MIN || value > INT32_MAX)
        cursor_fail(c, what);
    return (int32_t)value;
}

void read_string(struct cursor *c, char **to, const char *what)
{
    char *s = cursor_string(c, what);
    if (!s)
        return;
    free(*to);
    *to = s;
}

void read_counts(struct cursor *c, struct reason_map *map, uint64_t *counts)
{
    for (uint32_t i = 0; i < map->count; i++) {
        uint64_t n = read_u64(c, "a count of samples");
        if (map->known[i] == UINT32_MAX)
            map->unknown[i] += n;
        else
            counts[map->known[i]] += n;
    }
}

void write_counts(struct buf *b, const uint64_t *counts, unsigned first, unsigned end)
{
    for (unsigned i = first; i < end; i++)
        buf_put_uleb(b, counts[i]);
}

void read_no_memory(struct cursor *c)
{
    if (!c->failed)
        err_set(c->e, ERR_INTERNAL, "%s: no memory for section %s", c->file, c->section);
    c->failed = true;
}

void *read_array(struct cursor *c, uint32_t count, size_t each)
{
    void *array = c->failed ? NULL : calloc(count ? count : 1, each);
    if (!array)
        read_no_memory(c);
    return array;
}

uint32_t read_image_step(const struct decoder *d, struct cursor *c, uint32_t *rank)
{
    uint64_t most = (uint64_t)d->p->image_count + FRAME_IMAGE_FIRST - 1;
    uint64_t least = *rank < FRAME_IMAGE_NONE ? FRAME_IMAGE_NONE - *rank : 0;
    uint64_t step = cursor_uleb(c, most - *rank, "the step to the image of a record");
    if (step < least)
        cursor_fail(c, "the step to the image of a record, which is never 0");
    *rank += (uint32_t)step;
    return *rank - FRAME_IMAGE_FIRST;
}

void read_images(const struct decoder *d, struct cursor *c, uint32_t *first, uint32_t count,
                 size_t stride, const char *what)
{
    uint64_t most = (uint64_t)d->p->image_count + FRAME_IMAGE_FIRST - 1;
    for (uint32_t i = 0; i < count && !c->failed; i++) {
        uint32_t rank = (uint32_t)cursor_uleb(c, most, what);
        if (rank < FRAME_IMAGE_NONE)
            cursor_fail(c, what);
        *(uint32_t *)(void *)((char *)first + i * stride) = rank - FRAME_IMAGE_FIRST;
    }
}

uint32_t read_process(const struct decoder *d, struct cursor *c)
{
    if (!d->p->process_count)
        cursor_fail(c, "no record, as there is no process");
    return (uint32_t)cursor_uleb(c, (uint64_t)d->p->process_count - 1, "the index of a process");
}

bool read_note_unknown(struct decoder *d, uint64_t count, const char *what, const char *name)
{
    char *line;
    bool ok = asprintf(&line, "%" PRIu64 " %s '%s', which this version does not know", count, what,
                       name) >= 0;
    if (ok) {
        ok = profile_note(d->p, line);
        free(line);
    }
    return ok || err_set(d->e, ERR_INTERNAL, "%s: out of memory", d->file.name);
}

/* ---- places ---- */

static struct profile_place place_at(const void *records, uint32_t i, size_t each)
{
    struct profile_place at;
    memcpy(&at, (const char *)records + i * each, sizeof at);
    return at;
}

static bool same_space(const struct profile_place *a, const struct profile_place *b)
{
    return a->image == b->image && a->process == b->process;
}

void write_places(struct buf *b, const void *records, uint32_t count, size_t each)
{
    struct profile_place at, last = {.image = 0u - FRAME_IMAGE_FIRST};
    for (uint32_t i = 0; i < count; i++, last = at) {
        at = place_at(records, i, each);
        buf_put_uleb(b, at.image + FRAME_IMAGE_FIRST - (last.image + FRAME_IMAGE_FIRST));
    }
    for (uint32_t i = 0; i < count; i++)
        buf_put_uleb(b, place_at(records, i, each).process);
    for (uint32_t i = 0; i < count; i++, last = at) {
        at = place_at(records, i, each);
        buf_put_uleb(b, at.offset - (i && same_space(&at, &last) ? last.offset : 0));
    }
}

void read_places(const struct decoder *d, struct cursor *c, void *records, uint32_t count,
                 size_t each)
{
    struct profile_place at, last = {0};
    uint32_t rank = 0;
    char *record = records;
    for (uint32_t i = 0; i < count && !c->failed; i++) {
        at = (struct profile_place){.image = read_image_step(d, c, &rank)};
        memcpy(record + i * each, &at, sizeof at);
    }
    for (uint32_t i = 0; i < count && !c->failed; i++) {
        at = place_at(records, i, each);
        at.process = read_process(d, c);
        memcpy(record + i * each, &at, sizeof at);
    }
    for (uint32_t i = 0; i < count && !c->failed; i++, last = at) {
        at = place_at(records, i, each);
        uint64_t base = i && same_space(&at, &last) ? last.offset : 0;
        at.offset = base + cursor_uleb(c, UINT64_MAX - base, "the step to a place of code");
        memcpy(record + i * each, &at, sizeof at);
    }
}

bool image_exists(const struct profile *p, uint32_t image)
{
    return image < p->image_count || image == PROFILE_IMAGE_NONE;
}

bool places_good(const struct profile *p, const void *record, const void *last)
{
    struct profile_place at = place_at(record, 0, 0), before = place_at(last ? last : record, 0, 0);
    uint32_t rank = at.image + FRAME_IMAGE_FIRST, rank_before = before.image + FRAME_IMAGE_FIRST;
    return image_exists(p, at.image) && at.process < p->process_count && rank >= rank_before &&
           (!same_space(&at, &before) || at.offset >= before.offset);
}

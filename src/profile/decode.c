#include "profile/decode.h"

#include <stdlib.h>
#include <string.h>

#include "profile/kind/kind.h"
#include "profile/unknown.h"

static bool read_section(struct decoder *d, const struct section_kind *k,
                         const struct section_in *s, const struct decode_watch *watch)
{
    struct cursor c = {
        .file = d->file.name, .section = k->type.name, .offset = s->offset, .e = d->e};
    struct cursor_watch fields;
    uint8_t *data = container_load(&d->file, s, &c.size, d->e);
    if (!data)
        return false;
    c.data = data;
    if (watch) {
        watch->section(watch->watcher, s, k->type.name);
        fields = (struct cursor_watch){watch->field, watch->watcher};
        c.watch = &fields;
    }
    k->get(d, &c);
    bool ok = cursor_end(&c);
    free(data);
    return ok;
}

static bool missing(const struct decoder *d, const struct section_kind *k)
{
    return err_set(d->e, ERR_FORMAT,
                   "%s: offset %u: the table has no section of type %u (%s), which a "
                   "profile must have",
                   d->file.name, CONTAINER_HEADER_SIZE, k->type.number, k->type.name);
}

static bool read_known(struct decoder *d, const struct decode_watch *watch)
{
    for (const struct section_kind *const *at = section_kinds; *at; at++) {
        const struct section_kind *k = *at;
        struct section_in s, outer;
        bool needed = k->inseparable || k->type.flags & SECTION_REQUIRED;
        if (k->within && !container_find(&d->file, k->within, &outer))
            continue;
        bool passed_over = d->sum && !d->sum->shared && k->of_nodes;
        bool found = !passed_over && container_find(&d->file, k->type.number, &s);
        if (!found && needed)
            return missing(d, k);
        if (found && !read_section(d, k, &s, watch))
            return false;
    }
    for (const struct section_kind *const *k = section_kinds; *k; k++)
        if ((*k)->resolve && !(*k)->resolve(d))
            return false;
    return true;
}

/* What a later version has written is kept. */
static bool read_unknown(struct decoder *d, const struct decode_watch *watch)
{
    for (uint32_t i = 0; i < d->file.count; i++) {
        struct section_in s = container_section(&d->file, i);
        struct profile_unknown u = {.type = s.type, .alone = s.flags & SECTION_ALONE};
        if (section_kind_lookup(s.type))
            continue;
        if (watch)
            watch->section(watch->watcher, &s, "unknown");
        u.data = container_load(&d->file, &s, &u.size, d->e);
        if (!u.data)
            return false;
        bool ok = profile_unknown_add(d->p, &u);
        free(u.data);
        if (!ok)
            return err_set(d->e, ERR_INTERNAL, "%s: out of memory", d->file.name);
    }
    return true;
}

static void free_reasons(struct reason_map *map)
{
    for (uint32_t i = 0; i < REASONS_MAX; i++)
        free(map->names[i]);
}

static bool decode(struct decoder *d, const uint8_t *data, size_t size, const char *name,
                   const struct decode_watch *watch)
{
    d->file.lookup = section_kind_lookup;
    if (!container_open(&d->file, data, size, name, d->e))
        return false;
    if (d->file.kind == CONTAINER_LIVE)
        return err_set(d->e, ERR_FORMAT,
                       "%s: its recording has not ended: either it still runs, then "
                       "wait for it or end it, or it was killed, then run `penumbra recover %s`",
                       name, name);
    if (d->file.kind != CONTAINER_PROFILE)
        return err_set(d->e, ERR_FORMAT, "%s: a piece of a profile database, not a profile", name);
    return read_known(d, watch) && read_unknown(d, watch);
}

static void free_sum(struct read_sum *sum, uint32_t threads)
{
    for (uint32_t i = 0; sum->threads && i < threads; i++)
        free(sum->threads[i].index_of);
    free(sum->threads);
    for (uint32_t i = 0; i < sum->tree_count; i++)
        tree_sum_fini(&sum->trees[i].tree);
    free(sum->trees);
}

static struct profile *decode_with(const uint8_t *data, size_t size, const char *name,
                                   const struct decode_watch *watch, struct read_sum *sum,
                                   struct err *e)
{
    struct decoder *d = calloc(1, sizeof *d);
    struct profile *p = profile_new();
    bool ok = false;
    if (!d || !p) {
        err_set(e, ERR_INTERNAL, "%s: out of memory", name);
    } else {
        d->p = p;
        d->e = e;
        d->sum = sum;
        ok = decode(d, data, size, name, watch);
    }
    if (d) {
        free_reasons(&d->drops);
        free_reasons(&d->truncations);
        free(d->frames);
        if (sum && p)
            free_sum(sum, p->thread_count);
    }
    free(d);
    if (!ok)
        profile_free(p);
    return ok ? p : NULL;
}

struct profile *profile_decode(const uint8_t *data, size_t size, const char *name,
                               const struct decode_watch *watch, struct err *e)
{
    return decode_with(data, size, name, watch, NULL, e);
}

struct profile *profile_decode_summed(const uint8_t *data, size_t size, const char *name,
                                      enum profile_summing how, struct err *e)
{
    struct read_sum sum = {.shared = how == PROFILE_SHARED};
    return decode_with(data, size, name, NULL, how == PROFILE_APART ? NULL : &sum, e);
}

struct profile *profile_read_memory(const uint8_t *data, size_t size, const char *name,
                                    struct err *e)
{
    return profile_decode(data, size, name, NULL, e);
}

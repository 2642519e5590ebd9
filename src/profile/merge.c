#include "profile/merge.h"

#include <stdlib.h>

#include "profile/kind/kind.h"
#include "profile/parts.h"
#include "profile/unknown.h"

static bool alike(const struct profile *a, const struct profile *b, struct err *e)
{
    for (const struct section_kind *const *k = section_kinds; *k; k++)
        if ((*k)->alike && !(*k)->alike(a, b, e))
            return false;
    return true;
}

static bool merge_sections(struct merger *m)
{
    for (const struct section_kind *const *k = section_kinds; *k; k++)
        if ((*k)->merge && !(*k)->merge(m))
            return false;
    return true;
}

/* Of one key. */
static bool add_up(struct profile *into, struct profile *from, struct err *e)
{
    struct merger m = {.into = into,
                       .from = from,
                       .first_process = into->process_count,
                       .first_thread = into->thread_count};
    m.image_of = calloc((size_t)from->image_count + 1, sizeof *m.image_of);
    bool ok = m.image_of && merge_sections(&m) && profile_unknown_merge(into, from);
    recordings_merge_fini(&m.recordings);
    free(m.image_of);
    return ok || err_set(e, ERR_INTERNAL, "out of memory while profiles were merged");
}

/* The profile in `into` that one of this key is added to. *found: NULL if there is none. */
static bool counterpart(struct profile *into, const struct part_key *key, struct profile **found,
                        struct err *e)
{
    struct part_key first = profile_key(into);
    struct profile_part *part = profile_part_find(into, key);
    *found = part_key_compare(&first, key) == 0 ? into : part ? profile_part_open(part, e) : NULL;
    return *found || !part;
}

static bool check_one(struct profile *into, const struct profile *one, struct err *e)
{
    struct part_key key = profile_key(one);
    struct profile *found;
    return counterpart(into, &key, &found, e) && (!found || alike(found, one, e));
}

/* All of `one` but its parts. */
static bool merge_one(struct profile *into, struct profile *one, struct err *e)
{
    struct part_key key = profile_key(one);
    struct profile *found;
    if (!counterpart(into, &key, &found, e))
        return false;
    return found ? add_up(found, one, e)
                 : profile_part_add(into, one) ||
                       err_set(e, ERR_INTERNAL, "more than %d kinds of recordings, or no memory",
                               PARTS_MAX + 1);
}

/* All are checked before anything is added. */
bool profile_merge(struct profile *into, struct profile *from, struct err *e)
{
    bool ok = check_one(into, from, e);
    for (uint32_t i = 0; ok && i < from->part_count; i++) {
        struct profile *part = profile_part_open(&from->parts[i], e);
        ok = part && check_one(into, part, e);
    }
    ok = ok && merge_one(into, from, e);
    for (uint32_t i = 0; ok && i < from->part_count; i++)
        ok = merge_one(into, from->parts[i].open, e);
    return ok;
}

#include "profile/merge.h"

#include <stdlib.h>

#include "profile/kind/kind.h"
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

bool profile_merge(struct profile *into, const struct profile *from, struct err *e)
{
    struct merger m = {.into = into,
                       .from = from,
                       .first_process = into->process_count,
                       .first_thread = into->thread_count};
    if (!alike(into, from, e))
        return false;
    m.image_of = calloc((size_t)from->image_count + 1, sizeof *m.image_of);
    bool ok = m.image_of && merge_sections(&m) && profile_unknown_merge(into, from);
    recordings_merge_fini(&m.recordings);
    free(m.image_of);
    return ok || err_set(e, ERR_INTERNAL, "out of memory while profiles were merged");
}

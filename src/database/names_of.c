/* The names that a profile's addresses have in the database. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "database/internal.h"
#include "profile/kind/kind.h"

struct wanted {
    uint64_t offset;
    uint32_t image;
};

static int compare(const void *x, const void *y)
{
    const struct wanted *a = x, *b = y;
    if (a->image != b->image)
        return a->image < b->image ? -1 : 1;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

/* All addresses in images, each once and in order. *count: how many. NULL without memory. */
static struct wanted *addresses_of(const struct profile *p, size_t *count)
{
    struct wanted *list = NULL;
    size_t capacity = 0, kept = 0;
    *count = 0;
    for (uint32_t t = 0; t < p->thread_count; t++)
        for (uint32_t i = 0; i < p->threads[t].node_count; i++) {
            const struct profile_node *n = &p->threads[t].nodes[i];
            if (n->image >= p->image_count)
                continue;
            if (!ARRAY_ROOM(list, *count, capacity)) {
                free(list);
                return NULL;
            }
            list[(*count)++] = (struct wanted){.image = n->image, .offset = n->offset};
        }
    if (*count)
        qsort(list, *count, sizeof *list, compare);
    for (size_t i = 0; i < *count; i++)
        if (!kept || compare(&list[kept - 1], &list[i]))
            list[kept++] = list[i];
    *count = kept;
    return list ? list : calloc(1, sizeof *list);
}

/* Of an address without a name there is nothing. */
static bool name_copy(struct profile_names *to, const struct profile_names *from, uint32_t image,
                      const struct wanted *at)
{
    const struct profile_name *known = dictionary_name(from, image, at->offset);
    if (!known)
        return true;
    struct profile_name name = {.start = known->start};
    name.function = profile_names_string(to, from->strings[known->function]);
    uint32_t index = name.function == UINT32_MAX ? UINT32_MAX : profile_names_add(to, &name);
    return index != UINT32_MAX && profile_names_place(to, at->image, at->offset, index);
}

struct profile_names *store_names(struct store *s, const struct profile *p, struct err *e)
{
    struct profile *words = s->part.words.p;
    size_t count = 0;
    uint32_t *image_of = calloc((size_t)p->image_count + 1, sizeof *image_of);
    struct profile_names *names = profile_names_new(p->image_count);
    struct wanted *list = addresses_of(p, &count);
    struct merger m = {.into = words, .from = (struct profile *)p, .image_of = image_of};
    /* The profile was put: the dictionary has its images, and gets none. */
    bool ok = words && image_of && names && list && kind_images.merge(&m);
    for (size_t i = 0; ok && i < count; i++)
        ok = name_copy(names, words->names, image_of[list[i].image], &list[i]);
    free(image_of);
    free(list);
    if (ok)
        return names;
    profile_names_free(names);
    err_set(e, ERR_INTERNAL, "out of memory");
    return NULL;
}

#include "fleet/naming.h"

#include <stdlib.h>

#include "base/array.h"

static int compare_nameless(const void *x, const void *y)
{
    const struct nameless *a = x, *b = y;
    if (a->image != b->image)
        return a->image < b->image ? -1 : 1;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

bool naming_begin(struct naming *n, struct words *w, struct answer *a)
{
    *n = (struct naming){.w = w, .a = a};
    for (size_t i = 0; i < n->w->frame_count; i++) {
        const struct word_frame *f = &n->w->frames[i];
        if (f->name != UINT32_MAX || f->image >= n->a->p->image_count ||
            !n->a->p->images[f->image].build_id_size)
            continue;
        if (!ARRAY_ROOM(n->list, n->count, n->capacity))
            return false;
        n->list[n->count++] = (struct nameless){f->image, (uint32_t)i, f->offset};
    }
    if (n->count)
        qsort(n->list, n->count, sizeof *n->list, compare_nameless);
    return true;
}

bool naming_row(struct naming *n, struct tsv *t, char **fields)
{
    struct profile_names *names = n->a->p->names;
    struct profile_name name = {.start = tsv_u64(t, fields[0])};
    uint64_t size = tsv_u64(t, fields[1]);
    if (t->failed || name.start > KEY_OFFSET_MASK || size > KEY_OFFSET_MASK) {
        tsv_fail(t, "a function's address of 48 bits");
        return false;
    }
    size_t at = ARRAY_LEADING(n->run_count, i, n->run[i].offset < name.start);
    if (at == n->run_count || n->run[at].offset - name.start >= size || !*fields[2])
        return true;
    name.function = profile_names_string(names, fields[2]);
    uint32_t index = name.function == UINT32_MAX ? UINT32_MAX : profile_names_add(names, &name);
    return (index != UINT32_MAX && ranges_add(&n->functions, name.start, name.start + size, index))
           || err_set(t->e, ERR_INTERNAL, "out of memory");
}

void naming_settle(struct naming *n)
{
    ranges_sort(&n->functions);
    for (size_t i = 0; i < n->run_count; i++) {
        uint32_t name = ranges_find(&n->functions, n->run[i].offset);
        struct word_frame *frame = &n->w->frames[n->run[i].frame];
        if (name == RANGES_NONE)
            continue;
        frame->name = name;
        frame->start = n->a->p->names->names[name].start;
    }
    ranges_free(&n->functions);
}

void naming_fini(struct naming *n)
{
    free(n->list);
    ranges_free(&n->functions);
}

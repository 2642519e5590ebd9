#include "report/simulated_places.h"

#include <stdlib.h>
#include <string.h>

static int compare_places(const void *a, const void *b)
{
    const struct simulated_place *x = a, *y = b;
    if (x->image != y->image)
        return x->image < y->image ? -1 : 1;
    int names = strcmp(x->name, y->name);
    if (names || x->line != y->line)
        return names ? names : x->line < y->line ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

static bool is_same(const struct simulated_place *a, const struct simulated_place *b)
{
    return a->image == b->image && a->line == b->line && !strcmp(a->name, b->name);
}

struct simulated_places simulated_places_make(const struct view *v,
                                              const struct profile_simulated *s, bool lines)
{
    struct simulated_places f = {.list = calloc((size_t)s->count + 1, sizeof *f.list)};
    uint32_t kept = 0;
    for (uint32_t i = 0; f.list && i < s->count; i++) {
        const struct profile_cost *c = &s->list[i];
        struct symbol_location where =
            symbols_find(v->symbols, &v->profile->processes[c->process], c->image, c->offset);
        const struct symbol_frame *frame = &where.frames[lines ? 0 : where.count - 1];
        f.list[i] = (struct simulated_place){frame->function ? frame->function : "?", frame->file,
                                             lines ? frame->line : 0, c->image, i, *c};
        profile_cost_sum(&f.all, c);
    }
    if (f.list)
        qsort(f.list, s->count, sizeof *f.list, compare_places);
    for (uint32_t i = 0; f.list && i < s->count; i++) {
        struct simulated_place *last = kept ? &f.list[kept - 1] : NULL;
        if (last && is_same(last, &f.list[i]))
            profile_cost_sum(&last->sum, &f.list[i].sum);
        else
            f.list[kept++] = f.list[i];
    }
    f.count = kept;
    return f;
}

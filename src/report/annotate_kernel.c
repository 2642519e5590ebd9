#include "report/annotate_kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/saturate.h"
#include "profile/hits.h"

static const struct profile_entity *kernel_entity(const struct view *v, uint64_t place)
{
    const struct profile_entity *of = entity_is(place) ? profile_entity_find(v->profile, place)
                                                       : NULL;
    return of && (of->kind == ENTITY_KERNEL || of->kind == ENTITY_INSTRUCTION) ? of : NULL;
}

bool annotate_is_kernel(const struct view *v, uint32_t image, uint64_t place)
{
    return image == PROFILE_IMAGE_NONE && kernel_entity(v, place);
}

/* As instructions have it: with the module. */
static char *function_name(const struct profile_entity *of)
{
    char *name;
    if (of->kind == ENTITY_INSTRUCTION || !*of->scope)
        return strdup(of->name);
    return asprintf(&name, "%s [%s]", of->name, of->scope) < 0 ? NULL : name;
}

static uint64_t samples_of(const struct profile *p, uint64_t entity)
{
    uint32_t at = ARRAY_LEADING(p->hit_count, i, p->hits[i].entity < entity);
    return at < p->hit_count && p->hits[at].entity == entity ? p->hits[at].weight : 0;
}

/* Call sites of values are instructions, too, of which nothing else is known. */
static bool is_seen(const struct profile *p, const struct profile_entity *of)
{
    const struct profile_values *values = observed_values(p);
    return *of->scope || samples_of(p, of->id) ||
           (values && profile_values_at(values, PROFILE_IMAGE_NONE, of->id).count);
}

/* Merged profiles may be of several kernels, with several instructions at one distance. */
static int compare(const void *a, const void *b)
{
    const struct annotation_line *x = a, *y = b;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return strcmp(x->text, y->text);
}

static bool lines_take(struct annotation *a, const struct profile *p)
{
    size_t capacity = 0;
    for (uint32_t i = 0; i < p->entity_count; i++) {
        const struct profile_entity *of = &p->entities[i];
        if (of->kind != ENTITY_INSTRUCTION || strcmp(of->name, a->function) != 0 ||
            !is_seen(p, of))
            continue;
        if (!ARRAY_ROOM(a->lines, a->line_count, capacity))
            return false;
        struct annotation_line *l = &a->lines[a->line_count];
        *l = (struct annotation_line){.address = of->at, .place = of->id, .file = "", .source = "",
                                      .count = samples_of(p, of->id),
                                      .text = strdup(*of->scope ? of->scope : "?")};
        if (!l->text)
            return false;
        a->line_count++;
        a->unread |= !*of->scope;
        a->total = add_saturated(a->total, l->count);
    }
    if (a->line_count)
        qsort(a->lines, a->line_count, sizeof *a->lines, compare);
    return true;
}

struct annotation *annotate_kernel(const struct view *v, uint64_t place,
                                   const struct symbols_options *options, struct err *e)
{
    const struct profile_entity *of = kernel_entity(v, place);
    struct annotation *a = calloc(1, sizeof *a);
    bool ok = a && (a->function = function_name(of)) &&
              (a->image = strdup(entity_kind_place(of->kind))) && lines_take(a, v->profile);
    if (!ok) {
        err_set(e, ERR_INTERNAL, "cannot annotate: out of memory");
    } else if (!a->line_count) {
        ok = err_set(e, ERR_NOT_FOUND,
                     "the profile does not say which instructions of the kernel's \"%s\" its "
                     "samples are of: that is known of functions with one in 100 of the kernel's "
                     "samples or more, by the first metric, in recordings of programs and of the "
                     "machine (not in a daemon's database); record for longer, or fewer processes "
                     "(-p, --uid, --cgroup), or values there (penumbra record -a --tool values)",
                     a->function);
    } else {
        a->view = v;
        a->image_index = PROFILE_IMAGE_NONE;
        a->end = a->lines[a->line_count - 1].address;
        a->values = value_reader_new(v, options);
    }
    if (ok)
        return a;
    annotation_free(a);
    return NULL;
}

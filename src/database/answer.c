#include "database/answer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/saturate.h"
#include "sigsafe/hash.h"

static bool no_memory(struct err *e)
{
    return err_set(e, ERR_INTERNAL, "out of memory");
}

bool answer_init(struct answer *a)
{
    *a = (struct answer){.p = profile_new()};
    if (a->p)
        a->p->names = profile_names_new(0);
    return a->p && a->p->names;
}

void answer_fini(struct answer *a)
{
    for (uint32_t i = 0; i < a->group_count; i++) {
        free(a->groups[i].service);
        free(a->groups[i].program);
        tree_sum_fini(&a->groups[i].tree);
    }
    free(a->groups);
    free(a->places.list);
    free(a->places.slots);
    profile_free(a->p);
    *a = (struct answer){0};
}

struct group *answer_group(struct answer *a, const char *service, const char *program)
{
    for (uint32_t i = 0; i < a->group_count; i++)
        if (!strcmp(a->groups[i].service, service) && !strcmp(a->groups[i].program, program))
            return &a->groups[i];
    if (!ARRAY_ROOM(a->groups, a->group_count, a->group_capacity))
        return NULL;
    struct group *g = &a->groups[a->group_count];
    *g = (struct group){.service = strdup(service), .program = strdup(program)};
    a->group_count++;
    return g->service && g->program ? g : NULL;
}

/* ---- places ---- */

static uint32_t *place_find(const struct answer_places *all, uint32_t image, uint64_t offset)
{
    uint64_t h = hash_word(offset ^ (uint64_t)image << 40);
    size_t mask = all->slot_count - 1, at = (h >> 32) & mask;
    for (; all->slots[at]; at = (at + 1) & mask) {
        const struct answer_place *p = &all->list[all->slots[at] - 1];
        if (p->offset == offset && p->image == image)
            break;
    }
    return &all->slots[at];
}

static bool places_grow(struct answer_places *all)
{
    enum { FIRST = 1024 };
    size_t wanted = all->slot_count ? all->slot_count * 2 : FIRST;
    uint32_t *slots = calloc(wanted, sizeof *slots);
    if (!slots)
        return false;
    free(all->slots);
    all->slots = slots;
    all->slot_count = wanted;
    for (size_t i = 0; i < all->count; i++)
        *place_find(all, all->list[i].image, all->list[i].offset) = (uint32_t)i + 1;
    return true;
}

uint32_t *answer_place(struct answer *a, uint32_t image, uint64_t offset)
{
    if (a->places.count * 2 >= a->places.slot_count && !places_grow(&a->places))
        return NULL;
    return place_find(&a->places, image, offset);
}

bool answer_place_fill(struct answer *a, uint32_t *slot, const struct answer_place *place)
{
    struct answer_places *all = &a->places;
    if (!ARRAY_ROOM(all->list, all->count, all->capacity))
        return false;
    all->list[all->count++] = *place;
    *slot = (uint32_t)all->count;
    return true;
}

/* ---- the profile ---- */

static int compare_places(const void *x, const void *y)
{
    const struct answer_place *a = x, *b = y;
    if (a->image != b->image)
        return a->image < b->image ? -1 : 1;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

static bool places_put(struct answer *a)
{
    struct profile_names *names = a->p->names;
    const struct answer_places *all = &a->places;
    if (all->count)
        qsort(all->list, all->count, sizeof *all->list, compare_places);
    for (size_t i = 0; i < all->count; i++) {
        const struct answer_place *p = &all->list[i];
        names->images[p->image].level = NAMES_SYMBOLS;
        if (!profile_names_place(names, p->image, p->offset, p->name))
            return false;
    }
    return true;
}

/* Makes room for all images: they are known by now. */
static bool names_widen(struct answer *a)
{
    struct profile_names *none = profile_names_new(0);
    bool ok = none && profile_names_merge(a->p->names, none, NULL, a->p->image_count);
    profile_names_free(none);
    return ok;
}

static bool group_put(struct answer *a, struct group *g, const struct store_range *r)
{
    struct profile *p = a->p;
    uint32_t index = p->process_count;
    struct profile_process *process = &p->processes[p->process_count++];
    struct profile_thread *t = &p->threads[p->thread_count++];
    uint32_t *place = calloc((size_t)g->tree.count + 1, sizeof *place);
    *process = (struct profile_process){.pid = (int32_t)index + 1, .epochs = 1,
                                        .end_ns = r->covered_ns, .end = PROFILE_END_RUNNING,
                                        .name = strdup(g->program), .command = strdup(g->service)};
    *t = (struct profile_thread){.process = index, .tid = process->pid, .name = strdup(g->program),
                                 .end_ns = r->covered_ns,
                                 .cpu_ns = g->totals.weight * a->unit_ns,
                                 .taken = g->totals.taken, .weight = g->totals.weight,
                                 .weight_squares = g->totals.squares,
                                 .guessed = g->totals.guessed, .node_count = g->tree.count};
    memcpy(t->truncated, g->totals.truncated, sizeof t->truncated);
    t->nodes = place ? tree_sum_preorder(&g->tree, place) : NULL;
    free(place);
    if (!t->nodes)
        t->node_count = 0;
    return (process->name && process->command && t->name && t->nodes);
}

static bool string_put(char **to, char *value)
{
    free(*to);
    *to = value;
    return value;
}

/* What hangs below [folded]: its callers are not known. */
static uint64_t folded_weight(const struct answer *a)
{
    uint64_t sum = 0;
    for (uint32_t g = 0; g < a->group_count; g++) {
        const struct profile_node *nodes = a->groups[g].tree.nodes;
        for (uint32_t i = 1; i < a->groups[g].tree.count; i++)
            if (answer_is_folded(&nodes[i]) || answer_is_folded(&nodes[nodes[i].parent]))
                sum = add_saturated(sum, nodes[i].self);
    }
    return sum;
}

static char *note_of(const struct answer *a, const struct answer_source *source,
                     const struct store_range *r)
{
    const uint64_t folded = folded_weight(a);
    uint64_t all = 0;
    struct buf b = {0};
    size_t size;
    buf_printf(&b, "of %s: %" PRIu64 " intervals, %.0f s of %.0f s\n", source->what, r->slots,
               (double)r->covered_ns / 1e9, (double)(r->end_ns - r->begin_ns) / 1e9);
    for (uint32_t g = 0; g < a->group_count; g++)
        all = add_saturated(all, a->groups[g].totals.weight);
    if (folded && all)
        buf_printf(&b, "%.2f%% are in %s\n", 100 * (double)folded / (double)all, source->folded);
    if (r->unclean)
        buf_printf(&b, "%" PRIu64 " time%s the daemon ended without notice: at most one interval "
                       "is missing of each\n", r->unclean, r->unclean == 1 ? "" : "s");
    if (r->missed_ns)
        buf_printf(&b, "%.0f s are missing, as they could not be written\n",
                   (double)r->missed_ns / 1e9);
    buf_printf(&b, "the daemon used %.3f s of CPU time\n", (double)r->cost_ns / 1e9);
    buf_put_u8(&b, '\0');
    return (char *)buf_detach(&b, &size);
}

static bool describe(struct answer *a, const struct answer_source *source,
                     const struct store_range *r)
{
    struct profile *p = a->p;
    struct profile_metric *m = &p->metrics[0];
    bool ok = string_put(&m->name, strdup("cpu")) && string_put(&m->trigger, strdup("cpu")) &&
              string_put(&m->unit, strdup("nanoseconds")) &&
              string_put(&p->command, strdup("the machine")) &&
              string_put(&p->notes, note_of(a, source, r));
    m->period = a->unit_ns;
    m->how = METRIC_REGULAR;
    p->start_realtime_ns = r->begin_ns > 0 ? (uint64_t)r->begin_ns : 0;
    p->duration_ns = r->covered_ns;
    p->exit_status = -1;
    p->drops[DROP_LOST] = r->lost;
    return ok;
}

static bool groups_put(struct answer *a, const struct store_range *r)
{
    struct profile *p = a->p;
    p->processes = calloc((size_t)a->group_count + 1, sizeof *p->processes);
    p->threads = calloc((size_t)a->group_count + 1, sizeof *p->threads);
    if (!p->processes || !p->threads)
        return false;
    for (uint32_t i = 0; i < a->group_count; i++)
        if (a->groups[i].tree.count && a->groups[i].totals.weight &&
            !group_put(a, &a->groups[i], r))
            return false;
    return true;
}

struct profile *answer_finish(struct answer *a, const struct answer_source *source,
                              const struct store_range *range, uint32_t cpus, struct err *e)
{
    struct profile *p = a->p;
    p->cpus = cpus;
    if (!names_widen(a) || !places_put(a) || !describe(a, source, range) || !groups_put(a, range)) {
        no_memory(e);
        return NULL;
    }
    if (!p->process_count) {
        err_set(e, ERR_NOT_FOUND, "nothing was sampled there: the database has no such service, "
                                  "program, binary or function in this range");
        return NULL;
    }
    a->p = NULL;
    return p;
}

#include "profile/events.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/saturate.h"
#include "profile/profile.h"
#include "sigsafe/tools.h"

struct profile_events *profile_events_of(struct profile *p, uint32_t table)
{
    struct profile_events *t = observed_table(p, table);
    if (!t && (t = calloc(1, sizeof *t)))
        profile_observe(p, OBSERVED_TABLES + table, t);
    return t;
}

bool profile_events_add(struct profile_events *t, const struct profile_event *event)
{
    if (!ARRAY_ROOM(t->list, t->count, t->capacity))
        return false;
    t->list[t->count++] = *event;
    return true;
}

void events_free(void *table)
{
    struct profile_events *t = table;
    if (t)
        free(t->list);
    free(t);
}

bool events_sampled(const void *table)
{
    return ((const struct profile_events *)table)->most > 1;
}

static bool has_other(const struct profile_event *e)
{
    return e->to || e->to_image != PROFILE_IMAGE_NONE;
}

bool events_site(void *table, uint32_t at, struct profile_site *out)
{
    struct profile_events *t = table;
    if (at >= t->count)
        return false;
    struct profile_event *e = &t->list[at];
    *out = (struct profile_site){SITE_EVENT, has_other(e) ? 2 : 1,
                                 {{&e->image, &e->process, e->offset},
                                  {&e->to_image, &e->process, e->to}}};
    return true;
}

/* ---- sums ---- */

#define ORDER(x, y)                                                                                \
    if ((x) != (y))                                                                                \
    return (x) < (y) ? -1 : 1

static int compare_events(const void *a, const void *b)
{
    const struct profile_event *x = a, *y = b;
    ORDER(x->image + FRAME_IMAGE_FIRST, y->image + FRAME_IMAGE_FIRST);
    ORDER(x->process, y->process);
    ORDER(x->offset, y->offset);
    ORDER(x->kind, y->kind);
    ORDER(x->to_image + FRAME_IMAGE_FIRST, y->to_image + FRAME_IMAGE_FIRST);
    ORDER(x->to, y->to);
    return 0;
}

static void add(struct profile_event *to, const struct profile_event *from)
{
    if (to->kind == EVENT_MEMBER || to->kind == EVENT_TYPE) /* it says the same */
        return;
    to->samples = add_saturated(to->samples, from->samples);
    to->weight = add_saturated(to->weight, from->weight);
    to->squares = add_saturated(to->squares, from->squares);
}

bool events_settle(void *table, const uint32_t *new_index)
{
    struct profile_events *t = table;
    uint32_t kept = 0;
    (void)new_index;
    for (uint32_t i = 0; i < t->count; i++) {
        struct profile_event *e = &t->list[i];
        bool generated = e->to_image == PROFILE_IMAGE_NONE && e->to && !entity_is(e->to);
        if (!generated)
            e->process = 0;
    }
    if (t->count)
        qsort(t->list, t->count, sizeof *t->list, compare_events);
    for (uint32_t i = 0; i < t->count; i++)
        if (kept && compare_events(&t->list[kept - 1], &t->list[i]) == 0)
            add(&t->list[kept - 1], &t->list[i]);
        else
            t->list[kept++] = t->list[i];
    t->count = kept;
    return true;
}

bool events_append(void **into, const void *from, const struct table_append *how)
{
    const struct profile_events *added = from;
    struct profile_events *t = *into ? *into : calloc(1, sizeof *t);
    *into = t;
    for (uint32_t i = 0; t && i < added->count; i++) {
        struct profile_event e = added->list[i];
        e.image = profile_counts_image_in(how->image_of, e.image);
        e.to_image = profile_counts_image_in(how->image_of, e.to_image);
        e.process += how->first_process;
        if (!profile_events_add(t, &e))
            return false;
    }
    if (!t)
        return false;
    t->most = t->most > added->most ? t->most : added->most;
    t->bursts = add_saturated(t->bursts, added->bursts);
    t->missed = add_saturated(t->missed, added->missed);
    return true;
}

/* ---- in the file ---- */

PROFILE_PLACE_FIRST(struct profile_event);

bool events_needed(const struct profile *p, uint32_t table)
{
    return observed_table(p, table);
}

#define EVENT_COLUMNS(X)                                                                           \
    X(kind, EVENT_KIND_COUNT - 1, "the kind of an event")                                          \
    X(to, UINT64_MAX, "what an event goes to")                                                     \
    X(samples, UINT64_MAX, "how often an event was seen")                                          \
    X(weight, UINT64_MAX, "the weight of an event")                                                \
    X(squares, UINT64_MAX, "the squares of an event")

void events_put(struct buf *b, const struct encoder *x, uint32_t table)
{
    const struct profile_events *t = observed_table(x->p, table);
    const struct profile_event *at = t->list;
    buf_put_uleb(b, t->most);
    buf_put_uleb(b, t->bursts);
    buf_put_uleb(b, t->missed);
    buf_put_uleb(b, t->count);
    write_places(b, at, t->count, sizeof *at);
    for (uint32_t i = 0; i < t->count; i++)
        buf_put_uleb(b, at[i].to_image + FRAME_IMAGE_FIRST);
#define PUT(field, most, what)                                                                     \
    for (uint32_t i = 0; i < t->count; i++)                                                        \
        buf_put_uleb(b, at[i].field);
    EVENT_COLUMNS(PUT)
#undef PUT
}

bool events_check(const struct profile *p, uint32_t table, struct err *e)
{
    const struct profile_events *t = observed_table(p, table);
    for (uint32_t i = 0; i < t->count; i++)
        if (!places_good(p, &t->list[i], i ? &t->list[i - 1] : NULL) ||
            !image_exists(p, t->list[i].to_image))
            return err_set(e, ERR_INTERNAL,
                           "the profile cannot be written: an event is of no image or process, or "
                           "out of order");
    return true;
}

static void get_columns(struct decoder *d, struct cursor *c, struct profile_event *at, uint32_t n)
{
    read_places(d, c, at, n, sizeof *at);
    if (n && !c->failed)
        read_images(d, c, &at->to_image, n, sizeof *at, "the image that an event goes to");
#define GET(field, most, what)                                                                     \
    for (uint32_t i = 0; i < n && !c->failed; i++)                                                 \
        at[i].field = (__typeof__(at[i].field))cursor_uleb(c, most, what);
    EVENT_COLUMNS(GET)
#undef GET
}

void events_get(struct decoder *d, struct cursor *c, uint32_t table)
{
    enum { COLUMNS = 9 };
    struct profile_events *t = profile_events_of(d->p, table);
    if (!t) {
        read_no_memory(c);
        return;
    }
    t->most = cursor_uleb(c, UINT64_MAX, "the greatest interval of events");
    t->bursts = cursor_uleb(c, UINT64_MAX, "the number of bursts");
    t->missed = cursor_uleb(c, UINT64_MAX, "the weight of events missed");
    t->count = cursor_count(c, COLUMNS, "a number of events that fits the section");
    t->list = read_array(c, t->count, sizeof *t->list);
    if (t->list)
        get_columns(d, c, t->list, t->count);
    if (c->failed)
        t->count = 0;
    t->capacity = t->count;
}

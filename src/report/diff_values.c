#include "report/diff_values.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "profile/values.h"
#include "report/diff_judge.h"
#include "report/values_internal.h"

/* What one hotlist of a run says of a place or, with a value, of that value there. */
struct seen {
    uint64_t place, value; /* hashes; value 0: of the place itself */
    uint32_t run, hotlist, entry;
    double observed;
    double draws; /* of a place; INFINITY: there is no error of sampling */
};

struct collected {
    struct seen *list;
    size_t count;
    double *all; /* observations by run */
    bool alone;  /* one recording a side: how much runs differ is not known (docs/diff.md) */
};

/* ---- what is the same on both sides ---- */

static uint64_t text_hash(const char *text)
{
    uint64_t h = hash_bytes(text, strlen(text));
    return h ? h : 1;
}

/* Where an instruction is, and which it is: another build may have another one there. */
static uint64_t place_hash(struct value_reader *r, const struct profile_hotlist *h,
                           const char *const programs[DIFF_SIDES])
{
    char text[VALUE_TEXT_SIZE], mnemonic[VALUE_TEXT_SIZE], key[4 * VALUE_TEXT_SIZE];
    const struct profile *p = r->view->profile;
    size_t size = 0;
    const char *image =
        h->image < p->image_count ? diff_image(&p->images[h->image], programs, &size) : "";
    struct code_function f;
    struct code *code = value_code(r, h->image);
    bool named = code && code_function(code, h->offset, &f) && f.name[0];
    snprintf(text, sizeof text, "%.200s", named ? f.name : "");
    value_assembly(r, h->image, h->offset, mnemonic, sizeof mnemonic);
    snprintf(key, sizeof key, "%.*s/%s+%" PRIx64 "/%.*s/%.200s", (int)(size < 200 ? size : 200),
             image, text, named ? h->offset - f.start : h->offset, (int)strcspn(mnemonic, " "),
             mnemonic, r->values->kinds[h->kind].name);
    return text_hash(key);
}

/* The kernel puts heaps and stacks elsewhere in each run, so addresses there are one value. */
void diff_value_text(struct value_reader *r, uint32_t kind, const struct hotlist_entry *entry,
                     char *out, size_t size)
{
    const uint64_t lowest = UINT64_C(0x550000000000), end = UINT64_C(0x800000000000);
    if (entry->space == HOTLIST_PLAIN && entry->bits >= lowest && entry->bits < end)
        snprintf(out, size, "[address]");
    else
        value_text(r, kind, entry, out, size);
}

/* ---- collecting ---- */

static double kept_of(const struct hotlist *h)
{
    double kept = 0;
    for (uint32_t i = 0; i < h->count; i++)
        kept += (double)h->entries[i].count;
    return kept;
}

static void collect_hotlist(struct collected *c, struct value_reader *r, uint32_t run,
                            uint32_t index, const char *const programs[DIFF_SIDES])
{
    char text[VALUE_TEXT_SIZE];
    const struct profile_hotlist *h = &r->values->hotlists[index];
    const struct hotlist *list = h->list;
    bool all = !r->values->every && !list->steps && !r->values->summary;
    struct seen seen = {.place = place_hash(r, h, programs), .run = run, .hotlist = index,
                        .observed = (double)list->observed,
                        .draws = !all             ? kept_of(list)
                                 : c->alone        ? (double)list->observed
                                                   : INFINITY};
    c->all[run] += seen.observed;
    c->list[c->count++] = seen;
    /* Of values that were kept once each, shares are those of how many were kept. */
    for (uint32_t i = 0; !hotlist_is_spread(list) && i < list->count; i++) {
        diff_value_text(r, h->kind, &list->entries[i], text, sizeof text);
        seen.value = text_hash(text);
        seen.entry = i;
        seen.observed = hotlist_share(list, &list->entries[i]) * (double)list->observed;
        c->list[c->count++] = seen;
    }
}

#define ORDER(x, y)                                                                                \
    if ((x) != (y))                                                                                \
    return (x) < (y) ? -1 : 1

static int compare_seen(const void *a, const void *b)
{
    const struct seen *x = a, *y = b;
    ORDER(x->place, y->place);
    ORDER(x->value, y->value);
    ORDER(x->run, y->run);
    ORDER(x->hotlist, y->hotlist);
    ORDER(x->entry, y->entry);
    return 0;
}

static bool collect(struct collected *c, const struct diff_values *d)
{
    const char *programs[DIFF_SIDES];
    size_t most = 1;
    for (uint32_t r = 0; r < d->run_count; r++) {
        const struct profile_values *v = d->readers[r]->values;
        for (uint32_t i = 0; i < v->hotlist_count; i++)
            most += v->hotlists[i].list->count + 1u;
    }
    *c = (struct collected){.alone = d->run_count <= DIFF_SIDES,
                            .list = calloc(most, sizeof *c->list),
                            .all = calloc(d->run_count + 1u, sizeof *c->all)};
    if (!c->list || !c->all)
        return false;
    diff_programs(d->runs, d->run_count, programs);
    const char *const none[DIFF_SIDES] = {NULL, NULL};
    for (uint32_t r = 0; r < d->run_count; r++)
        for (uint32_t i = 0; i < d->readers[r]->values->hotlist_count; i++)
            collect_hotlist(c, d->readers[r], r, i,
                            d->runs[r].side == DIFF_AFTER ? programs : none);
    if (c->count)
        qsort(c->list, c->count, sizeof *c->list, compare_seen);
    return true;
}

/* ---- judging ---- */

enum { NOT_THERE = UINT32_MAX };

/* A place, by run; runs that have not observed it are left out of `draws`. */
struct place {
    struct diff_draws *draws;
    double *hits, *values;
    uint32_t *at; /* by run: index in draws; NOT_THERE: it has not observed the place */
    uint32_t count, of_side[DIFF_SIDES];
    double observed[DIFF_SIDES], weight;
};

/* The records [from, to) are of the place itself, by run. */
static void place_begin(struct place *p, const struct diff_values *d, const struct collected *c,
                        size_t from, size_t to)
{
    p->count = p->of_side[DIFF_BEFORE] = p->of_side[DIFF_AFTER] = 0;
    p->observed[DIFF_BEFORE] = p->observed[DIFF_AFTER] = p->weight = 0;
    for (size_t i = from; i < to; i++) {
        const struct seen *s = &c->list[i];
        unsigned side = d->runs[s->run].side;
        if (!(s->observed > 0))
            continue;
        if (p->at[s->run] == NOT_THERE) {
            p->at[s->run] = p->count;
            p->of_side[side]++;
            p->draws[p->count++] = (struct diff_draws){.side = side, .scale = 1};
        }
        p->draws[p->at[s->run]].all += s->observed;
        p->draws[p->at[s->run]].n += s->draws;
        p->observed[side] += s->observed;
        p->weight += s->observed / c->all[s->run] / d->run_count;
    }
    /* Neighbours in a sequence are alike: it is worth one draw at most. */
    for (uint32_t r = 0; r < d->run_count; r++) {
        const struct profile_values *v = d->readers[r]->values;
        double *n = p->at[r] != NOT_THERE ? &p->draws[p->at[r]].n : NULL;
        if (n && v->every && v->sequences)
            *n = fmin(*n, (double)v->sequences);
    }
}

static void judge_value(struct place *p, struct diff_values *d, const struct seen *from,
                        const struct seen *to)
{
    struct diff_value *value = &d->list[d->count++];
    const struct seen *last = to - 1;
    memset(p->hits, 0, p->count * sizeof *p->hits);
    for (const struct seen *s = from; s < to; s++)
        if (p->at[s->run] != NOT_THERE)
            p->hits[p->at[s->run]] += s->observed;
    *value = (struct diff_value){.run = last->run, .hotlist = last->hotlist,
                                 .entry = last->entry, .weight = p->weight,
                                 .observed = {p->observed[DIFF_BEFORE], p->observed[DIFF_AFTER]}};
    diff_judge(p->draws, p->count, p->hits, p->values, &value->change);
}

static size_t end_of(const struct collected *c, size_t from, bool of_value)
{
    size_t to = from + 1;
    while (to < c->count && c->list[to].place == c->list[from].place &&
           (!of_value || c->list[to].value == c->list[from].value))
        to++;
    return to;
}

static void judge_place(struct place *p, struct diff_values *d, const struct collected *c,
                        size_t from, size_t to)
{
    size_t end = end_of(c, from, true);
    for (uint32_t r = 0; r < d->run_count; r++)
        p->at[r] = NOT_THERE;
    place_begin(p, d, c, from, end);
    d->places++;
    for (unsigned side = 0; side < DIFF_SIDES; side++)
        d->alone[side] += !p->of_side[!side];
    if (!p->of_side[DIFF_BEFORE] || !p->of_side[DIFF_AFTER])
        return;
    for (size_t i = end; i < to; i = end) {
        end = end_of(c, i, true);
        judge_value(p, d, &c->list[i], &c->list[end]);
    }
}

static bool judge_all(struct diff_values *d, const struct collected *c)
{
    struct place p = {.draws = calloc(d->run_count + 1u, sizeof *p.draws),
                      .hits = calloc(d->run_count + 1u, sizeof *p.hits),
                      .values = calloc(d->run_count + 1u, sizeof *p.values),
                      .at = calloc(d->run_count + 1u, sizeof *p.at)};
    d->list = calloc(c->count + 1, sizeof *d->list);
    bool ok = p.draws && p.hits && p.values && p.at && d->list;
    for (size_t i = 0, end; ok && i < c->count; i = end) {
        end = end_of(c, i, false);
        judge_place(&p, d, c, i, end);
    }
    free(p.draws);
    free(p.hits);
    free(p.values);
    free(p.at);
    return ok && (!d->count || diff_adjust(&d->list->change, sizeof *d->list, d->count));
}

static int compare_values(const void *a, const void *b)
{
    const struct diff_value *x = a, *y = b;
    if (diff_is_significant(&x->change) != diff_is_significant(&y->change))
        return diff_is_significant(&x->change) ? -1 : 1;
    double u = x->weight * fabs(diff_difference(&x->change));
    double v = y->weight * fabs(diff_difference(&y->change));
    if (u > v || u < v)
        return u > v ? -1 : 1;
    ORDER(x->run, y->run);
    ORDER(x->hotlist, y->hotlist);
    ORDER(x->entry, y->entry);
    return 0;
}

/* ---- the whole ---- */

static bool open_readers(struct diff_values *d, const struct symbols_options *options,
                         struct err *e)
{
    for (uint32_t r = 0; r < d->run_count; r++) {
        const struct profile_values *v = observed_values(d->runs[r].view->profile);
        d->readers[r] = v ? value_reader_new(d->runs[r].view, options) : NULL;
        if (!v)
            err_set(e, ERR_USAGE, "recording %u has no values; record --tool values, or another "
                    "that keeps values", r + 1);
        else if (!d->readers[r])
            err_set(e, ERR_INTERNAL, "cannot compare values: out of memory");
        else if (strcmp(v->module, d->readers[0]->values->module) != 0)
            err_set(e, ERR_USAGE, "recording %u has values of %s, and recording 1 of %s", r + 1,
                    v->module, d->readers[0]->values->module);
        else
            continue;
        return false;
    }
    return true;
}

struct diff_values *diff_values_build(const struct diff_run *runs, uint32_t count,
                                      const struct symbols_options *options, struct err *e)
{
    struct collected c = {0};
    struct diff_values *d = calloc(1, sizeof *d);
    struct value_reader **readers = calloc(count + 1u, sizeof *readers);
    if (!d || !readers) {
        free(d);
        free(readers);
        err_set(e, ERR_INTERNAL, "cannot compare values: out of memory");
        return NULL;
    }
    *d = (struct diff_values){.runs = runs, .run_count = count, .readers = readers};
    bool ok = open_readers(d, options, e);
    if (ok && !(collect(&c, d) && judge_all(d, &c))) {
        err_set(e, ERR_INTERNAL, "cannot compare values: out of memory");
        ok = false;
    }
    if (ok && d->count)
        qsort(d->list, d->count, sizeof *d->list, compare_values);
    free(c.list);
    free(c.all);
    if (ok)
        return d;
    diff_values_free(d);
    return NULL;
}

void diff_values_free(struct diff_values *d)
{
    if (!d)
        return;
    for (uint32_t r = 0; r < d->run_count; r++)
        value_reader_free(d->readers[r]);
    free(d->readers);
    free(d->list);
    free(d);
}

#include "profile/values.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/saturate.h"
#include "base/sort.h"
#include "profile/frames.h"

struct profile_values *profile_values_new(const char *module)
{
    struct profile_values *v = calloc(1, sizeof *v);
    if (!v)
        return NULL;
    v->module = strdup(module);
    if (v->module)
        return v;
    free(v);
    return NULL;
}

static void free_kind(struct profile_value_kind *kind)
{
    for (uint32_t i = 0; i < kind->name_count; i++)
        free(kind->names[i]);
    free(kind->names);
    free(kind->name);
}

void profile_values_free(struct profile_values *v)
{
    if (!v)
        return;
    for (uint32_t i = 0; i < v->kind_count; i++)
        free_kind(&v->kinds[i]);
    for (uint32_t i = 0; i < v->fact_count; i++)
        free(v->facts[i].name);
    for (uint32_t i = 0; i < v->text_count; i++)
        free(v->texts[i].text);
    for (uint32_t i = 0; i < v->hotlist_count; i++)
        free(v->hotlists[i].list);
    free(v->kinds);
    free(v->facts);
    free(v->texts);
    free(v->hotlists);
    free(v->module);
    free(v);
}

/* Room for one more: capacities are powers of two, so a full array is one whose count is. The array
 * may have moved when this is not NULL, and is as it was when it is. */
static void *room_for_one(void *array, uint32_t count, size_t each)
{
    if (count & (count - 1) || count == UINT32_MAX / 2 + 1)
        return count & (count - 1) ? array : NULL;
    return reallocarray(array, count ? (size_t)count * 2 : 1, each);
}

#define ADD(array, count, record)                                                                  \
    void *grown = room_for_one(array, count, sizeof *(array));                                     \
    if (!grown)                                                                                    \
        return NULL;                                                                               \
    (array) = grown;                                                                               \
    struct record *at = &(array)[count];                                                           \
    *at = (struct record){0}

struct profile_value_kind *profile_values_add_kind(struct profile_values *v, const char *name)
{
    ADD(v->kinds, v->kind_count, profile_value_kind);
    at->name = strdup(name);
    v->kind_count += at->name != NULL;
    return at->name ? at : NULL;
}

struct profile_fact *profile_values_add_fact(struct profile_values *v, const char *name)
{
    ADD(v->facts, v->fact_count, profile_fact);
    at->name = strdup(name);
    v->fact_count += at->name != NULL;
    return at->name ? at : NULL;
}

struct profile_text *profile_values_add_text(struct profile_values *v, const char *text)
{
    ADD(v->texts, v->text_count, profile_text);
    at->text = strdup(text);
    v->text_count += at->text != NULL;
    return at->text ? at : NULL;
}

struct profile_hotlist *profile_values_add_hotlist(struct profile_values *v, uint32_t entries)
{
    ADD(v->hotlists, v->hotlist_count, profile_hotlist);
    at->list = calloc(1, hotlist_size(entries));
    v->hotlist_count += at->list != NULL;
    return at->list ? at : NULL;
}

#define ORDER(x, y)                                                                                \
    if ((x) != (y))                                                                                \
    return (x) < (y) ? -1 : 1

static int compare_hotlists(const void *a, const void *b)
{
    const struct profile_hotlist *x = a, *y = b;
    ORDER(x->image + FRAME_IMAGE_FIRST, y->image + FRAME_IMAGE_FIRST);
    ORDER(x->process, y->process);
    ORDER(x->offset, y->offset);
    ORDER(x->kind, y->kind);
    ORDER(x->site_image + FRAME_IMAGE_FIRST, y->site_image + FRAME_IMAGE_FIRST);
    ORDER(x->site, y->site);
    return 0;
}

static int compare_texts(const void *a, const void *b)
{
    const struct profile_text *x = a, *y = b;
    ORDER(x->kind, y->kind);
    ORDER(x->value.space, y->value.space);
    ORDER(x->value.bits, y->value.bits);
    return strcmp(x->text, y->text);
}

/* Of texts of one value the first is kept. */
static void settle_texts(struct profile_values *v)
{
    uint32_t kept = 0;
    sort_runs(v->texts, v->text_count, sizeof *v->texts, compare_texts);
    for (uint32_t i = 0; i < v->text_count; i++) {
        struct profile_text *t = &v->texts[i], *last = kept ? &v->texts[kept - 1] : NULL;
        if (last && last->kind == t->kind && last->value.space == t->value.space &&
            last->value.bits == t->value.bits)
            free(t->text);
        else
            v->texts[kept++] = *t;
    }
    for (uint32_t i = kept; i < v->text_count; i++)
        v->texts[i].text = NULL;
    v->text_count = kept;
}

static bool merge_lists(struct hotlist **into, struct hotlist *from, enum hotlist_kind kind,
                        struct hotlist_random *r)
{
    struct hotlist *list = realloc(*into, hotlist_size(hotlist_most(kind) + from->count));
    if (!list)
        return false;
    *into = list;
    hotlist_merge(list, from, kind, r);
    free(from);
    return true;
}

bool profile_values_settle(struct profile_values *v)
{
    const enum hotlist_kind kind = (enum hotlist_kind)v->summary;
    struct hotlist_random r;
    uint32_t kept = 0;
    bool ok = true;
    hotlist_random_seed(&r, v->hotlist_count);
    settle_texts(v);
    for (uint32_t i = 0; i < v->hotlist_count; i++) {
        struct profile_hotlist *h = &v->hotlists[i];
        if (!profile_is_private(h->image, h->offset) && !profile_is_private(h->site_image, h->site))
            h->process = 0;
    }
    sort_runs(v->hotlists, v->hotlist_count, sizeof *v->hotlists, compare_hotlists);
    for (uint32_t i = 0; i < v->hotlist_count; i++) {
        struct profile_hotlist *h = &v->hotlists[i], *last = kept ? &v->hotlists[kept - 1] : NULL;
        bool same = last && compare_hotlists(last, h) == 0;
        ok = ok && (!same || merge_lists(&last->list, h->list, kind, &r));
        if (!same || !ok)
            v->hotlists[kept++] = *h;
    }
    v->hotlist_count = kept;
    for (uint32_t i = 0; i < kept; i++)
        hotlist_sort(v->hotlists[i].list);
    return ok;
}

const char *profile_values_differ(const struct profile_values *a, const struct profile_values *b)
{
    if (strcmp(a->module, b->module) != 0)
        return "their values were chosen by different modules";
    if (a->summary != b->summary)
        return "one has concise samples of values, the other top-N-value tables";
    if (a->every != b->every)
        return "their values were taken at different shares of the triggers (--every)";
    if (a->redacted || b->redacted)
        return "values that were redacted have no meaning outside their own file";
    if (a->kind_count != b->kind_count)
        return "their modules have different kinds of values";
    for (uint32_t i = 0; i < a->kind_count; i++)
        if (strcmp(a->kinds[i].name, b->kinds[i].name) != 0)
            return "their modules have different kinds of values";
    return NULL;
}

static uint32_t moved_image(uint32_t image, const uint32_t *image_of)
{
    return image < PROFILE_IMAGE_PSEUDO ? image_of[image] : image;
}

static uint32_t moved_space(uint32_t space, const uint32_t *image_of)
{
    return space >= HOTLIST_IMAGE ? HOTLIST_IMAGE + image_of[space - HOTLIST_IMAGE] : space;
}

static bool copy_hotlist(struct profile_values *into, const struct profile_hotlist *h,
                         const uint32_t *image_of, uint32_t first_process)
{
    struct profile_hotlist *copy = profile_values_add_hotlist(into, h->list->count);
    if (!copy)
        return false;
    struct hotlist *list = copy->list;
    *copy = *h;
    copy->list = list;
    copy->process += first_process;
    copy->image = moved_image(h->image, image_of);
    copy->site_image = moved_image(h->site_image, image_of);
    memcpy(list, h->list, hotlist_size(h->list->count));
    for (uint32_t i = 0; i < list->count; i++)
        list->entries[i].space = moved_space(list->entries[i].space, image_of);
    return true;
}

/* Of two numbers with one name, which are of the machine, the greater one. */
static bool merge_facts(struct profile_values *into, const struct profile_values *from)
{
    for (uint32_t i = 0; i < from->fact_count; i++) {
        uint32_t k = 0;
        while (k < into->fact_count && strcmp(into->facts[k].name, from->facts[i].name) != 0)
            k++;
        struct profile_fact *fact = k < into->fact_count
                                        ? &into->facts[k]
                                        : profile_values_add_fact(into, from->facts[i].name);
        if (!fact)
            return false;
        if (from->facts[i].value > fact->value)
            fact->value = from->facts[i].value;
    }
    return true;
}

#define ROW(field, how, unit, what)                                                                \
    FIGURE_ROW("values", struct profile_values, field, how, unit, what),
#define ROW_MANY(field, count, names, unit, what)                                                  \
    FIGURE_ROW_MANY("values", struct profile_values, field, count, names, unit, what),
static const struct figure_row rows[] = {VALUE_FIGURES(ROW, ROW_MANY)};

static void *of(const struct profile *p)
{
    return observed_values(p);
}

const struct figure_family value_figures = {
    .rows = rows, .count = sizeof rows / sizeof *rows, .of = of};

bool profile_values_merge(struct profile_values *into, const struct profile_values *from,
                          const uint32_t *image_of, uint32_t first_process)
{
    if (from->module_end > into->module_end ||
        (from->module_end == into->module_end && from->module_detail > into->module_detail)) {
        into->module_end = from->module_end;
        into->module_detail = from->module_detail;
    }
    for (uint32_t i = 0; i < from->hotlist_count; i++)
        if (!copy_hotlist(into, &from->hotlists[i], image_of, first_process))
            return false;
    for (uint32_t i = 0; i < from->text_count; i++) {
        struct profile_text *text = profile_values_add_text(into, from->texts[i].text);
        if (!text)
            return false;
        text->kind = from->texts[i].kind;
        text->value = from->texts[i].value;
        text->value.space = moved_space(text->value.space, image_of);
    }
    return merge_facts(into, from) && profile_values_settle(into);
}

static bool is_before(const struct profile_hotlist *h, uint32_t image, uint64_t offset)
{
    uint32_t at = h->image + FRAME_IMAGE_FIRST, rank = image + FRAME_IMAGE_FIRST;
    return at < rank || (at == rank && h->offset < offset);
}

struct values_range profile_values_at(const struct profile_values *v, uint32_t image,
                                      uint64_t offset)
{
    struct values_range range = {
        .first = ARRAY_LEADING(v->hotlist_count, i, is_before(&v->hotlists[i], image, offset))};
    while (range.first + range.count < v->hotlist_count &&
           v->hotlists[range.first + range.count].image == image &&
           v->hotlists[range.first + range.count].offset == offset)
        range.count++;
    return range;
}

const char *profile_values_text(const struct profile_values *v, uint32_t kind,
                                const struct hotlist_entry *entry)
{
    uint32_t lo = 0, hi = v->text_count;
    while (lo < hi) {
        uint32_t middle = lo + (hi - lo) / 2;
        const struct profile_text *t = &v->texts[middle];
        if (t->kind < kind || (t->kind == kind && (t->value.space < entry->space ||
            (t->value.space == entry->space && t->value.bits < entry->bits))))
            lo = middle + 1;
        else
            hi = middle;
    }
    const struct profile_text *t = lo < v->text_count ? &v->texts[lo] : NULL;
    return t && t->kind == kind && t->value.space == entry->space && t->value.bits == entry->bits
               ? t->text : NULL;
}

const char *profile_module_end_sentence(uint32_t end)
{
    static const char *const sentences[MODULE_ENDS] = {
        [MODULE_ENDED] = "the module saw all there was",
        [MODULE_CRASHED] = "the module crashed, and was dropped",
        [MODULE_HUNG] = "the module did not return from a callback, and was dropped",
        [MODULE_REFUSED] = "the module said that it cannot run",
        [MODULE_UNKNOWN] = "the recording was cut off, and the module with it",
    };
    return end < MODULE_ENDS ? sentences[end] : "?";
}

#define REASON_NAME(id, name, sentence) [id] = name,
#define REASON_SENTENCE(id, name, sentence) [id] = sentence,

const char *profile_unobserved_name(unsigned reason)
{
    static const char *const names[] = { UNOBSERVED_REASONS(REASON_NAME) };
    return reason < UNOBSERVED_COUNT ? names[reason] : "?";
}

const char *profile_unobserved_sentence(unsigned reason)
{
    static const char *const sentences[] = { UNOBSERVED_REASONS(REASON_SENTENCE) };
    return reason < UNOBSERVED_COUNT ? sentences[reason] : "?";
}

bool profile_values_unobserved(const struct profile_values *v)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < UNOBSERVED_COUNT; i++)
        sum |= v->unobserved[i];
    return sum;
}

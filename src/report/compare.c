#include "report/compare.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profile/events.h"
#include "profile/paths.h"
#include "report/calls.h"
#include "report/compare_productions.h"
#include "report/compare_values.h"
#include "report/json.h"
#include "report/path_ids.h"
#include "report/text.h"
#include "sigsafe/hash.h"

/* What an entry is, in numbers that mean the same in both profiles. */
struct item {
    uint64_t a, b, c;
    double total; /* of calls: samples of the context in the sampled profile */
    struct compare_entry weights;
};

struct items {
    struct item *list;
    size_t count, capacity;
    bool failed;
};

/* Numbers for images and functions that are the same in both profiles: [0] perfect, [1] sampled. */
struct identities {
    uint64_t *images[2];
    uint64_t *functions[2];
};

enum { PERFECT, SAMPLED };

const char *compare_by_name(unsigned by)
{
    static const char *const names[COMPARE_KINDS] = {"function", "path", "call", "block",
                                                     "edge", "acyclic", "instruction", "result",
                                                     "callsite", "field", "named", "allocation",
                                                     "branch", "pair", "method", "count",
                                                     "stream"};
    return by < COMPARE_KINDS ? names[by] : NULL;
}

static void add_item(struct items *items, struct item item, unsigned side, double weight)
{
    items->failed = items->failed || !ARRAY_ROOM(items->list, items->count, items->capacity);
    if (items->failed)
        return;
    *(side == PERFECT ? &item.weights.perfect : &item.weights.sampled) = weight;
    items->list[items->count++] = item;
}

#define ORDER(x, y)                                                                                \
    if ((x) != (y))                                                                                \
    return (x) < (y) ? -1 : 1

static int compare_items(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    ORDER(x->a, y->a);
    ORDER(x->b, y->b);
    ORDER(x->c, y->c);
    return 0;
}

/* The entries of sorted items; equal ones are summed. */
static struct compare_entry *make_entries(struct items *items, size_t *count)
{
    struct compare_entry *entries = calloc(items->count ? items->count : 1, sizeof *entries);
    *count = 0;
    if (items->count)
        qsort(items->list, items->count, sizeof *items->list, compare_items);
    for (size_t i = 0; entries && i < items->count; i++) {
        if (!i || compare_items(&items->list[i - 1], &items->list[i]) != 0)
            ++*count;
        entries[*count - 1].perfect += items->list[i].weights.perfect;
        entries[*count - 1].sampled += items->list[i].weights.sampled;
    }
    return entries;
}

/* ---- what is the same ---- */

struct named {
    const char *name;
    size_t name_size;
    const struct profile_image *image; /* of images */
    uint64_t image_id;                 /* of functions */
    unsigned side;
    uint32_t index;
};

static int compare_images(const void *a, const void *b)
{
    const struct profile_image *x = ((const struct named *)a)->image;
    const struct profile_image *y = ((const struct named *)b)->image;
    ORDER(x->build_id_size, y->build_id_size);
    return x->build_id_size ? memcmp(x->build_id, y->build_id, x->build_id_size)
                            : strcmp(x->path, y->path);
}

/* A program that was built anew is the same program, as far as functions go. */
static int compare_image_names(const void *a, const void *b)
{
    const char *x = ((const struct named *)a)->image->path,
               *y = ((const struct named *)b)->image->path;
    const char *slash_x = strrchr(x, '/'), *slash_y = strrchr(y, '/');
    return strcmp(slash_x ? slash_x + 1 : x, slash_y ? slash_y + 1 : y);
}

bool compare_is_of_samplings(const struct view *first, const struct view *second)
{
    return !profile_is_exact(first->profile) && !profile_is_exact(second->profile);
}

static int compare_functions(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    ORDER(x->image_id, y->image_id);
    ORDER(x->name_size, y->name_size);
    return memcmp(x->name, y->name, x->name_size);
}

/* An exact call goes to the stub of a procedure linkage table, f@plt, which a sampled stack does
 * not hold: so calls are compared by name alone, without the image of the stub. */
static struct named name_of(const struct view_function *f, uint64_t image, enum compare_by by)
{
    static const char stub[] = "@plt";
    size_t n = strlen(f->name), ending = sizeof stub - 1;
    if (by != COMPARE_CALL)
        return (struct named){.name = f->name, .name_size = n, .image_id = image};
    if (n > ending && !memcmp(f->name + n - ending, stub, ending))
        n -= ending;
    return (struct named){.name = f->name, .name_size = n};
}

static uint64_t number_named(struct named *list, size_t count,
                             int (*compare)(const void *, const void *), uint64_t *ids[2])
{
    uint64_t id = 0;
    if (count)
        qsort(list, count, sizeof *list, compare);
    for (size_t i = 0; i < count; i++) {
        id += i && compare(&list[i - 1], &list[i]) != 0;
        ids[list[i].side][list[i].index] = id;
    }
    return id;
}

/* Code outside images, and what is no code, have numbers that no image has. */
static uint64_t image_id(const struct identities *ids, unsigned side, uint32_t image)
{
    return image < PROFILE_IMAGE_PSEUDO ? ids->images[side][image] : (uint64_t)image;
}

static bool identify(const struct view *const views[2], enum compare_by by, struct identities *ids)
{
    size_t images = 0, functions = 0;
    for (unsigned side = 0; side < 2; side++) {
        images += views[side]->profile->image_count;
        functions += views[side]->function_count;
        ids->images[side] = calloc((size_t)views[side]->profile->image_count + 1, sizeof(uint64_t));
        ids->functions[side] = calloc((size_t)views[side]->function_count + 1, sizeof(uint64_t));
    }
    struct named *list = calloc((images > functions ? images : functions) + 1, sizeof *list);
    if (!list || !ids->images[0] || !ids->images[1] || !ids->functions[0] || !ids->functions[1]) {
        free(list);
        return false;
    }
    size_t n = 0;
    for (unsigned side = 0; side < 2; side++)
        for (uint32_t i = 0; i < views[side]->profile->image_count; i++)
            list[n++] = (struct named){.image = &views[side]->profile->images[i], .side = side,
                                       .index = i};
    bool by_name = by <= COMPARE_CALL && compare_is_of_samplings(views[0], views[1]);
    number_named(list, n, by_name ? compare_image_names : compare_images, ids->images);
    n = 0;
    for (unsigned side = 0; side < 2; side++)
        for (uint32_t i = 0; i < views[side]->function_count; i++) {
            const struct view_function *f = &views[side]->functions[i];
            list[n] = name_of(f, image_id(ids, side, f->image), by);
            list[n].side = side;
            list[n++].index = i;
        }
    number_named(list, n, compare_functions, ids->functions);
    free(list);
    return true;
}

static void identities_free(struct identities *ids)
{
    for (unsigned side = 0; side < 2; side++) {
        free(ids->images[side]);
        free(ids->functions[side]);
    }
}

/* ---- entries of each kind ---- */

static void add_functions(struct items *items, const struct identities *ids, const struct view *v,
                          unsigned side)
{
    for (uint32_t i = 0; i < v->function_count; i++)
        if (v->functions[i].self)
            add_item(items, (struct item){.a = ids->functions[side][i]}, side,
                     (double)v->functions[i].self);
}

static void add_paths(struct items *items, const struct identities *ids, struct path_ids *paths,
                      const struct view *v, unsigned side, bool calls)
{
    uint64_t *path_of = calloc((size_t)v->tree.count + 1, sizeof *path_of);
    items->failed |= !path_of;
    for (uint32_t i = 0; path_of && i < v->tree.count; i++) {
        const struct view_node *n = &v->tree.nodes[i];
        /* A parent's index is smaller than its children's. */
        uint64_t parent = n->parent == VIEW_NONE ? 0 : path_of[n->parent];
        path_of[i] = path_ids_find(paths, parent, ids->functions[side][n->function]);
        struct item item = {.a = path_of[i],
                            .total = calls && side == SAMPLED ? (double)n->total : 0};
        if (calls ? n->calls : n->self)
            add_item(items, item, side, (double)(calls ? n->calls : n->self));
    }
    free(path_of);
}

static void add_blocks(struct items *items, const struct identities *ids, const struct view *v,
                       unsigned side)
{
    const struct profile_counts *c = observed_code(v->profile);
    for (uint32_t i = 0; c && i < c->block_count; i++)
        add_item(items, (struct item){.a = image_id(ids, side, c->blocks[i].image),
                                      .b = c->blocks[i].offset},
                 side, (double)c->blocks[i].count);
}

static void add_edges(struct items *items, const struct identities *ids, const struct view *v,
                      unsigned side)
{
    const struct profile_counts *c = observed_code(v->profile);
    for (uint32_t i = 0; c && i < c->edge_count; i++) {
        const struct profile_edge *edge = &c->edges[i];
        add_item(items, (struct item){.a = image_id(ids, side, edge->from_image) << 32 ^
                                           image_id(ids, side, edge->to_image),
                                      .b = edge->from, .c = edge->to},
                 side, (double)edge->count);
    }
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = hash_word(hash ^ value);
    return hash ^ hash >> 32;
}

/* A path is two hashes of its blocks, 128 bits. */
static void add_acyclic(struct items *items, const struct identities *ids, const struct view *v,
                        unsigned side)
{
    const struct profile_counts *c = observed_code(v->profile);
    const struct profile_paths *p = c ? profile_paths_of(v->profile) : NULL;
    for (uint32_t i = 0; p && i < p->count; i++) {
        struct item item = {.a = 1, .b = 2, .c = p->paths[i].length};
        for (uint32_t k = 0; k < p->paths[i].length; k++) {
            const struct profile_block *b = &c->blocks[p->sequence[p->paths[i].first + k]];
            item.a = mix(mix(item.a, image_id(ids, side, b->image)), b->offset);
            item.b = mix(mix(item.b, b->offset), image_id(ids, side, b->image));
        }
        add_item(items, item, side, (double)p->paths[i].count);
    }
}

/* Of sorted items. */
static struct compare_calls expensive_calls(const struct items *items, double sample_weight)
{
    struct compare_calls all = {0};
    double smaller = 0, greater = 0;
    for (size_t i = 0, next; i < items->count; i = next) {
        double perfect = 0, sampled = 0, total = 0;
        for (next = i;
             next < items->count && compare_items(&items->list[i], &items->list[next]) == 0;
             next++) {
            perfect += items->list[next].weights.perfect;
            sampled += items->list[next].weights.sampled;
            total += items->list[next].total;
        }
        double calls = perfect < sampled ? sampled : perfect;
        if (sampled == 0 || total < CALLS_CHEAP * sample_weight * calls)
            continue;
        all.contexts++;
        all.perfect += perfect;
        all.sampled += sampled;
        smaller += perfect < sampled ? perfect : sampled;
        greater += calls;
    }
    all.agreement = greater > 0 ? smaller / greater : 0;
    return all;
}

/* Instructions whose values were observed, by how often they were. */
static void add_instructions(struct items *items, const struct identities *ids,
                             const struct view *v, unsigned side)
{
    const struct profile_values *values = observed_values(v->profile);
    for (uint32_t i = 0, next = 0; values && i < values->hotlist_count; i = next) {
        const struct profile_hotlist *h = &values->hotlists[i];
        double observed = (double)compare_observed(values, i, &next);
        add_item(items, (struct item){.a = image_id(ids, side, h->image), .b = h->offset}, side,
                 observed);
    }
}

/* Instructions by how often what they compute was observed. */
static void add_results(struct items *items, const struct identities *ids, const struct view *v,
                        unsigned side)
{
    const struct profile_values *values = observed_values(v->profile);
    for (uint32_t i = 0; values && i < values->hotlist_count; i++) {
        const struct profile_hotlist *h = &values->hotlists[i];
        if (compare_is_result(values, h))
            add_item(items, (struct item){.a = image_id(ids, side, h->image), .b = h->offset}, side,
                     (double)h->list->observed);
    }
}

static uint32_t events_table(enum compare_by by)
{
    return by == COMPARE_FIELD        ? (uint32_t)TABLE_FIELDS
           : by == COMPARE_ALLOCATION ? (uint32_t)TABLE_ALLOCATIONS
           : by == COMPARE_BRANCH     ? (uint32_t)TABLE_BRANCHES
                                      : (uint32_t)TABLE_CALLSITES;
}

static bool is_compared(const struct profile_event *e, enum compare_by by)
{
    bool is = by == COMPARE_FIELD        ? e->kind == EVENT_READ || e->kind == EVENT_WRITE
              : by == COMPARE_ALLOCATION ? e->kind == EVENT_BYTES
              : by == COMPARE_BRANCH     ? e->kind == EVENT_EDGE
                                         : e->kind == EVENT_CALL || e->kind == EVENT_INLINED;
    return is && e->weight;
}

static void add_events(struct items *items, const struct identities *ids, const struct view *v,
                       unsigned side, enum compare_by by)
{
    const struct profile_events *t = observed_table(v->profile, events_table(by));
    for (uint32_t i = 0; t && i < t->count; i++) {
        const struct profile_event *e = &t->list[i];
        uint64_t image = image_id(ids, side, e->to_image);
        if (is_compared(e, by))
            add_item(items, (struct item){.a = e->offset, .b = image << 8 | e->kind, .c = e->to},
                     side, (double)e->weight);
    }
}

/* Each value of each hotlist that has a name, by how often it was observed. */
static void add_named(struct items *items, const struct identities *ids, const struct view *v,
                      unsigned side)
{
    const struct profile_values *values = observed_values(v->profile);
    for (uint32_t i = 0; values && i < values->hotlist_count; i++) {
        const struct profile_hotlist *h = &values->hotlists[i];
        for (uint32_t k = 0; entity_is(h->offset) && k < h->list->count; k++) {
            const struct hotlist_entry *e = &h->list->entries[k];
            uint64_t space = e->space < HOTLIST_IMAGE
                                 ? e->space
                                 : HOTLIST_IMAGE + image_id(ids, side, e->space - HOTLIST_IMAGE);
            add_item(items, (struct item){.a = h->offset, .b = space, .c = e->bits}, side,
                     hotlist_share(h->list, e) * (double)h->list->observed);
        }
    }
}

static bool has_named(const struct view *v)
{
    const struct profile_events *t = observed_table(v->profile, TABLE_NAMED);
    return t && t->count;
}

static bool has_events(const struct view *v, enum compare_by by)
{
    const struct profile_events *t = observed_table(v->profile, events_table(by));
    for (uint32_t i = 0; t && i < t->count; i++)
        if (is_compared(&t->list[i], by))
            return true;
    return false;
}

static uint64_t production_image(const void *context, uint32_t image)
{
    const uint64_t *ids = context;
    return image < PROFILE_IMAGE_PSEUDO ? ids[image] : image;
}

static void add_productions(struct items *items, const struct identities *ids,
                            const struct view *v, unsigned side, enum compare_by by)
{
    const struct profile_productions *t = observed_table(v->profile, TABLE_PRODUCTIONS);
    for (uint32_t group = 0; t && group < t->group_count; group++) {
        uint32_t count;
        if (!compare_group_fits(&t->groups[group], by))
            continue;
        struct production_row *rows = production_rows(v, t, group, &count);
        items->failed |= !rows;
        for (uint32_t i = 0; rows && i < count; i++) {
            uint64_t id[2];
            compare_production_id(t, group, &rows[i], production_image, ids->images[side], id);
            add_item(items, (struct item){.a = id[0], .b = id[1]}, side, (double)rows[i].weight);
        }
        free(rows);
    }
}

/* Keeps the entries that the perfect profile has. Returns the share of the sampled weight that the
 * others had. */
static double keep_perfect(struct compare_entry *entries, size_t *count)
{
    double all = 0, left_out = 0;
    size_t kept = 0;
    for (size_t i = 0; i < *count; i++) {
        all += entries[i].sampled;
        if (entries[i].perfect > 0)
            entries[kept++] = entries[i];
        else
            left_out += entries[i].sampled;
    }
    *count = kept;
    return all > 0 ? left_out / all : 0;
}

static bool collect(struct items *items, const struct identities *ids,
                    const struct view *const views[2], enum compare_by by)
{
    struct path_ids paths = {0};
    bool ok = (by != COMPARE_PATH && by != COMPARE_CALL) ||
              path_ids_init(&paths, (size_t)views[0]->tree.count + views[1]->tree.count);
    for (unsigned side = 0; ok && side < 2; side++)
        switch (by) {
        case COMPARE_PATH:
        case COMPARE_CALL:
            add_paths(items, ids, &paths, views[side], side, by == COMPARE_CALL);
            break;
        case COMPARE_BLOCK: add_blocks(items, ids, views[side], side); break;
        case COMPARE_EDGE: add_edges(items, ids, views[side], side); break;
        case COMPARE_ACYCLIC: add_acyclic(items, ids, views[side], side); break;
        case COMPARE_INSTRUCTION: add_instructions(items, ids, views[side], side); break;
        case COMPARE_RESULT: add_results(items, ids, views[side], side); break;
        case COMPARE_NAMED: add_named(items, ids, views[side], side); break;
        case COMPARE_ALLOCATION:
        case COMPARE_BRANCH:
        case COMPARE_CALLSITE:
        case COMPARE_FIELD: add_events(items, ids, views[side], side, by); break;
        case COMPARE_PAIR:
        case COMPARE_METHOD:
        case COMPARE_COUNT:
        case COMPARE_STREAM: add_productions(items, ids, views[side], side, by); break;
        default: add_functions(items, ids, views[side], side); break;
        }
    path_ids_fini(&paths);
    return ok && !items->failed;
}

/* Observations that bursts make are nearly independent; what a shadow or a whole run sees is
 * not. */
static bool has_chance(const struct view *sampled, enum compare_by by)
{
    const struct profile_counts *c = observed_code(sampled->profile);
    return (by == COMPARE_INSTRUCTION || by == COMPARE_RESULT) && c &&
           observation_of(&sampled->profile->observations, OBSERVED_CODE)->carrier == CARRIER_BURST;
}

static bool compare_kind(const struct view *const views[2], const struct identities *ids,
                         enum compare_by by, struct comparison *out, struct err *e)
{
    struct items items = {0};
    size_t count = 0;
    struct compare_entry *entries = NULL;
    if (collect(&items, ids, views, by))
        entries = make_entries(&items, &count);
    if (entries && by == COMPARE_RESULT)
        out->left_out = keep_perfect(entries, &count);
    bool ok = entries ? compare_entries(entries, count, &out->metrics, e)
                      : err_set(e, ERR_INTERNAL, "out of memory while profiles were compared");
    if (ok && by == COMPARE_CALL)
        out->calls = expensive_calls(&items, calls_sample_weight(views[SAMPLED]));
    if (ok && has_chance(views[SAMPLED], by))
        out->chance.overlap = compare_expected_overlap(entries, count);
    free(items.list);
    free(entries);
    return ok;
}

static bool identified(const struct view *const views[2], enum compare_by by,
                       struct comparison *out, struct err *e)
{
    struct identities ids = {{NULL, NULL}, {NULL, NULL}};
    bool ok = identify(views, by, &ids)
                  ? compare_kind(views, &ids, by, out, e)
                  : err_set(e, ERR_INTERNAL, "out of memory while profiles were compared");
    identities_free(&ids);
    return ok;
}

static bool find_diff_top(const struct view *const views[2], struct comparison *out, struct err *e)
{
    const struct profile_values *const values[2] = {observed_values(views[0]->profile),
                                                    observed_values(views[1]->profile)};
    struct identities ids = {{NULL, NULL}, {NULL, NULL}};
    bool ok = identify(views, COMPARE_INSTRUCTION, &ids) &&
              compare_diff_top(values, ids.images, &out->diff_top,
                               has_chance(views[SAMPLED], out->by) ? &out->chance.diff_top : NULL);
    identities_free(&ids);
    return ok || err_set(e, ERR_INTERNAL, "out of memory while profiles were compared");
}

static bool has_results(const struct profile_values *v)
{
    for (uint32_t i = 0; v && i < v->hotlist_count; i++)
        if (compare_is_result(v, &v->hotlists[i]))
            return true;
    return false;
}

static bool has_kind(const struct view *v, enum compare_by by)
{
    const struct profile_counts *c = observed_code(v->profile);
    const struct profile_values *values = observed_values(v->profile);
    const struct profile_paths *paths = profile_paths_of(v->profile);
    return by == COMPARE_BLOCK  ? c && c->block_count
           : by == COMPARE_EDGE ? c && c->edge_count
           : by == COMPARE_CALL ? calls_known(v)
           : by == COMPARE_ACYCLIC ? paths && paths->count
           : by == COMPARE_INSTRUCTION
               ? values && values->hotlist_count
           : by == COMPARE_RESULT ? has_results(observed_values(v->profile))
           : by == COMPARE_NAMED  ? has_named(v)
           : by == COMPARE_CALLSITE || by == COMPARE_FIELD || by == COMPARE_ALLOCATION ||
                   by == COMPARE_BRANCH
               ? has_events(v, by)
           : compare_is_production(by) ? compare_has_productions(v->profile, by)
               : v->samples > 0;
}

static bool check_kind(const struct view *v, const char *which, enum compare_by by, struct err *e)
{
    static const char *const how[COMPARE_KINDS] = {
        [COMPARE_BLOCK] = "; record --exact (or --carrier burst) --tool blocks counts them",
        [COMPARE_CALL] = "s; record with trampolines counts them, or record --exact --tool calls",
        [COMPARE_EDGE] = "; record --exact (or --carrier burst) --tool edges counts them",
        [COMPARE_ACYCLIC] = "; record --exact (or --carrier burst) --tool paths counts them",
        [COMPARE_INSTRUCTION] = "s; record --tool values observes them",
        [COMPARE_CALLSITE] = "s; record --carrier compiled counts them",
        [COMPARE_FIELD] = "s; record --carrier compiled counts them",
        [COMPARE_NAMED] = " value; record --carrier compiled counts them",
        [COMPARE_ALLOCATION] = "s; record --carrier compiled counts them",
        [COMPARE_BRANCH] = "; record --carrier compiled counts them",
        [COMPARE_PAIR] = "s; record --production hot-call-pairs counts them",
        [COMPARE_METHOD] = "s; record --production hot-methods counts them",
        [COMPARE_COUNT] = "s of single values; record --production FILE counts them",
        [COMPARE_STREAM] = "s; record --production hot-data-streams finds them",
        [COMPARE_RESULT] = "s; record --tool results observes all of them, --tool values some",
    };
    if (has_kind(v, by))
        return true;
    return err_set(e, ERR_USAGE, "the %s profile has no counts by %s%s", which, compare_by_name(by),
                   how[by] ? how[by] : ": it is empty");
}

bool compare_views(const struct view *perfect, const struct view *sampled, enum compare_by by,
                   struct comparison *out, struct err *e)
{
    const struct view *const views[2] = {perfect, sampled};
    struct comparison functions = {.metrics.distortion = -1};
    *out = (struct comparison){.by = by, .chance = {-1, -1}};
    if (!check_kind(perfect, "perfect", by, e) || !check_kind(sampled, "sampled", by, e))
        return false;
    bool sampled_both = has_kind(perfect, COMPARE_FUNCTION) && has_kind(sampled, COMPARE_FUNCTION);
    bool ok = identified(views, by, out, e) &&
              (!sampled_both || identified(views, COMPARE_FUNCTION, &functions, e)) &&
              find_diff_top(views, out, e);
    out->distortion = functions.metrics.distortion;
    return ok;
}

/* ---- output ---- */

static void write_line(FILE *out, const char *name, double share, const char *meaning)
{
    fprintf(out, "%-13s %7.2f%%  %s\n", name, 100 * share, meaning);
}

static void write_profile(FILE *out, const char *name, const struct view *v, size_t entries,
                          enum compare_by by)
{
    char number[TEXT_NUMBER_SIZE];
    const struct profile *p = v->profile;
    fprintf(out, "%-13s ", name);
    text_name(out, p->command, 60);
    bool exact = profile_is_exact(p);
    fprintf(out, ": %s", observed_code(p) ? observed_code(p)->carrier : "samples");
    if (!exact)
        fprintf(out, " by %s", p->metrics[0].trigger);
    fprintf(out, ", %s %s%s%s\n", text_count(number, entries),
            by == COMPARE_ACYCLIC  ? "acyclic path"
            : by == COMPARE_RESULT ? compare_by_name(COMPARE_INSTRUCTION)
                                   : compare_by_name(by == COMPARE_CALL ? COMPARE_PATH : by),
            entries == 1 ? "" : "s",
            by == COMPARE_CALL     ? " with calls"
            : by == COMPARE_RESULT ? " with results that both can have"
                                   : "");
}

static void write_chance(FILE *out, const struct comparison *c)
{
    if (c->by == COMPARE_RESULT)
        write_line(out, "left out", c->left_out,
                   "of the sampled results: the perfect profile does not observe them");
    if (c->chance.overlap >= 0)
        write_line(out, "by chance", c->chance.overlap,
                   "is what overlap would be of as many independent observations");
    if (c->chance.diff_top >= 0)
        write_line(out, "", c->chance.diff_top, "is what diff-top would be");
}

void report_comparison(FILE *out, const struct comparison *c, const struct view *perfect,
                       const struct view *sampled)
{
    const struct compare_metrics *m = &c->metrics;
    bool equals = compare_is_of_samplings(perfect, sampled);
    write_profile(out, equals ? "first" : "perfect", perfect, m->entries_perfect, c->by);
    write_profile(out, equals ? "second" : "sampled", sampled, m->entries_sampled, c->by);
    if (strcmp(perfect->profile->metrics[0].trigger, sampled->profile->metrics[0].trigger) != 0)
        fprintf(out, "%-13s the profiles count different things; their shares are compared\n",
                "note");
    fputc('\n', out);
    write_line(out, "overlap", m->overlap, "of the weight is where both have it");
    write_line(out, "overlap-90", m->overlap_90,
               equals ? "the same, of the hottest that make 90% of the first profile"
                      : "the same, of the hottest that make 90% of the perfect profile");
    write_line(out, "weight match", m->weight_match,
               equals ? "of the weight of the top 5% is in the second profile's top"
                      : "of the weight of the top 5% is in the sampled profile's top");
    if (c->diff_top < 0)
        fprintf(out, "%-13s %8s  no values were profiled\n", "diff-top", "-");
    else
        write_line(out, "diff-top", c->diff_top,
                   "mean difference of the most frequent result's share");
    write_chance(out, c);
    if (c->by == COMPARE_CALL)
        write_line(out, "expensive", c->calls.agreement,
                   "of the calls agree, where one takes two samples or more");
    if (c->distortion < 0)
        fprintf(out, "%-13s %8s  no functions were sampled\n", "distortion", "-");
    else if (equals)
        write_line(out, "difference", c->distortion / 2,
                   "of the weight is in other functions in the second");
    else
        write_line(out, "distortion", c->distortion, "sum of the differences over functions");
}

void report_comparison_json(struct buf *out, const struct comparison *c, const struct view *perfect,
                            const struct view *sampled)
{
    struct json j = {.out = out};
    const struct compare_metrics *m = &c->metrics;
    json_open(&j, '{');
    json_key(&j, "by");
    json_string(&j, compare_by_name(c->by));
    json_key_double(&j, "overlap", 100 * m->overlap);
    json_key_double(&j, "overlap_90", 100 * m->overlap_90);
    json_key_double(&j, "weight_match", 100 * m->weight_match);
    /* null: no values were profiled, no functions sampled */
    json_key_double(&j, "diff_top", c->diff_top < 0 ? 0.0 / 0.0 : 100 * c->diff_top);
    json_key_double(&j, "distortion", c->distortion < 0 ? 0.0 / 0.0 : 100 * c->distortion);
    if (c->by == COMPARE_RESULT)
        json_key_double(&j, "left_out", 100 * c->left_out);
    if (c->chance.overlap >= 0) {
        json_key(&j, "by_chance");
        json_open(&j, '{');
        json_key_double(&j, "overlap", 100 * c->chance.overlap);
        json_key_double(&j, "diff_top",
                        c->chance.diff_top < 0 ? 0.0 / 0.0 : 100 * c->chance.diff_top);
        json_close(&j, '}');
    }
    if (c->by == COMPARE_CALL) {
        json_key(&j, "expensive");
        json_open(&j, '{');
        json_key(&j, "contexts");
        json_u64(&j, c->calls.contexts);
        json_key(&j, "perfect");
        json_u64(&j, (uint64_t)c->calls.perfect);
        json_key(&j, "sampled");
        json_u64(&j, (uint64_t)c->calls.sampled);
        json_key_double(&j, "agreement", 100 * c->calls.agreement);
        json_close(&j, '}');
    }
    json_key(&j, "entries");
    json_open(&j, '{');
    json_key(&j, "perfect");
    json_u64(&j, m->entries_perfect);
    json_key(&j, "sampled");
    json_u64(&j, m->entries_sampled);
    json_key(&j, "common");
    json_u64(&j, m->entries_common);
    json_close(&j, '}');
    json_key(&j, "triggers");
    json_open(&j, '[');
    json_string(&j, perfect->profile->metrics[0].trigger);
    json_string(&j, sampled->profile->metrics[0].trigger);
    json_close(&j, ']');
    json_close(&j, '}');
    buf_put_u8(out, '\n');
}

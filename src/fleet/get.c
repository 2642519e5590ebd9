/* Makes a profile of what the store has of a range. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/saturate.h"
#include "fleet/batch.h"
#include "fleet/read.h"
#include "fleet/symbols.h"
#include "fleet/where.h"
#include "fleet/words.h"

/* Stacks that an answer has, the heaviest, for a report and for a file; and numbers in one
 * statement. */
enum { STACKS_MOST = 1 << 15, STACKS_OF_FILE = 1 << 18, NUMBERS_MOST = 20000 };

/* What a service's program has of a stack. */
struct part {
    uint32_t group;
    uint64_t stack, weight;
};

/* A stack or a frame, and the last day that it was seen: there it is read. */
struct wanted {
    uint64_t number, day;
};

struct getting {
    struct fleet *f;
    const struct store_query *q;
    struct answer to;
    struct words words;
    struct part *parts;
    size_t part_count, part_capacity;
    struct wanted *wanted; /* stacks, then frames */
    size_t wanted_count, wanted_capacity;
    uint64_t unit_us;
    struct err *e;
};

static bool no_memory(const struct getting *g)
{
    return err_set(g->e, ERR_INTERNAL, "out of memory");
}

/* ---- groups ---- */

static bool group_take(void *context, struct tsv *t, char **fields)
{
    static const struct profile_node root = {.image = PROFILE_IMAGE_PSEUDO, .offset = KEY_ROOT};
    struct getting *g = context;
    struct group *group = answer_group(&g->to, fields[0], fields[1]);
    if (!group || tree_sum_node(&group->tree, UINT32_MAX, &root) == UINT32_MAX)
        return no_memory(g);
    group->totals.taken = tsv_u64(t, fields[2]);
    group->totals.weight = tsv_u64(t, fields[3]) / g->unit_us;
    group->totals.squares = tsv_u64(t, fields[4]);
    group->totals.guessed = tsv_u64(t, fields[5]);
    return true;
}

/* Of a narrowed query they are those of its stacks. */
static bool groups_read(struct getting *g)
{
    struct buf text = {0};
    const bool narrowed = g->q->binary || g->q->function;
    /* Squares of microseconds do not fit into a whole number. */
    buf_printf(&text, "SELECT service, program, sum(taken), sum(weight), toUInt64(least("
                      "sum(toFloat64(squares)) / %" PRIu64 ", 9.2e18)), sum(guessed)",
               multiply_saturated(g->unit_us, g->unit_us));
    where_put(&text, g->f, g->q, narrowed ? FLEET_STACK : FLEET_TOTAL);
    buf_puts(&text, " GROUP BY service, program ORDER BY service, program");
    bool ok = where_rows(g->f, &text, 6, group_take, g, g->e);
    buf_free(&text);
    return ok;
}

static bool cut_take(void *context, struct tsv *t, char **fields)
{
    struct getting *g = context;
    struct group *group = answer_group(&g->to, fields[0], fields[1]);
    uint64_t reason = tsv_u64(t, fields[2]), count = tsv_u64(t, fields[3]);
    if (!group)
        return no_memory(g);
    if (reason < TRUNC_COUNT)
        group->totals.truncated[reason] = count;
    return true;
}

static bool cuts_read(struct getting *g)
{
    struct buf text = {0};
    buf_puts(&text, "SELECT service, program, item, sum(taken)");
    where_put(&text, g->f, g->q, FLEET_CUT);
    buf_puts(&text, " GROUP BY service, program, item");
    bool ok = g->q->binary || g->q->function || where_rows(g->f, &text, 4, cut_take, g, g->e);
    buf_free(&text);
    return ok;
}

/* ---- stacks and frames ---- */

static bool want(struct getting *g, uint64_t number, uint64_t day)
{
    if (!ARRAY_ROOM(g->wanted, g->wanted_count, g->wanted_capacity))
        return no_memory(g);
    g->wanted[g->wanted_count++] = (struct wanted){number, day};
    return true;
}

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* By number, the last day first. */
static int compare_numbers(const void *x, const void *y)
{
    const struct wanted *a = x, *b = y;
    int order = compare(a->number, b->number);
    return order ? order : compare(b->day, a->day);
}

static int compare_days(const void *x, const void *y)
{
    const struct wanted *a = x, *b = y;
    int order = compare(a->day, b->day);
    return order ? order : compare(a->number, b->number);
}

/* Each once. */
static void wanted_settle(struct getting *g)
{
    size_t kept = 0;
    if (g->wanted_count)
        qsort(g->wanted, g->wanted_count, sizeof *g->wanted, compare_numbers);
    for (size_t i = 0; i < g->wanted_count; i++)
        if (!kept || g->wanted[kept - 1].number != g->wanted[i].number)
            g->wanted[kept++] = g->wanted[i];
    g->wanted_count = kept;
}

static bool part_take(void *context, struct tsv *t, char **fields)
{
    struct getting *g = context;
    struct group *group = answer_group(&g->to, fields[0], fields[1]);
    if (!group || !ARRAY_ROOM(g->parts, g->part_count, g->part_capacity))
        return no_memory(g);
    struct part *part = &g->parts[g->part_count++];
    *part = (struct part){.group = (uint32_t)(group - g->to.groups),
                          .stack = tsv_u64(t, fields[2]),
                          .weight = tsv_u64(t, fields[3]) / g->unit_us};
    uint64_t day = tsv_u64(t, fields[4]);
    if (day > UINT16_MAX)
        tsv_fail(t, "a day");
    return want(g, part->stack, t->failed ? 0 : day);
}

static bool parts_read(struct getting *g)
{
    struct buf text = {0};
    buf_puts(&text, "SELECT service, program, item, sum(weight) AS spent, "
                    "toUInt16(max(day))");
    where_put(&text, g->f, g->q, FLEET_STACK);
    buf_printf(&text, " GROUP BY service, program, item ORDER BY spent DESC, item LIMIT %d",
               g->q->fold ? STACKS_MOST : STACKS_OF_FILE);
    bool ok = where_rows(g->f, &text, 5, part_take, g, g->e);
    buf_free(&text);
    return ok;
}

static bool stack_take(void *context, struct tsv *t, char **fields)
{
    return words_stack(&((struct getting *)context)->words, t, fields);
}

static bool frame_take(void *context, struct tsv *t, char **fields)
{
    struct getting *g = context;
    return words_frame(&g->words, &g->to, t, fields);
}

/* From wanted[at] on: those of one day, as far as they go into one statement. */
static size_t run_of(const struct getting *g, size_t at)
{
    size_t end = at;
    while (end < g->wanted_count && end < at + NUMBERS_MOST &&
           g->wanted[end].day == g->wanted[at].day)
        end++;
    return end;
}

/* Rows of what is wanted, a statement a day and more where it is much. */
static bool wanted_read(struct getting *g, const char *columns, const char *table, unsigned count,
                        bool (*take)(void *context, struct tsv *t, char **fields))
{
    bool ok = true;
    wanted_settle(g);
    if (g->wanted_count)
        qsort(g->wanted, g->wanted_count, sizeof *g->wanted, compare_days);
    for (size_t at = 0; ok && at < g->wanted_count;) {
        struct buf text = {0};
        char day[BATCH_DAY_SIZE];
        size_t first = at, end = run_of(g, at);
        batch_day(day, g->wanted[at].day);
        buf_printf(&text, "SELECT %s FROM %s.%s WHERE day = '%s' AND id IN (", columns,
                   fleet_database(g->f), table, day);
        for (; at < end; at++) {
            buf_puts(&text, at == first ? "" : ",");
            buf_put_decimal(&text, g->wanted[at].number);
        }
        buf_puts(&text, ") LIMIT 1 BY id");
        ok = where_rows(g->f, &text, count, take, g, g->e);
        buf_free(&text);
    }
    return ok;
}

static bool frames_want(struct getting *g)
{
    bool ok = true;
    size_t stacks = g->wanted_count;
    struct wanted *of = g->wanted;
    g->wanted = NULL;
    g->wanted_count = g->wanted_capacity = 0;
    for (size_t i = 0; ok && i < stacks; i++) {
        uint64_t depth;
        const uint64_t *path = words_stack_of(&g->words, of[i].number, &depth);
        for (uint64_t k = 0; ok && path && k < depth; k++)
            ok = want(g, path[k], of[i].day);
        if (g->wanted_count > (size_t)STACKS_OF_FILE * 16)
            wanted_settle(g);
    }
    free(of);
    return ok;
}

static bool words_read(struct getting *g)
{
    return wanted_read(g, "id, frames", "stacks", WORDS_STACK_FIELDS, stack_take) &&
           frames_want(g) &&
           wanted_read(g, "id, kind, build_id, path, at, start, function, guessed", "frames",
                       WORDS_FRAME_FIELDS, frame_take);
}

/* ---- trees ---- */

static bool place_take(struct getting *g, const struct profile_node *n, uint32_t name)
{
    uint32_t *slot = answer_place(&g->to, n->image, n->offset);
    if (!slot || *slot)
        return slot;
    const struct answer_place place = {.image = n->image, .offset = n->offset, .name = name};
    return answer_place_fill(&g->to, slot, &place);
}

/* The node of a frame below another one; UINT32_MAX without memory. */
static uint32_t node_take(struct getting *g, struct group *group, uint32_t above, uint64_t number)
{
    static const struct word_frame unknown = {.offset = KEY_UNATTRIBUTED, .name = UINT32_MAX,
                                              .image = PROFILE_IMAGE_PSEUDO};
    const struct word_frame *f = words_frame_of(&g->words, number);
    f = f ? f : &unknown;
    bool folds = g->q->fold && f->name != UINT32_MAX && f->start;
    const struct profile_node n = {.image = f->image, .guessed = f->guessed && !folds,
                                   .offset = folds ? f->start : f->offset};
    uint32_t before = group->tree.count, at = tree_sum_node(&group->tree, above, &n);
    bool ok = at != UINT32_MAX && (at != before || f->name == UINT32_MAX ||
                                   place_take(g, &n, f->name));
    return ok ? at : UINT32_MAX;
}

static bool weight_add(struct group *group, uint32_t node, uint64_t weight)
{
    if (node == UINT32_MAX)
        return false;
    group->tree.nodes[node].self = add_saturated(group->tree.nodes[node].self, weight);
    return true;
}

/* What is not among the heaviest stacks, or whose stack is not there yet. */
static bool rest_add(struct group *group, uint64_t weight)
{
    static const struct profile_node folded = {.image = PROFILE_IMAGE_PSEUDO, .offset = KEY_FOLDED};
    return !weight || weight_add(group, tree_sum_node(&group->tree, 0, &folded), weight);
}

static bool trees_make(struct getting *g)
{
    uint64_t *left = calloc((size_t)g->to.group_count + 1, sizeof *left);
    bool ok = left;
    for (uint32_t i = 0; ok && i < g->to.group_count; i++)
        left[i] = g->to.groups[i].totals.weight;
    for (size_t i = 0; ok && i < g->part_count; i++) {
        const struct part *part = &g->parts[i];
        struct group *group = &g->to.groups[part->group];
        uint64_t depth;
        const uint64_t *path = words_stack_of(&g->words, part->stack, &depth);
        /* Of what came between two statements the totals know nothing. */
        uint64_t weight = part->weight < left[part->group] ? part->weight : left[part->group];
        uint32_t node = group->tree.count ? 0 : UINT32_MAX;
        if (!path || !weight || !group->tree.count)
            continue;
        left[part->group] -= weight;
        for (uint64_t k = 0; node != UINT32_MAX && k < depth; k++)
            node = node_take(g, group, node, path[k]);
        ok = weight_add(group, node, weight);
    }
    for (uint32_t i = 0; ok && i < g->to.group_count; i++)
        ok = !g->to.groups[i].tree.count || rest_add(&g->to.groups[i], left[i]);
    free(left);
    return ok || no_memory(g);
}

/* ---- the profile ---- */

struct profile *fleet_get(struct fleet *f, const struct store_query *q, struct store_range *range,
                          struct err *e)
{
    static const struct answer_source source = {
        "a fleet's store", "call paths that are not among the heaviest ones: they are below "
                           "[folded], and totals of all other functions may be too low by as much"};
    struct getting g = {.f = f, .q = q, .e = e};
    struct fleet_found found;
    struct profile *p = NULL;
    bool ok = fleet_find(f, q, &found, e) && symbols_look(f, e);
    *range = found.range;
    if (ok && !range->slots)
        ok = err_set(e, ERR_NOT_FOUND, "the store has nothing of this range (daemons send "
                                       "intervals when they are over)");
    g.unit_us = found.period_us;
    ok = ok && (answer_init(&g.to) || no_memory(&g)) && groups_read(&g) && cuts_read(&g) &&
         parts_read(&g) && words_read(&g) &&
         (!fleet_has_symbols(f) || symbols_name(f, &g.words, &g.to, e)) && trees_make(&g);
    g.to.unit_ns = g.unit_us * FLEET_UNIT_NS;
    if (ok)
        p = answer_finish(&g.to, &source, range, found.cpus, e);
    answer_fini(&g.to);
    words_fini(&g.words);
    free(g.parts);
    free(g.wanted);
    return p;
}

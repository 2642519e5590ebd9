/* The order in which a linker should lay out functions, one line each (export/affinity.h):
 *
 *     order            SYMBOL          lld --symbol-ordering-file, and others that take symbols
 *     order-sections   .text.SYMBOL    gold --section-ordering-file, of what was compiled with
 *                                      -ffunction-sections
 *
 * What was not executed is in no line: linkers put it behind. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"
#include "export/affinity.h"
#include "export/export.h"
#include "export/list.h"

/* A function on its way to its line. */
struct line {
    const char *name;
    uint32_t length; /* of the name, without the version that dynamic symbols bear */
    uint32_t rank;   /* its place in the order */
};

struct lines {
    struct line *list;
    uint32_t count;
    uint32_t shared; /* functions whose name another one in the order has, too */
    uint32_t odd;    /* whose names no line can hold */
};

static int compare_names(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    uint32_t shorter = x->length < y->length ? x->length : y->length;
    int order = memcmp(x->name, y->name, shorter);
    if (!order)
        order = list_compare(x->length, y->length);
    return order ? order : list_compare(x->rank, y->rank);
}

static int compare_ranks(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    return list_compare(x->rank, y->rank);
}

static bool fits_a_line(const struct line *line)
{
    for (uint32_t i = 0; i < line->length; i++)
        if ((uint8_t)line->name[i] <= ' ' || line->name[i] == '#')
            return false;
    return line->length;
}

/* Linkers take all functions of a name for one: the name's place is that of the first of them. */
static bool lines_make(struct lines *lines, const struct affinity *a)
{
    uint32_t *order = affinity_order(a), kept = 0;
    *lines = (struct lines){ .list = calloc((size_t)a->function_count + 1, sizeof *lines->list) };
    for (uint32_t i = 0; order && lines->list && i < a->function_count; i++) {
        const char *name = a->functions[order[i]].name;
        struct line line = { name, (uint32_t)strcspn(name, "@"), i };
        if (fits_a_line(&line))
            lines->list[lines->count++] = line;
        else
            lines->odd++;
    }
    free(order);
    if (!order || !lines->list)
        return false;
    if (lines->count)
        qsort(lines->list, lines->count, sizeof *lines->list, compare_names);
    for (uint32_t i = 0; i < lines->count; i++) {
        struct line *last = kept ? &lines->list[kept - 1] : NULL, *line = &lines->list[i];
        if (last && last->length == line->length && !memcmp(last->name, line->name, line->length))
            lines->shared++;
        else
            lines->list[kept++] = *line;
    }
    lines->count = kept;
    if (kept)
        qsort(lines->list, kept, sizeof *lines->list, compare_ranks);
    return true;
}

static void put_symbol(struct buf *out, const struct line *line)
{
    buf_put(out, line->name, line->length);
    buf_put_u8(out, '\n');
}

/* Under the names that gcc and clang give to sections of functions; a cold part has a section of
 * its own, which bears the function's name. */
static void put_sections(struct buf *out, const struct line *line)
{
    static const char *const prefixes[] = { ".text.", ".text.hot.", ".text.startup.",
                                            ".text.exit." };
    static const char cold[] = ".cold";
    uint32_t tail = sizeof cold - 1;
    struct line whole = *line;
    if (line->length > tail && !memcmp(line->name + line->length - tail, cold, tail)) {
        whole.length -= tail;
        buf_puts(out, ".text.unlikely.");
        put_symbol(out, &whole);
        return;
    }
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        buf_puts(out, prefixes[i]);
        put_symbol(out, line);
    }
}

static bool find(struct affinity *a, const struct binary *b, struct buf *remarks, struct err *e)
{
    struct transfers t;
    *a = (struct affinity){ 0 };
    if (!transfers_known(b->profile, true)) {
        affinity_of_trees(a, b);
        if (!a->failed && !a->function_count && !a->unnamed && observed_code(b->profile))
            return transfers_find(&t, b, true, e); /* it says what is missing */
        if (!observation_of(&b->profile->observations, OBSERVED_CALLS))
            buf_puts(remarks, "of sampled call paths: --tool edges counts calls\n");
    } else if (transfers_find(&t, b, true, e)) {
        affinity_of_transfers(a, b, &t);
        transfers_remark(&t, b, remarks);
        transfers_fini(&t);
    } else {
        return false;
    }
    if (!a->failed)
        return true;
    affinity_fini(a);
    return err_set(e, ERR_INTERNAL, "cannot order functions: out of memory");
}

static void remark(const struct affinity *a, const struct lines *lines, const char *path,
                   struct export_result *result)
{
    uint64_t heat = 0, calls = 0;
    for (uint32_t i = 0; i < a->function_count; i++)
        heat = add_saturated(heat, a->functions[i].heat);
    for (uint32_t i = 0; i < a->call_count; i++)
        calls = add_saturated(calls, a->calls[i].count);
    result->samples = add_saturated(heat, calls);
    buf_printf(&result->remarks, "of %s: %" PRIu32 " functions by %" PRIu32 " pairs of caller and "
               "callee\n", path, lines->count, a->call_count);
    if (a->unnamed)
        buf_printf(&result->remarks, "left out: %.1f%% of what was executed, in code without a "
                   "symbol%s\n", 100.0 * (double)a->unnamed / ((double)a->unnamed + (double)heat),
                   heat ? "" : " (--image names a file of the same build that is not stripped)");
    if (lines->shared)
        buf_printf(&result->remarks, "%" PRIu32 " more functions have the name of another one: "
                   "linkers place all of a name together\n", lines->shared);
    if (lines->odd)
        buf_printf(&result->remarks, "left out: %" PRIu32 " functions whose names no line can "
                   "hold\n", lines->odd);
}

static bool export_order_as(const struct profile *p, const struct export_options *options,
                            void (*put)(struct buf *, const struct line *), struct buf *out,
                            struct export_result *result, struct err *e)
{
    struct binary b;
    struct affinity a;
    struct lines lines;
    *result = (struct export_result){ 0 };
    if (!binary_open(&b, p, options->image, &result->remarks, e))
        return false;
    bool ok = find(&a, &b, &result->remarks, e);
    if (ok) {
        ok = lines_make(&lines, &a);
        for (uint32_t i = 0; ok && i < lines.count; i++)
            put(out, &lines.list[i]);
        if (ok)
            remark(&a, &lines, p->images[b.image].path, result);
        free(lines.list);
        affinity_fini(&a);
        ok = (ok && buf_ok(out)) ||
             err_set(e, ERR_INTERNAL, "cannot order functions: out of memory");
    }
    binary_close(&b);
    return ok;
}

bool export_order(const struct profile *p, const struct symbols *s,
                  const struct export_options *options, struct buf *out,
                  struct export_result *result, struct err *e)
{
    (void)s;
    return export_order_as(p, options, put_symbol, out, result, e);
}

bool export_order_sections(const struct profile *p, const struct symbols *s,
                           const struct export_options *options, struct buf *out,
                           struct export_result *result, struct err *e)
{
    (void)s;
    return export_order_as(p, options, put_sections, out, result, e);
}

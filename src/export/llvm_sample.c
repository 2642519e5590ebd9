/* The text form of LLVM's sample profiles (LLVM, llvm/ProfileData/SampleProfWriter.h), as
 * `clang -fprofile-sample-use` and llvm-profdata read it:
 *
 *     FUNCTION:TOTAL:HEAD
 *      LINE[.DISCRIMINATOR]: COUNT [CALLED:COUNT ...]
 *      LINE[.DISCRIMINATOR]: INLINED:TOTAL
 *       ...                                            one blank more
 *
 * LINE is counted from the function's declaration on.
 *
 * With calling contexts (CSSPGO), where nothing is nested, and a total is without what is called:
 *
 *     [OUTERMOST:LINE[.DISCRIMINATOR] @ ... @ FUNCTION]:TOTAL:HEAD
 *      LINE[.DISCRIMINATOR]: COUNT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"
#include "export/export.h"
#include "export/list.h"
#include "export/source_profile.h"

static void put_number(struct buf *out, uint32_t line, uint32_t discriminator)
{
    buf_put_decimal(out, line);
    if (discriminator)
        buf_printf(out, ".%" PRIu32, discriminator);
}

static void put_place(struct buf *out, uint32_t depth, uint32_t line, uint32_t discriminator)
{
    for (uint32_t i = 0; i < depth; i++)
        buf_put_u8(out, ' ');
    put_number(out, line, discriminator);
    buf_puts(out, ": ");
}

static void put_lines(struct buf *out, const struct source_profile *s, uint32_t function,
                      uint32_t depth)
{
    uint32_t lines, targets;
    const struct source_line *line = source_lines(s, function, &lines);
    for (; lines--; line++) {
        const struct source_target *target = source_targets(s, line->id, &targets);
        put_place(out, depth, line->line, line->discriminator);
        buf_put_decimal(out, line->count);
        for (; targets--; target++)
            buf_printf(out, " %s:%" PRIu64, source_name(s, target->name), target->count);
        buf_put_u8(out, '\n');
    }
}

/* As deep as calls are inlined into each other, which source_profile.c bounds. */
static void put_body(struct buf *out, const struct source_profile *s, uint32_t function,
                     uint32_t depth)
{
    uint32_t inlined;
    put_lines(out, s, function, depth);
    const struct source_function *f = source_inlined(s, function, &inlined);
    for (; inlined--; f++) {
        if (!f->total)
            continue;
        put_place(out, depth, f->line, f->discriminator);
        buf_printf(out, "%s:%" PRIu64 "\n", source_name(s, f->name), f->total);
        put_body(out, s, f->id, depth + 1);
    }
}

static int compare_totals(const void *a, const void *b, void *context)
{
    const struct source_function *const *x = a, *const *y = b;
    const struct source_profile *s = context;
    int order = list_compare((*y)->total, (*x)->total);
    return order ? order : strcmp(source_name(s, (*x)->name), source_name(s, (*y)->name));
}

static bool put_functions(struct buf *out, struct source_profile *s)
{
    uint32_t count;
    const struct source_function *first = source_inlined(s, SOURCE_NONE, &count);
    const struct source_function **order = calloc((size_t)count + 1, sizeof *order);
    for (uint32_t i = 0; order && i < count; i++)
        order[i] = &first[i];
    if (order)
        qsort_r(order, count, sizeof *order, compare_totals, s);
    for (uint32_t i = 0; order && i < count; i++) {
        buf_printf(out, "%s:%" PRIu64 ":%" PRIu64 "\n", source_name(s, order[i]->name),
                   order[i]->total, order[i]->head);
        put_body(out, s, order[i]->id, 1);
    }
    free(order);
    return order && buf_ok(out);
}

bool export_llvm_sample(const struct profile *p, const struct symbols *symbols,
                        const struct export_options *options, struct buf *out,
                        struct export_result *result, struct err *e)
{
    (void)symbols;
    return source_profile_export(p, options, SOURCE_FUNCTIONS, put_functions, out, result, e);
}

/* ---- calling contexts ---- */

/* A function's callers, outermost first, each with the place of its call. `by_id`: functions by
 * id; as deep as contexts are, which source_profile.c bounds. */
static void put_callers(struct buf *out, const struct source_profile *s,
                        const struct source_function *const *by_id,
                        const struct source_function *f)
{
    if (f->parent == SOURCE_NONE)
        return;
    const struct source_function *caller = by_id[f->parent];
    put_callers(out, s, by_id, caller);
    buf_printf(out, "%s:", source_name(s, caller->name));
    put_number(out, f->line, f->discriminator);
    buf_puts(out, " @ ");
}

static bool put_contexts(struct buf *out, struct source_profile *s)
{
    uint32_t greatest = 0, lines;
    for (uint32_t i = 0; i < s->function_count; i++)
        greatest = s->functions[i].id > greatest ? s->functions[i].id : greatest;
    const struct source_function **by_id = calloc((size_t)greatest + 1, sizeof *by_id);
    for (uint32_t i = 0; by_id && i < s->function_count; i++)
        by_id[s->functions[i].id] = &s->functions[i];
    for (uint32_t i = 0; by_id && i < s->function_count; i++) {
        const struct source_function *f = &s->functions[i];
        const struct source_line *line = source_lines(s, f->id, &lines);
        uint64_t total = 0;
        for (uint32_t k = 0; k < lines; k++)
            total = add_saturated(total, line[k].count);
        if (!lines)
            continue;
        buf_put_u8(out, '[');
        put_callers(out, s, by_id, f);
        buf_printf(out, "%s]:%" PRIu64 ":%" PRIu64 "\n", source_name(s, f->name), total, f->head);
        put_lines(out, s, f->id, 1);
    }
    free(by_id);
    return by_id && buf_ok(out);
}

bool export_llvm_contexts(const struct profile *p, const struct symbols *symbols,
                          const struct export_options *options, struct buf *out,
                          struct export_result *result, struct err *e)
{
    (void)symbols;
    return source_profile_export(p, options, SOURCE_CONTEXTS, put_contexts, out, result, e);
}

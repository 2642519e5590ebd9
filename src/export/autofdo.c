/* The profile of `gcc -fauto-profile` (GCC, gcc/auto-profile.cc), version 2, in the words of GCC
 * 12: little-endian, numbers of 4 bytes, counts of 8.
 *
 *     "adcg" 2 0
 *     0xaa000000 bytes   strings: how many, each as bytes and contents with zeros at the end
 *     0xac000000 bytes   functions: how many, each as head and INSTANCE
 *     0xae000000 bytes   modules: 0
 *
 *     INSTANCE  name, lines, inlined calls
 *         line          PLACE, targets, count; a target is a kind, name and count, both of 8 bytes
 *         inlined call  PLACE, INSTANCE
 *
 *     PLACE  line << 16 | discriminator, line from the function's declaration on
 *
 * GCC 12 does not look at a line's discriminators, and takes the last of its counts: the greatest
 * comes last. */
#include <inttypes.h>
#include <stdlib.h>

#include "export/export.h"
#include "export/list.h"
#include "export/source_profile.h"

enum {
    VERSION = 2,
    MAGIC = 0x67636461,
};

static const uint32_t tag_names = 0xaa000000, tag_functions = 0xac000000, tag_modules = 0xae000000;

static uint32_t place(uint32_t line, uint32_t discriminator)
{
    return line << 16 | (discriminator & 0xffff);
}

/* The first string is nobody's: gcc takes 0 for no name. */
static uint32_t number_of(uint32_t name)
{
    return name + 1;
}

static void put_string(struct buf *out, const char *string, uint32_t size)
{
    uint32_t padded = (size + 4) & ~3U;
    buf_put_u32(out, padded);
    buf_put(out, string, size);
    for (; size < padded; size++)
        buf_put_u8(out, 0);
}

static void put_names(struct buf *out, const struct source_profile *s)
{
    buf_put_u32(out, number_of(s->names.count));
    put_string(out, "", 0);
    for (uint32_t i = 0; i < s->names.count; i++)
        put_string(out, source_name(s, i), s->names.entries[i].size);
}

/* Of direct calls gcc knows the target. */
static void put_line(struct buf *out, const struct source_profile *s,
                     const struct source_line *line)
{
    uint32_t count, indirect = 0;
    const struct source_target *targets = source_targets(s, line->id, &count);
    for (uint32_t i = 0; i < count; i++)
        indirect += targets[i].indirect;
    buf_put_u32(out, place(line->line, line->discriminator));
    buf_put_u32(out, indirect);
    buf_put_u64(out, line->count);
    for (uint32_t i = 0; i < count; i++) {
        if (!targets[i].indirect)
            continue;
        buf_put_u32(out, 0); /* its kind: nobody reads it */
        buf_put_u64(out, number_of(targets[i].name));
        buf_put_u64(out, targets[i].count);
    }
}

/* As deep as calls are inlined into each other, which source_profile.c bounds. */
static void put_instance(struct buf *out, const struct source_profile *s,
                         const struct source_function *f)
{
    uint32_t lines, inlined;
    const struct source_line *line = source_lines(s, f->id, &lines);
    const struct source_function *call = source_inlined(s, f->id, &inlined);
    buf_put_u32(out, number_of(f->name));
    buf_put_u32(out, lines);
    buf_put_u32(out, inlined);
    for (; lines--; line++)
        put_line(out, s, line);
    for (; inlined--; call++) {
        buf_put_u32(out, place(call->line, call->discriminator));
        put_instance(out, s, call);
    }
}

static void put_functions(struct buf *out, const struct source_profile *s)
{
    uint32_t count;
    const struct source_function *f = source_inlined(s, SOURCE_NONE, &count);
    buf_put_u32(out, count);
    for (; count--; f++) {
        buf_put_u64(out, f->head);
        put_instance(out, s, f);
    }
}

static bool put_section(struct buf *out, uint32_t tag, struct buf *contents)
{
    bool ok = buf_ok(contents) && contents->size <= UINT32_MAX;
    if (ok) {
        buf_put_u32(out, tag);
        buf_put_u32(out, (uint32_t)contents->size);
        buf_put(out, contents->data, contents->size);
    }
    buf_free(contents);
    return ok;
}

static int compare_counts(const void *a, const void *b)
{
    const struct source_line *x = a, *y = b;
    int order = list_compare(x->function, y->function);
    if (!order)
        order = list_compare(x->line, y->line);
    return order ? order : list_compare(x->count, y->count);
}

static bool put_all(struct buf *out, struct source_profile *s)
{
    struct buf names = { 0 }, functions = { 0 }, modules = { 0 };
    qsort(s->lines, s->line_count, sizeof *s->lines, compare_counts);
    buf_put_u32(out, MAGIC);
    buf_put_u32(out, VERSION);
    buf_put_u32(out, 0);
    put_names(&names, s);
    put_functions(&functions, s);
    buf_put_u32(&modules, 0);
    bool ok = put_section(out, tag_names, &names);
    ok = put_section(out, tag_functions, &functions) && ok;
    return put_section(out, tag_modules, &modules) && ok && buf_ok(out);
}

bool export_autofdo(const struct profile *p, const struct symbols *symbols,
                    const struct export_options *options, struct buf *out,
                    struct export_result *result, struct err *e)
{
    (void)symbols;
    return source_profile_export(p, options, SOURCE_FUNCTIONS, put_all, out, result, e);
}

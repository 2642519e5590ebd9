#include "report/annotate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/saturate.h"
#include "profile/simulate.h"
#include "profile/table/table.h"
#include "report/annotate_inlined.h"
#include "report/annotate_kernel.h"
#include "report/sources.h"
#include "report/text.h"
#include "symbols/code.h"
#include "x86/format.h"

enum { LISTED = 8, LIST_SIZE = 800, NAME_SIZE = 200, NAME_COLUMNS = 60 };

/* ---- which function ---- */

struct place {
    uint32_t image;
    uint64_t address;        /* in the function */
    char others[LIST_SIZE]; /* that the pattern names, too */
};

static bool find_image(const struct view *v, const char *name, size_t length, uint32_t *image)
{
    for (uint32_t i = 0; i < v->profile->image_count; i++) {
        const char *known = symbols_image_name(v->symbols, i), *path = v->profile->images[i].path;
        if ((strlen(known) == length && !memcmp(known, name, length)) ||
            (strlen(path) == length && !memcmp(path, name, length))) {
            *image = i;
            return true;
        }
    }
    return false;
}

/* "image+0xoffset". */
static bool find_place(const struct view *v, const char *pattern, struct place *out)
{
    const char *plus = strrchr(pattern, '+');
    char *end;
    if (!plus || strncmp(plus, "+0x", 3) != 0)
        return false;
    out->address = strtoull(plus + 1, &end, 16);
    return !*end && plus[3] && find_image(v, pattern, (size_t)(plus - pattern), &out->image);
}

/* The first of those chosen. Long names are shortened: what tells them apart is the place. */
static void list_chosen(const struct view *v, const bool *chosen, char *out, size_t size)
{
    static const struct report_style style;
    uint32_t listed = 0;
    out[0] = out[size - 1] = 0;
    FILE *list = fmemopen(out, size - 1, "w");
    for (uint32_t i = 0; list && i < v->function_count; i++) {
        const struct view_function *f = &v->functions[i];
        if (!chosen[i])
            continue;
        fputs(listed ? ", " : "", list);
        if (listed++ == LISTED) {
            fputs("...", list);
            break;
        }
        text_function(list, &style, f->name, NAME_COLUMNS);
        fprintf(list, " (%s+0x%" PRIx64 ")", f->image_name, f->start);
    }
    if (list)
        fclose(list);
}

static bool fail_ambiguous(const struct view *v, const bool *chosen, const char *pattern,
                           uint32_t count, struct err *e)
{
    char list[LIST_SIZE];
    list_chosen(v, chosen, list, sizeof list);
    return err_set(e, ERR_USAGE,
                   "%" PRIu32 " functions of this profile are named or match \"%s\": %s;"
                   " name one, or give its image+0xoffset",
                   count, pattern, list);
}

/* Of functions and their clones the one that has the very name is meant: *at, and no longer in
 * `chosen`. */
static bool take_whole(const struct view *v, bool *chosen, const char *pattern, uint32_t *at)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < v->function_count; i++)
        if (chosen[i] && view_is_whole_name(v->functions[i].name, pattern)) {
            *at = i;
            count++;
        }
    if (count == 1)
        chosen[*at] = false;
    return count == 1;
}

/* Of several, those that only call others are not meant, and neither is what stands for no code. */
static uint32_t keep_counted(const struct view *v, bool *chosen)
{
    uint32_t all = 0, counted = 0;
    for (uint32_t i = 0; i < v->function_count; i++) {
        chosen[i] = chosen[i] && v->functions[i].image != PROFILE_IMAGE_PSEUDO;
        all += chosen[i];
        counted += chosen[i] && v->functions[i].self;
    }
    for (uint32_t i = 0; counted && i < v->function_count; i++)
        chosen[i] = chosen[i] && v->functions[i].self;
    return counted ? counted : all;
}

/* A function of which nothing but values was sampled is in no tree. */
static bool find_observed(const struct view *v, const char *pattern,
                          const struct symbols_options *options, struct place *out)
{
    const struct profile_values *values = observed_values(v->profile);
    struct value_reader *r = value_reader_new(v, options);
    bool found = false, whole = false;
    for (uint32_t i = 0; r && !whole && i < values->hotlist_count; i++) {
        char name[NAME_SIZE];
        if (values->hotlists[i].image >= v->profile->image_count &&
            !annotate_is_kernel(v, values->hotlists[i].image, values->hotlists[i].offset))
            continue;
        value_function(r, values->hotlists[i].image, values->hotlists[i].offset, name, sizeof name);
        size_t length = strcspn(name, "(");
        whole = name[0] && view_is_whole_name(name, pattern);
        if (!whole &&
            (found || !name[0] || strlen(pattern) != length || memcmp(name, pattern, length) != 0))
            continue;
        found = true;
        out->image = values->hotlists[i].image;
        out->address = values->hotlists[i].offset;
    }
    value_reader_free(r);
    return found;
}

struct named {
    const struct view *view;
    const char *pattern;
    struct place *place;
    bool found;
};

static bool place_named(struct named *n, const struct site_place *at)
{
    const struct profile *p = n->view->profile;
    if (*at->image >= p->image_count)
        return true;
    struct symbol_location where =
        symbols_find(n->view->symbols, &p->processes[*at->process], *at->image, at->offset);
    n->found = view_is_whole_name(where.frames[where.count - 1].function, n->pattern);
    n->place->image = *at->image;
    n->place->address = at->offset;
    return !n->found;
}

static bool visit_named(void *data, const struct profile_site *site)
{
    bool on = true;
    for (uint32_t i = 0; on && i < site->count; i++)
        on = place_named(data, &site->of[i]);
    return on;
}

/* Nor is one that only a tool's table is about. */
static bool find_in_tables(const struct view *v, const char *pattern, struct place *out)
{
    struct named n = {v, pattern, out, false};
    const struct observations *all = &v->profile->observations;
    for (uint32_t i = 0; i < all->count && !n.found; i++)
        if (all->list[i].kind >= OBSERVED_TABLES)
            profile_sites_of(&all->list[i], visit_named, &n);
    return n.found;
}

static bool find_function(const struct view *v, const char *pattern,
                          const struct symbols_options *options, struct place *out, struct err *e)
{
    uint32_t count = 0, at = 0;
    if (find_place(v, pattern, out))
        return true;
    bool *chosen = view_match(v, pattern, &count, e);
    if (!chosen)
        return false;
    count = keep_counted(v, chosen);
    if (!count && (find_observed(v, pattern, options, out) || find_in_tables(v, pattern, out))) {
        free(chosen);
        return true;
    }
    for (uint32_t i = 0; i < v->function_count; i++)
        at = chosen[i] ? i : at;
    bool whole = count > 1 && take_whole(v, chosen, pattern, &at), ok = count == 1 || whole;
    if (whole)
        list_chosen(v, chosen, out->others, sizeof out->others);
    else if (count > 1)
        fail_ambiguous(v, chosen, pattern, count, e);
    else if (!count && !annotate_find_inlined(v->profile, pattern, options, e))
        err_set(e, ERR_USAGE, "no function with counts in this profile is named or matches \"%s\"; "
                "penumbra report --no-inline --min 0 --limit 0 lists them all, and a place can be "
                "given as image+0xoffset", pattern);
    free(chosen);
    if (!ok)
        return false;
    out->image = v->functions[at].image;
    out->address = v->functions[at].start;
    if (out->image < v->profile->image_count || annotate_is_kernel(v, out->image, out->address))
        return true;
    return err_set(e, ERR_USAGE,
                   "\"%s\" has no code in a file: it was made while the program ran, or "
                   "stands for what could not be attributed",
                   v->functions[at].name);
}

/* ---- counts ---- */

/* counts[i] for the byte start + i. */
static void count_samples(const struct profile *p, uint32_t image, const struct code_function *f,
                          uint64_t *counts)
{
    for (uint32_t t = 0; t < p->thread_count; t++)
        for (uint32_t i = 0; i < p->threads[t].node_count; i++) {
            const struct profile_node *n = &p->threads[t].nodes[i];
            if (n->image == image && n->offset >= f->start && n->offset < f->end)
                counts[n->offset - f->start] =
                    add_saturated(counts[n->offset - f->start], n->self);
        }
}

static void count_blocks(const struct profile_counts *c, uint32_t image,
                         const struct code_function *f, uint64_t *counts)
{
    for (uint32_t i = 0; i < c->block_count; i++) {
        const struct profile_block *b = &c->blocks[i];
        uint64_t end = add_saturated(b->offset, b->bytes);
        if (b->image != image || b->offset >= f->end || end <= f->start)
            continue;
        /* What begins here, and modulo 2^64 what ends: the running sum is what each byte has. */
        counts[b->offset > f->start ? b->offset - f->start : 0] += b->count;
        counts[end < f->end ? end - f->start : f->end - f->start] -= b->count;
    }
    for (uint64_t at = 1; at < f->end - f->start; at++)
        counts[at] += counts[at - 1];
}

static void count_cycles(const struct profile *p, uint32_t image, const struct code_function *f,
                         uint64_t *counts)
{
    const struct profile_simulated *s = observed_table(p, TABLE_SIMULATE);
    for (uint32_t i = 0; i < s->count; i++) {
        const struct profile_cost *c = &s->list[i];
        if (c->image == image && c->offset >= f->start && c->offset < f->end)
            counts[c->offset - f->start] = cost_whole_cycles(cost_parts(&c->cost));
    }
}

/* Samples of an instruction are those of all its bytes; other counts those of its first. */
static void take_counts(struct annotation *a, const uint64_t *counts)
{
    for (uint32_t i = 0; i < a->line_count; i++) {
        struct annotation_line *l = &a->lines[i];
        uint64_t at = l->address - a->start;
        l->count = counts[at];
        for (uint32_t k = 1; a->unit == ANNOTATION_SAMPLES && k < l->bytes; k++)
            l->count = add_saturated(l->count, counts[at + k]);
        a->total = add_saturated(a->total, l->count);
    }
}

static struct annotation_line *line_at(const struct annotation *a, uint64_t address)
{
    uint32_t at = ARRAY_LEADING(a->line_count, i, a->lines[i].address < address);
    return at < a->line_count && a->lines[at].address == address ? &a->lines[at] : NULL;
}

static void take_edges(struct annotation *a, const struct profile_counts *c, uint32_t image)
{
    for (uint32_t i = 0; i < c->edge_count; i++) {
        const struct profile_edge *edge = &c->edges[i];
        struct annotation_line *l =
            edge->from_image == image ? line_at(a, edge->from) : NULL;
        if (!l)
            continue;
        bool next = edge->to_image == image && edge->to == l->address + l->bytes;
        l->is_branch = true;
        l->left = add_saturated(l->left, edge->count);
        l->taken = add_saturated(l->taken, next ? 0 : edge->count);
    }
}

/* ---- code ---- */

struct namer {
    struct code *code;
    const struct code_function *function;
};

/* "<+0x1f>" in the function itself, "name" or "name+0x1f" outside. */
static bool name_address(void *arg, uint64_t address, char *out, size_t size)
{
    const struct namer *n = arg;
    struct code_function f;
    const char *stub = code_stub(n->code, address);
    if (stub) {
        snprintf(out, size, "%.*s@plt", NAME_SIZE, stub);
        return true;
    }
    if (address >= n->function->start && address < n->function->end) {
        snprintf(out, size, "<+0x%" PRIx64 ">", address - n->function->start);
        return true;
    }
    if (!code_function(n->code, address, &f) || !f.name[0])
        return false;
    if (address == f.start)
        snprintf(out, size, "%.*s", NAME_SIZE, f.name);
    else
        snprintf(out, size, "%.*s+0x%" PRIx64, NAME_SIZE, f.name, address - f.start);
    return true;
}

static bool add_line(struct annotation *a, uint32_t *capacity, struct code *code,
                     struct annotation_line line, const char *text)
{
    const char *file, *directory;
    if (a->line_count == *capacity) {
        uint32_t more = *capacity ? *capacity * 2 : 256;
        struct annotation_line *lines = reallocarray(a->lines, more, sizeof *lines);
        if (!lines)
            return false;
        a->lines = lines;
        *capacity = more;
    }
    line.file = line.source = "";
    if (code_line(code, line.address, &file, &directory, &line.line)) {
        line.file = sources_path(a->sources, directory, file);
        line.source = sources_line(a->sources, line.file, line.line);
    }
    line.text = strdup(text);
    a->lines[a->line_count++] = line;
    return line.text != NULL;
}

static bool disassemble(struct annotation *a, struct code *code, const struct code_function *f,
                        struct err *e)
{
    size_t available = 0;
    uint32_t capacity = 0;
    char text[X86_TEXT_SIZE];
    struct namer namer = {code, f};
    const uint8_t *bytes = code_bytes(code, f->start, &available);
    if (!bytes)
        return err_set(e, ERR_FORMAT, "there is no code at 0x%" PRIx64 " of %s", f->start,
                       a->image);
    uint64_t size = a->end - a->start;
    size = size < available ? size : available;
    a->end = a->start + size;
    for (uint64_t at = 0; at < size;) {
        unsigned n = x86_format(bytes + at, size - at, f->start + at, name_address, &namer, text,
                                sizeof text);
        struct annotation_line line = {
            .address = f->start + at, .place = f->start + at, .bytes = n ? n : 1};
        if (!add_line(a, &capacity, code, line, text))
            return err_set(e, ERR_INTERNAL, "cannot annotate %s: out of memory", a->function);
        at += line.bytes;
    }
    return true;
}

/* As reports have it. */
static char *function_name(const struct code_function *f, const char *image)
{
    char *name;
    if (f->name[0])
        return strdup(f->name);
    return asprintf(&name, "[%s+0x%" PRIx64 "]", image, f->start) < 0 ? NULL : name;
}

/* What a sample finds behind a system call is that the thread has been in the kernel. */
static void find_kernel(struct annotation *a)
{
    for (uint32_t i = 1; a->unit == ANNOTATION_SAMPLES && i < a->line_count; i++) {
        bool behind = a->lines[i].count && !strcmp(a->lines[i - 1].text, "syscall");
        a->lines[i].kernel = behind;
        a->any_kernel |= behind;
    }
}

static bool fill(struct annotation *a, const struct view *v, uint32_t image, struct code *code,
                 const struct code_function *f, struct err *e)
{
    const struct profile_counts *c = observed_code(v->profile);
    uint64_t *counts = calloc((size_t)(f->end - f->start) + 1, sizeof *counts);
    a->image = strdup(symbols_image_name(v->symbols, image));
    a->function = a->image ? function_name(f, a->image) : NULL;
    a->sources = sources_new();
    a->start = f->start;
    a->end = f->end;
    a->unit = c && c->block_count                ? ANNOTATION_EXECUTIONS
              : profile_is_simulated(v->profile) ? ANNOTATION_CYCLES
                                                 : ANNOTATION_SAMPLES;
    bool ok = counts && a->function && a->image && a->sources;
    if (!ok)
        err_set(e, ERR_INTERNAL, "cannot annotate: out of memory");
    ok = ok && disassemble(a, code, f, e);
    if (ok) {
        if (a->unit == ANNOTATION_EXECUTIONS)
            count_blocks(c, image, f, counts);
        else if (a->unit == ANNOTATION_CYCLES)
            count_cycles(v->profile, image, f, counts);
        else
            count_samples(v->profile, image, f, counts);
        take_counts(a, counts);
        find_kernel(a);
        if (c)
            take_edges(a, c, image);
    }
    free(counts);
    return ok;
}

struct annotation *annotate_place(const struct view *v, uint32_t image, uint64_t address,
                                  const struct symbols_options *options, struct err *e)
{
    struct code_function f;
    struct code *code = code_open(&v->profile->images[image], options, e);
    struct annotation *a = code ? calloc(1, sizeof *a) : NULL;
    bool ok = a != NULL;
    if (code && !a)
        err_set(e, ERR_INTERNAL, "cannot annotate: out of memory");
    if (ok && !code_function(code, address, &f))
        ok = err_set(e, ERR_USAGE,
                     "there is no function at 0x%" PRIx64 " of %s: neither a symbol nor "
                     "unwind information covers it",
                     address, symbols_image_name(v->symbols, image));
    if (ok && f.end - f.start > ANNOTATION_BYTES_MAX) {
        f.end = f.start + ANNOTATION_BYTES_MAX;
        a->cut = true;
    }
    if (ok) {
        a->image_index = image;
        a->view = v;
        a->values = value_reader_new(v, options);
    }
    ok = ok && fill(a, v, image, code, &f, e);
    code_close(code);
    if (ok)
        return a;
    annotation_free(a);
    return NULL;
}

struct annotation *annotate(const struct view *v, const char *pattern,
                            const struct symbols_options *options, struct err *e)
{
    struct place place = {.others = ""};
    if (!find_function(v, pattern, options, &place, e))
        return NULL;
    struct annotation *a = place.image == PROFILE_IMAGE_NONE
                               ? annotate_kernel(v, place.address, options, e)
                               : annotate_place(v, place.image, place.address, options, e);
    if (a && place.others[0])
        a->others = strdup(place.others);
    return a;
}

void annotation_free(struct annotation *a)
{
    if (!a)
        return;
    for (uint32_t i = 0; i < a->line_count; i++)
        free(a->lines[i].text);
    free(a->lines);
    free(a->function);
    free(a->image);
    free(a->others);
    sources_free(a->sources);
    value_reader_free(a->values);
    free(a);
}

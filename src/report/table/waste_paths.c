#include "report/table/waste_paths.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/saturate.h"
#include "report/ranked.h"
#include "report/text.h"

enum { ROWS = 3, CALLS = 6, INDENT = 30, NAME = 40, FOLDED_FROM = 1, FOLDED_TO = 2 };

/* The pair's paths, by bytes, most first: to free(). NULL without memory. */
static struct ranked *order_make(const struct profile_waste_paths *w,
                                 const struct profile_waste_pair *pair, uint32_t *count)
{
    uint32_t end, lo = ARRAY_LEADING(w->count, i,
                                     profile_waste_pairs_compare(&w->list[i].pair, pair) < 0);
    for (end = lo; end < w->count; end++)
        if (profile_waste_pairs_compare(&w->list[end].pair, pair) != 0)
            break;
    *count = end - lo;
    struct ranked *order = calloc((size_t)*count + 1, sizeof *order);
    for (uint32_t i = lo; order && i < end; i++)
        order[i - lo] = (struct ranked){w->list[i].pair.bytes, i};
    if (order)
        qsort(order, *count, sizeof *order, compare_ranked);
    return order;
}

/* Instances in whose paths calls are missing. */
static uint64_t folded(const struct profile_waste_paths *w, uint64_t *all)
{
    uint64_t sum = 0;
    *all = 0;
    for (uint32_t i = 0; i < w->count; i++) {
        *all = add_saturated(*all, w->list[i].pair.count);
        sum = add_saturated(sum, w->list[i].folded ? w->list[i].pair.count : 0);
    }
    return sum;
}

static struct symbol_location location_of(const struct view *v, const struct profile_waste_call *c)
{
    return symbols_find(v->symbols, &v->profile->processes[c->process], c->image, c->offset);
}

/* ---- text ---- */

void waste_paths_header(FILE *out, const struct profile_waste *w)
{
    char number[TEXT_NUMBER_SIZE];
    uint64_t all, cut = folded(&w->paths, &all);
    if (!w->paths.kept)
        return;
    fprintf(out, "instances of pairs whose call paths are kept: %s\n", text_count(number, all));
    if (w->paths.evicted)
        fprintf(out, "call paths evicted by more frequent ones: of %s instances\n",
                text_count(number, w->paths.evicted));
    if (w->paths.unknown)
        fprintf(out, "call paths that are not known: of %s instances\n",
                text_count(number, w->paths.unknown));
    if (cut)
        fprintf(out,
                "call paths that lack calls, for want of room (--max-contexts): of %s instances\n",
                text_count(number, cut));
}

/* From the outermost of the last CALLS. */
static void write_path(FILE *out, const struct view *v, const struct report_style *style,
                       const struct profile_waste_paths *w, uint32_t last, bool cut)
{
    const struct profile_waste_call *calls[CALLS];
    unsigned count = 0;
    for (; last && count < CALLS; last = w->calls[last - 1].caller)
        calls[count++] = &w->calls[last - 1];
    fputs(last ? ".. > " : "", out);
    if (!count && !cut)
        fputs("not called, or not known", out);
    for (unsigned i = count; i-- > 0;) {
        struct symbol_location where = location_of(v, calls[i]);
        const struct symbol_frame *frame = &where.frames[where.count - 1];
        text_function(out, style, frame->function, NAME);
        if (frame->line)
            fprintf(out, ":%" PRIu32, frame->line);
        fputs(i ? " > " : "", out);
    }
    fputs(cut ? " > [folded]\n" : "\n", out);
}

bool waste_paths_text(FILE *out, const struct view *v, const struct report_style *style,
                      const struct profile_waste *w, const struct profile_waste_pair *pair)
{
    uint32_t count, rows = 0;
    if (!w->paths.kept)
        return true;
    struct ranked *order = order_make(&w->paths, pair, &count);
    for (; order && rows < count && rows < ROWS; rows++) {
        const struct profile_waste_path *p = &w->paths.list[order[rows].index];
        fprintf(out, "%*.2f%%  ", INDENT, text_share(p->pair.bytes, pair->bytes));
        write_path(out, v, style, &w->paths, p->from, p->folded & FOLDED_FROM);
        fprintf(out, "%*s   ", INDENT, "");
        write_path(out, v, style, &w->paths, p->to, p->folded & FOLDED_TO);
    }
    if (rows < count)
        fprintf(out, "%*s   %" PRIu32 " more paths\n", INDENT, "", count - rows);
    free(order);
    return order;
}

/* ---- JSON ---- */

/* The call with that number, from 1; null: there is none. */
static void json_call(struct json *j, const char *key, uint32_t call)
{
    json_key(j, key);
    if (call)
        json_u64(j, call - 1);
    else
        json_double(j, NAN);
}

void waste_paths_json_calls(struct json *j, const struct view *v, const struct profile_waste *w)
{
    uint64_t all, cut = folded(&w->paths, &all);
    if (!w->paths.kept)
        return;
    json_key(j, "call_paths");
    json_open(j, '{');
    json_key_u64(j, "kept", all);
    json_key_u64(j, "evicted", w->paths.evicted);
    json_key_u64(j, "unknown", w->paths.unknown);
    json_key_u64(j, "folded", cut);
    json_close(j, '}');
    json_key(j, "calls");
    json_open(j, '[');
    for (uint32_t i = 0; i < w->paths.call_count; i++) {
        const struct profile_waste_call *c = &w->paths.calls[i];
        struct symbol_location where = location_of(v, c);
        const struct symbol_frame *frame = &where.frames[where.count - 1];
        json_open(j, '{');
        json_call(j, "caller", c->caller);
        json_key_string(j, "image", symbols_place_name(v->symbols, c->image, c->offset));
        json_key_address(j, "offset", c->offset);
        json_key_string(j, "function", frame->function);
        json_key_string(j, "file", frame->file);
        json_key_u64(j, "line", frame->line);
        json_close(j, '}');
    }
    json_close(j, ']');
}

void waste_paths_json(struct json *j, const struct profile_waste *w,
                      const struct profile_waste_pair *pair)
{
    uint32_t count;
    if (!w->paths.kept)
        return;
    struct ranked *order = order_make(&w->paths, pair, &count);
    j->out->failed |= !order;
    json_key(j, "call_paths");
    json_open(j, '[');
    for (uint32_t i = 0; order && i < count; i++) {
        const struct profile_waste_path *p = &w->paths.list[order[i].index];
        json_open(j, '{');
        json_key_u64(j, "count", p->pair.count);
        json_key_u64(j, "bytes", p->pair.bytes);
        json_call(j, "access", p->from);
        json_key(j, "access_folded");
        json_bool(j, p->folded & FOLDED_FROM);
        json_call(j, "with", p->to);
        json_key(j, "with_folded");
        json_bool(j, p->folded & FOLDED_TO);
        json_close(j, '}');
    }
    json_close(j, ']');
    free(order);
}

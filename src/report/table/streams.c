/* Address streams in reports: which loads and stores access memory most, and how regularly. */
#include "sigsafe/spool_streams.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/saturate.h"
#include "report/ranked.h"
#include "report/table/view.h"
#include "report/text.h"

enum { ROWS = 40, WIDTH = 14 };

/* By accesses, most first: to free(); NULL without memory. */
static struct ranked *order_make(const struct profile_streams *s, uint64_t *all)
{
    struct ranked *order = calloc((size_t)s->count + 1, sizeof *order);
    *all = s->missed;
    for (uint32_t i = 0; order && i < s->count; i++) {
        order[i] = (struct ranked){s->list[i].count, i};
        *all = add_saturated(*all, s->list[i].count);
    }
    if (order)
        qsort(order, s->count, sizeof *order, compare_ranked);
    return order;
}

static struct symbol_location location(const struct view *v, const struct profile_stream *s)
{
    return symbols_find(v->symbols, &v->profile->processes[s->process], s->image, s->offset);
}

/* All strides that were met. */
static uint64_t stride_count(const struct profile_stream *s)
{
    uint64_t sum = s->others;
    for (unsigned i = 0; i < STREAM_STRIDES; i++)
        sum = add_saturated(sum, s->times[i]);
    return sum;
}

/* +8 97%, -64 2% */
static void write_strides(FILE *out, const struct profile_stream *s)
{
    uint64_t all = stride_count(s);
    for (unsigned i = 0; i < STREAM_STRIDES && s->times[i]; i++) {
        double share = text_share(s->times[i], all);
        if (i && share < 1)
            break;
        fprintf(out, "%s%+" PRId64 " %.0f%%", i ? ", " : "", s->strides[i], share);
    }
}

static void write_stream(FILE *out, const struct view *v, const struct report_style *style,
                         const struct profile_stream *s, double share)
{
    char number[TEXT_NUMBER_SIZE];
    struct symbol_location where = location(v, s);
    fprintf(out, "%7.2f%%  %*s  %-6s %4" PRIu32, share, WIDTH, text_count(number, s->count),
            profile_stream_kind(s->kind), s->bytes);
    fprintf(out, "  %10s", text_bytes(number, (double)s->span));
    fprintf(out, "  %5.1f%%", text_share(s->same_line, s->count));
    fprintf(out, "  %8.1f  ", s->runs ? (double)stride_count(s) / (double)s->runs : 0);
    text_function(out, style, where.frames[where.count - 1].function, 40);
    if (where.frames[0].line)
        fprintf(out, ":%" PRIu32, where.frames[0].line);
    fputs("  ", out);
    text_name(out, symbols_place_name(v->symbols, s->image, s->offset), 0);
    fprintf(out, "+0x%" PRIx64 "  ", s->offset);
    write_strides(out, s);
    fputc('\n', out);
}

/* The loads and stores that were executed most, each with its strides. */
static bool text(FILE *out, const struct view *v, const void *table,
                 const struct report_style *style, struct err *e)
{
    const struct profile_streams *s = table;
    char number[TEXT_NUMBER_SIZE];
    uint64_t all;
    if (!s->count) {
        fputs("no address streams were observed (record --exact --tool streams, or --carrier "
              "burst)\n",
              out);
        return true;
    }
    struct ranked *order = order_make(s, &all);
    if (!order)
        return err_set(e, ERR_INTERNAL, "cannot order the streams: out of memory");
    text_colour(out, style, TEXT_DIM);
    fprintf(out, "%8s  %*s  %-6s %4s  %10s  %6s  %8s  where, and the most frequent strides\n",
            "share", WIDTH, "accesses", "kind", "size", "span", "line", "run");
    text_colour(out, style, TEXT_PLAIN);
    uint32_t rows = 0, limit = style->limit && style->limit < ROWS ? style->limit : ROWS;
    for (; rows < s->count && rows < limit; rows++) {
        double share = text_share(order[rows].value, all);
        if (share < style->min)
            break;
        write_stream(out, v, style, &s->list[order[rows].index], share);
    }
    if (rows < s->count)
        fprintf(out, "%" PRIu32 " more not shown (--json has all)\n", s->count - rows);
    if (s->missed)
        fprintf(out, "%s accesses were not kept: there was no memory\n",
                text_count(number, s->missed));
    free(order);
    return true;
}

static void json_stream(struct json *j, const struct view *v, const struct profile_stream *s)
{
    struct symbol_location where = location(v, s);
    json_open(j, '{');
    json_key_string(j, "image", symbols_place_name(v->symbols, s->image, s->offset));
    json_key_address(j, "offset", s->offset);
    json_key_string(j, "function", where.frames[where.count - 1].function);
    json_key_string(j, "file", where.frames[0].file);
    json_key_u64(j, "line", where.frames[0].line);
    json_key_string(j, "kind", profile_stream_kind(s->kind));
    json_key_u64(j, "bytes", s->bytes);
    json_key_u64(j, "count", s->count);
    json_key_u64(j, "span", s->span);
    json_key_u64(j, "same_line", s->same_line);
    json_key_u64(j, "runs", s->runs);
    json_key(j, "strides");
    json_open(j, '[');
    for (unsigned i = 0; i < STREAM_STRIDES && s->times[i]; i++) {
        json_open(j, '{');
        json_key(j, "stride");
        json_i64(j, s->strides[i]);
        json_key_u64(j, "count", s->times[i]);
        json_close(j, '}');
    }
    json_close(j, ']');
    json_key_u64(j, "others", s->others);
    json_close(j, '}');
}

/* Members "streams_missed" and "streams". */
static void json(struct json *j, const struct view *v, const void *table, uint32_t limit)
{
    static const struct profile_streams none;
    const struct profile_streams *s = table ? table : &none;
    uint64_t all;
    struct ranked *order = order_make(s, &all);
    uint32_t rows = limit && limit < s->count ? limit : s->count;
    j->out->failed |= !order;
    json_key_u64(j, "streams_missed", s->missed);
    json_key(j, "streams");
    json_open(j, '[');
    for (uint32_t i = 0; order && i < rows; i++)
        json_stream(j, v, &s->list[order[i].index]);
    json_close(j, ']');
    free(order);
}

const struct table_view view_streams = {.text = text, .json = json};

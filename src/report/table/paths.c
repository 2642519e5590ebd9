/* Acyclic paths in reports, across functions or within them: which are hot, what they cost, where
 * they lead.
 *
 * A path's share is that of the instructions executed on it, of all that were observed. */
#include "profile/paths.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"
#include "profile/events.h"
#include "report/ci.h"
#include "report/ranked.h"
#include "report/table/view.h"
#include "report/text.h"

enum { FIELD = 10, ROWS = 20, STRETCHES = 12, FUNCTIONS = 8, WIDTH = 18 };

/* A path's instructions, from its first block to its last. */
static uint64_t path_instructions(const struct profile *of, const struct profile_path *path)
{
    const struct profile_block *blocks = observed_code(of)->blocks;
    const uint32_t *sequence = profile_paths_of(of)->sequence + path->first;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < path->length; i++)
        sum += blocks[sequence[i]].instructions;
    return sum;
}

/* What shares of instructions are estimated from. */
struct path_sums {
    uint64_t all;   /* instructions of all paths, dropped and cut ones included */
    double squares; /* sum of executions times the square of the path's instructions */
    uint64_t most;  /* each path that was seen stands for so many at most; 1: all are exact, 0: it
                     * is not known how sure they are */
};

/* Compiled-in checks sample each path by itself. */
static struct path_sums sums_of(const struct profile *of)
{
    const struct profile_observation *code = observation_of(&of->observations, OBSERVED_CODE);
    const struct profile_events *others = observed_table(of, TABLE_FIELDS);
    bool compiled = code && code->carrier == CARRIER_COMPILED;
    return (struct path_sums){.most = profile_is_exact(of) ? 1
                                      : compiled && others ? others->most : 0};
}

/* Of n_i executions of L_i instructions each that were seen, W = sum n L, the share s_i = n_i L_i /
 * W has the variance sum_j n_j L_j^2 ((i = j) - s_i)^2 / W^2: of a ratio, to first order. The
 * interval is Wilson's, of so many draws as have that variance. */
static struct interval share_interval(const struct path_sums *s, uint64_t count, uint64_t length)
{
    double all = (double)s->all, l = (double)length, n = (double)count;
    double share = all > 0 ? n * l / all : 0;
    double sum = n * l * l * (1 - 2 * share) + share * share * s->squares;
    double variance = all > 0 ? (double)s->most * sum / (all * all) : 0;
    if (s->most <= 1 || !(variance > 0))
        return (struct interval){share, share};
    return ci_wilson(share, share * (1 - share) / variance);
}

/* Indexes of the paths by instructions executed on them, most first: to free(); NULL without
 * memory. */
static uint32_t *paths_order(const struct profile *of, struct path_sums *sums)
{
    const struct profile_paths *p = profile_paths_of(of);
    uint64_t *all = &sums->all;
    uint32_t *order = calloc((size_t)p->count + 1, sizeof *order);
    struct ranked *list = calloc((size_t)p->count + 1, sizeof *list);
    *sums = sums_of(of);
    *all = add_saturated(p->dropped_instructions, p->cut_instructions);
    for (uint32_t i = 0; list && i < p->count; i++) {
        uint64_t length = path_instructions(of, &p->paths[i]);
        list[i] = (struct ranked){multiply_saturated(p->paths[i].count, length), i};
        sums->squares += (double)p->paths[i].count * (double)length * (double)length;
        *all = add_saturated(*all, list[i].value);
    }
    if (list)
        qsort(list, p->count, sizeof *list, compare_ranked);
    for (uint32_t i = 0; order && list && i < p->count; i++)
        order[i] = list[i].index;
    if (!list) {
        free(order);
        order = NULL;
    }
    free(list);
    return order;
}

static uint64_t executed(const struct profile *of, const struct profile_path *path)
{
    return multiply_saturated(path->count, path_instructions(of, path));
}

/* Where a block of a path is. frames[count - 1] is the function, frames[0] the innermost
 * inlined. */
static struct symbol_location location(const struct view *v, uint32_t block)
{
    const struct profile_block *b = &observed_code(v->profile)->blocks[block];
    return symbols_find(v->symbols, &v->profile->processes[b->process], b->image, b->offset);
}

static const char *function_of(const struct view *v, uint32_t block)
{
    struct symbol_location where = location(v, block);
    return where.frames[where.count - 1].function;
}

/* ---- text ---- */

/* How many, how often, what was dropped and cut. */
static void header(FILE *out, const struct view *v, const void *table,
                   const struct report_style *style)
{
    char a[TEXT_NUMBER_SIZE], b[TEXT_NUMBER_SIZE];
    const struct profile_paths *p = table;
    (void)v;
    text_colour(out, style, TEXT_BOLD);
    fprintf(out, "%-*s", FIELD, "paths");
    text_colour(out, style, TEXT_PLAIN);
    fprintf(out, "%s, executed %s times", text_count(a, p->count),
            text_count(b, profile_paths_executions(p) - p->dropped));
    if (p->dropped_paths)
        fprintf(out, "; dropped as cold: %s, executed %s times", text_count(a, p->dropped_paths),
                text_count(b, p->dropped));
    if (p->cut)
        fprintf(out, "; cut where a run began or ended: %s", text_count(a, p->cut));
    fputc('\n', out);
}

/* A stretch of a path's blocks within one function. */
struct stretch {
    uint32_t from, to; /* in the sequence */
};

static struct stretch stretch_at(const struct view *v, const struct profile_path *path,
                                 uint32_t from)
{
    const uint32_t *blocks = profile_paths_of(v->profile)->sequence;
    const char *function = function_of(v, blocks[from]);
    uint32_t to = from + 1;
    while (to < path->first + path->length && !strcmp(function_of(v, blocks[to]), function))
        to++;
    return (struct stretch){from, to};
}

/* main > parse > next: the functions crossed, in order. */
static void write_functions(FILE *out, const struct view *v, const struct report_style *style,
                            const struct profile_path *path)
{
    const uint32_t *blocks = profile_paths_of(v->profile)->sequence;
    uint32_t end = path->first + path->length, written = 0;
    for (uint32_t at = path->first; at < end; at = stretch_at(v, path, at).to, written++) {
        if (written == FUNCTIONS) {
            fputs(" > ..", out);
            return;
        }
        fputs(written ? " > " : "", out);
        text_function(out, style, function_of(v, blocks[at]), 40);
    }
}

/* The lines of a stretch: from the function's own file, those of inlined code in their place. */
static void write_lines(FILE *out, const struct view *v, struct stretch s)
{
    const uint32_t *blocks = profile_paths_of(v->profile)->sequence;
    const char *file = "";
    uint32_t last = 0, written = 0;
    for (uint32_t i = s.from; i < s.to; i++) {
        struct symbol_location where = location(v, blocks[i]);
        const struct symbol_frame *frame = &where.frames[0];
        if (!frame->line || (frame->line == last && !strcmp(frame->file, file)))
            continue;
        if (written++ == STRETCHES) {
            fputs(" ..", out);
            return;
        }
        fputc(' ', out);
        if (strcmp(frame->file, file) != 0) {
            const char *slash = strrchr(frame->file, '/');
            text_name(out, slash ? slash + 1 : frame->file, 0);
            fputc(':', out);
        }
        fprintf(out, "%" PRIu32, frame->line);
        file = frame->file;
        last = frame->line;
    }
}

static void write_stretches(FILE *out, const struct view *v, const struct report_style *style,
                            const struct profile_path *path)
{
    const struct profile_counts *c = observed_code(v->profile);
    const uint32_t *blocks = profile_paths_of(v->profile)->sequence;
    uint32_t end = path->first + path->length, written = 0;
    for (uint32_t at = path->first; at < end; written++) {
        struct stretch s = stretch_at(v, path, at);
        const struct profile_block *b = &c->blocks[blocks[at]];
        if (written == STRETCHES) {
            fprintf(out, "%*s.. %" PRIu32 " more blocks\n", FIELD, "", end - at);
            return;
        }
        fprintf(out, "%*s", FIELD, "");
        text_function(out, style, function_of(v, blocks[at]), 40);
        text_colour(out, style, TEXT_DIM);
        fprintf(out, "  %" PRIu32 " block%s, ", s.to - s.from, s.to - s.from == 1 ? "" : "s");
        text_name(out, symbols_place_name(v->symbols, b->image, b->offset), 0);
        fprintf(out, "+0x%" PRIx64, b->offset);
        write_lines(out, v, s);
        text_colour(out, style, TEXT_PLAIN);
        fputc('\n', out);
        at = s.to;
    }
}

static void write_path(FILE *out, const struct view *v, const struct report_style *style,
                       const struct profile_path *path, const struct path_sums *sums)
{
    char number[TEXT_NUMBER_SIZE];
    uint64_t length = path_instructions(v->profile, path);
    double share = text_share(executed(v->profile, path), sums->all);
    text_colour_share(out, style, share);
    fprintf(out, "%7.2f%%", share);
    text_colour(out, style, TEXT_PLAIN);
    if (sums->most > 1) {
        struct interval ci = share_interval(sums, path->count, length);
        fprintf(out, " [%6.2f, %6.2f]", 100 * ci.low, 100 * ci.high);
    }
    fprintf(out, "  %*s  %8" PRIu64 "  ", WIDTH, text_count(number, path->count), length);
    write_functions(out, v, style, path);
    fputc('\n', out);
    write_stretches(out, v, style, path);
}

/* The hot paths, each with the functions that it crosses and its source lines. */
static bool text(FILE *out, const struct view *v, const void *table,
                 const struct report_style *style, struct err *e)
{
    const struct profile_paths *p = table;
    struct path_sums sums;
    uint32_t rows = 0, limit = style->limit && style->limit < ROWS ? style->limit : ROWS;
    if (!p->count) {
        fputs("no paths were counted (record --exact --tool paths, or --carrier burst; or "
              "--carrier compiled, of a program that penumbra cc has built with what=paths)\n",
              out);
        return true;
    }
    uint32_t *order = paths_order(v->profile, &sums);
    if (!order)
        return err_set(e, ERR_INTERNAL, "cannot order the paths: out of memory");
    text_colour(out, style, TEXT_DIM);
    fprintf(out, "%8s%s  %*s  %8s  path: functions crossed, blocks, source lines", "share",
            sums.most > 1 ? "   95% interval  " : "", WIDTH, "executions", "instr.");
    text_colour(out, style, TEXT_PLAIN);
    fputc('\n', out);
    for (; rows < p->count && rows < limit; rows++) {
        const struct profile_path *path = &p->paths[order[rows]];
        if (text_share(executed(v->profile, path), sums.all) < style->min)
            break;
        write_path(out, v, style, path, &sums);
    }
    if (rows < p->count)
        fprintf(out, "%" PRIu32 " more paths not shown (--json has all)\n", p->count - rows);
    free(order);
    return true;
}

/* ---- JSON ---- */

static void json_blocks(struct json *j, const struct view *v, const struct profile_path *path)
{
    const struct profile_counts *c = observed_code(v->profile);
    const uint32_t *blocks = profile_paths_of(v->profile)->sequence + path->first;
    json_key(j, "blocks");
    json_open(j, '[');
    for (uint32_t i = 0; i < path->length; i++) {
        const struct profile_block *b = &c->blocks[blocks[i]];
        struct buf place = {0};
        buf_printf(&place, "%s+0x%" PRIx64, symbols_place_name(v->symbols, b->image, b->offset),
                   b->offset);
        buf_put_u8(&place, 0);
        j->out->failed |= !buf_ok(&place);
        if (buf_ok(&place))
            json_string(j, (const char *)place.data);
        buf_free(&place);
    }
    json_close(j, ']');
    json_key(j, "bytes");
    json_open(j, '[');
    for (uint32_t i = 0; i < path->length; i++)
        json_u64(j, c->blocks[blocks[i]].bytes);
    json_close(j, ']');
}

static void json_lines(struct json *j, const struct view *v, const struct profile_path *path)
{
    const uint32_t *blocks = profile_paths_of(v->profile)->sequence;
    struct symbol_frame last = {.file = ""};
    json_key(j, "lines");
    json_open(j, '[');
    for (uint32_t i = 0; i < path->length; i++) {
        struct symbol_location where = location(v, blocks[path->first + i]);
        const struct symbol_frame *frame = &where.frames[0];
        if (!frame->line || (frame->line == last.line && !strcmp(frame->file, last.file)))
            continue;
        json_open(j, '{');
        json_key_string(j, "file", frame->file);
        json_key_u64(j, "line", frame->line);
        json_close(j, '}');
        last = *frame;
    }
    json_close(j, ']');
}

static void json_path(struct json *j, const struct view *v, const struct profile_path *path,
                      const struct path_sums *sums)
{
    const uint32_t *blocks = profile_paths_of(v->profile)->sequence;
    uint64_t length = path_instructions(v->profile, path);
    struct interval ci = share_interval(sums, path->count, length);
    json_open(j, '{');
    json_key_u64(j, "count", path->count);
    json_key_double(j, "share", text_share(executed(v->profile, path), sums->all));
    if (sums->most) {
        json_key_double(j, "share_low", 100 * ci.low);
        json_key_double(j, "share_high", 100 * ci.high);
    }
    json_key_u64(j, "instructions", length);
    json_blocks(j, v, path);
    json_key(j, "functions");
    json_open(j, '[');
    for (uint32_t at = path->first; at < path->first + path->length;) {
        json_string(j, function_of(v, blocks[at]));
        at = stretch_at(v, path, at).to;
    }
    json_close(j, ']');
    json_lines(j, v, path);
    json_close(j, '}');
}

/* Members "path_totals" and "paths". */
static void json(struct json *j, const struct view *v, const void *table, uint32_t limit)
{
    static const struct profile_paths none;
    const struct profile_paths *p = table ? table : &none;
    struct path_sums sums = {0};
    uint32_t *order = table ? paths_order(v->profile, &sums) : NULL;
    uint32_t rows = limit && limit < p->count ? limit : p->count;
    j->out->failed |= table && !order;
    json_key(j, "path_totals");
    json_open(j, '{');
    json_key_u64(j, "paths", p->count);
    json_key_u64(j, "executions", profile_paths_executions(p));
    json_key_u64(j, "instructions", sums.all);
    json_key_u64(j, "dropped_paths", p->dropped_paths);
    json_key_u64(j, "dropped", p->dropped);
    json_key_u64(j, "dropped_instructions", p->dropped_instructions);
    json_key_u64(j, "cut", p->cut);
    json_key_u64(j, "cut_instructions", p->cut_instructions);
    json_close(j, '}');
    json_key(j, "paths");
    json_open(j, '[');
    for (uint32_t i = 0; order && i < rows; i++)
        json_path(j, v, &p->paths[order[i]], &sums);
    json_close(j, ']');
    free(order);
}

const struct table_view view_paths = {.header = header, .text = text, .json = json};

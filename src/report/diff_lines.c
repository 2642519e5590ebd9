#include "report/diff_lines.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profile/observations.h"
#include "report/simulated_places.h"
#include "report/text.h"

/* A line of one run. */
struct found {
    const char *image;
    size_t image_size;
    const struct simulated_place *place;
    uint32_t run;
};

/* ---- which are the same ---- */

static int compare_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

static int compare_identity(const struct found *x, const struct found *y)
{
    if (x->image_size != y->image_size)
        return x->image_size < y->image_size ? -1 : 1;
    int order = memcmp(x->image, y->image, x->image_size);
    order = order ? order : strcmp(x->place->name, y->place->name);
    order = order ? order : compare_text(x->place->file, y->place->file);
    return order ? order
                 : (x->place->line > y->place->line) - (x->place->line < y->place->line);
}

static int compare_found(const void *a, const void *b)
{
    const struct found *x = a, *y = b;
    int order = compare_identity(x, y);
    return order ? order : (x->run > y->run) - (x->run < y->run);
}

static struct found found_make(const struct diff *d, uint32_t run, const char *const programs[],
                               const struct simulated_place *place)
{
    static const char *const none[DIFF_SIDES];
    const struct profile *p = d->runs[run].view->profile;
    struct found f = {.image = "", .place = place, .run = run};
    if (place->image < p->image_count)
        f.image = diff_image(&p->images[place->image],
                             d->runs[run].side == DIFF_AFTER ? programs : none, &f.image_size);
    return f;
}

/* ---- lines ---- */

static void add(struct diff_line *to, const struct diff *d, const struct found *f)
{
    unsigned side = d->runs[f->run].side;
    double(*of)[SIMULATED_METRICS] = to->causes.of[DIFF_SELF];
    double runs = d->side_runs[side];
    const struct profile_cost *sum = &f->place->sum;
    of[side][SIMULATED_CYCLES] += cost_cycles(cost_parts(&sum->cost)) / runs;
    of[side][SIMULATED_INSTRUCTIONS] += (double)sum->count / runs;
    for (unsigned i = 0; i < COST_CAUSE_COUNT; i++)
        of[side][SIMULATED_CAUSES + i] += cost_cycles(sum->cost.parts[i]) / runs;
}

static void fold(struct diff_lines *lines, const struct diff *d, const struct found *found,
                 size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct simulated_place *place = found[i].place;
        if (!i || compare_identity(&found[i - 1], &found[i]))
            lines->list[lines->count++] = (struct diff_line){
                .image = symbols_place_name(d->runs[found[i].run].view->symbols, place->image,
                                            place->sum.offset),
                .function = place->name, .file = place->file, .line = place->line};
        add(&lines->list[lines->count - 1], d, &found[i]);
    }
    for (uint32_t i = 0; i < lines->count; i++)
        lines->list[i].difference =
            diff_causes_difference(d, &lines->list[i].causes, DIFF_SELF, SIMULATED_CYCLES);
}

static int compare_lines(const void *a, const void *b)
{
    const struct diff_line *x = a, *y = b;
    double u = fabs(x->difference), v = fabs(y->difference);
    if (u > v || u < v)
        return u > v ? -1 : 1;
    int order = strcmp(x->function, y->function);
    return order ? order : (x->line > y->line) - (x->line < y->line);
}

static bool collect(struct diff_lines *lines, const struct diff *d, struct simulated_places *places)
{
    const char *programs[DIFF_SIDES];
    size_t most = 0, count = 0;
    for (uint32_t r = 0; r < d->run_count; r++) {
        const struct view *v = d->runs[r].view;
        const struct profile_simulated *s = observed_table(v->profile, TABLE_SIMULATE);
        places[r] = s ? simulated_places_make(v, s, true) : (struct simulated_places){0};
        if (s && !places[r].list)
            return false;
        most += places[r].count;
    }
    struct found *found = calloc(most + 1, sizeof *found);
    lines->list = calloc(most + 1, sizeof *lines->list);
    bool ok = found && lines->list;
    diff_programs(d->runs, d->run_count, programs);
    for (uint32_t r = 0; ok && r < d->run_count; r++)
        for (uint32_t i = 0; i < places[r].count; i++)
            found[count++] = found_make(d, r, programs, &places[r].list[i]);
    if (count) {
        qsort(found, count, sizeof *found, compare_found);
        fold(lines, d, found, count);
        qsort(lines->list, lines->count, sizeof *lines->list, compare_lines);
    }
    free(found);
    return ok;
}

bool diff_lines_make(struct diff_lines *lines, const struct diff *d, struct err *e)
{
    struct simulated_places *places = calloc(d->run_count + 1u, sizeof *places);
    *lines = (struct diff_lines){0};
    bool ok = places && collect(lines, d, places);
    for (uint32_t r = 0; places && r < d->run_count; r++)
        free(places[r].list);
    free(places);
    return ok || err_set(e, ERR_INTERNAL, "cannot compare lines: out of memory");
}

void diff_lines_free(struct diff_lines *lines)
{
    free(lines->list);
    *lines = (struct diff_lines){0};
}

/* ---- output ---- */

static double percent(const struct diff *d, const struct diff_line *line, unsigned side)
{
    return diff_causes_percent(d, side) * line->causes.of[DIFF_SELF][side][SIMULATED_CYCLES];
}

static void write_line(FILE *out, const struct diff *d, const struct diff_line *line,
                       const struct report_style *style)
{
    fprintf(out, "%7.2f%%  %7.2f%%  %+9.2f%%  ", percent(d, line, DIFF_BEFORE),
            percent(d, line, DIFF_AFTER), line->difference);
    text_function(out, style, line->function, 0);
    if (line->line) {
        const char *slash = line->file ? strrchr(line->file, '/') : NULL;
        fputs("  ", out);
        text_name(out, slash ? slash + 1 : line->file ? line->file : "?", 0);
        fprintf(out, ":%" PRIu32, line->line);
    }
    fputs("  ", out);
    text_name(out, line->image, 0);
    diff_causes_write(out, d, &line->causes, DIFF_SELF);
    fputc('\n', out);
}

bool diff_lines_text(FILE *out, const struct diff *d, const struct report_style *style,
                     struct err *e)
{
    struct diff_lines lines;
    uint32_t shown = 0;
    bool ok = diff_lines_make(&lines, d, e);
    text_colour(out, style, TEXT_DIM);
    fputs("\n  before     after  difference  line\n", out);
    text_colour(out, style, TEXT_PLAIN);
    for (; ok && shown < lines.count && (!style->limit || shown < style->limit) &&
           fabs(lines.list[shown].difference) >= DIFF_CAUSES_NOTHING;
         shown++)
        write_line(out, d, &lines.list[shown], style);
    if (ok && shown < lines.count)
        fprintf(out, "%" PRIu32 " more, which differ less\n", lines.count - shown);
    diff_lines_free(&lines);
    return ok;
}

bool diff_lines_json(struct json *j, const struct diff *d, struct err *e)
{
    struct diff_lines lines;
    bool ok = diff_lines_make(&lines, d, e);
    json_key(j, "lines");
    json_open(j, '[');
    for (uint32_t i = 0; ok && i < lines.count && fabs(lines.list[i].difference) > 0; i++) {
        const struct diff_line *line = &lines.list[i];
        json_open(j, '{');
        json_key_string(j, "function", line->function);
        json_key_string(j, "image", line->image);
        json_key_string(j, "file", line->file);
        json_key_u64(j, "line", line->line);
        json_key_double(j, "difference", line->difference);
        diff_causes_json(j, &line->causes, DIFF_SELF);
        json_close(j, '}');
    }
    json_close(j, ']');
    diff_lines_free(&lines);
    return ok;
}

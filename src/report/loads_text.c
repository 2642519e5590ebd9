#include <inttypes.h>
#include <string.h>

#include "penumbra/module.h"
#include "profile/values.h"
#include "report/counted.h"
#include "report/loads.h"
#include "report/text.h"

enum { ROWS = 20, LEVELS_SHOWN = 5, LEVELS_COLUMNS = 52, PLACE_COLUMNS = 44 };

static const char *image_of(const struct view *v, const struct load_place *at)
{
    if (at->image >= v->profile->image_count)
        return "no image";
    const char *path = v->profile->images[at->image].path, *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static const char *function_of(const struct view *v, const struct load_place *at)
{
    return at->process < v->profile->process_count
               ? counted_function(v, at->process, at->image, at->offset) : "?";
}

static size_t write_place(FILE *out, const struct view *v, const struct report_style *style,
                          const struct load_place *at, size_t columns)
{
    char number[24];
    size_t used = (size_t)snprintf(number, sizeof number, "%" PRIx64 "  ", at->offset);
    fputs(number, out);
    used += text_function(out, style, function_of(v, at), columns > used + 8 ? columns - used : 0);
    return used;
}

/* The level that most loads came from that is not shown yet, or LOAD_LEVELS_MAX. */
static uint32_t next_level(const struct load *load, uint32_t shown)
{
    uint32_t best = LOAD_LEVELS_MAX;
    for (uint32_t i = 0; i < LOAD_LEVELS_MAX; i++)
        if (!(shown >> i & 1) && load->share[i] > 0 &&
            (best == LOAD_LEVELS_MAX || load->share[i] > load->share[best]))
            best = i;
    return best;
}

/* "(94.26% L1) (3.58% memory)": the paper's Figure 1. */
static void write_levels(FILE *out, const struct loads *l, const struct load *load)
{
    uint32_t shown = 0;
    size_t used = 0;
    for (unsigned i = 0; i < LEVELS_SHOWN; i++) {
        uint32_t level = next_level(load, shown);
        char share[32];
        if (level == LOAD_LEVELS_MAX)
            break;
        shown |= 1u << level;
        used += (size_t)snprintf(share, sizeof share, "%s(%.2f%% ", i ? " " : "",
                                 100 * load->share[level]);
        fputs(share, out);
        used += text_name(out, l->level_names[level], 0) + 1;
        fputc(')', out);
    }
    fprintf(out, "%*s  ", used < LEVELS_COLUMNS ? (int)(LEVELS_COLUMNS - used) : 0, "");
}

static uint32_t rows_of(const struct report_style *style, uint32_t count)
{
    uint32_t most = style->limit ? style->limit : ROWS;
    return count < most ? count : most;
}

static void write_rest(FILE *out, uint32_t count, uint32_t rows, const char *what)
{
    char number[TEXT_NUMBER_SIZE];
    if (count > rows)
        fprintf(out, "%s more %s\n", text_count(number, count - rows), what);
}

static void titles(FILE *out, const struct report_style *style, const char *above,
                   const char *columns)
{
    fputc('\n', out);
    text_colour(out, style, TEXT_BOLD);
    fputs(above, out);
    text_colour(out, style, TEXT_PLAIN);
    fputc('\n', out);
    text_colour(out, style, TEXT_DIM);
    fputs(columns, out);
    text_colour(out, style, TEXT_PLAIN);
    fputc('\n', out);
}

static void write_loads(FILE *out, const struct loads *l, const struct report_style *style)
{
    char number[TEXT_NUMBER_SIZE], columns[160];
    double all = 0;
    uint32_t rows = rows_of(style, l->load_count);
    for (uint32_t i = 0; i < l->load_count; i++)
        all += l->loads[i].ticks;
    snprintf(columns, sizeof columns, "%7s  %10s  %6s  %2s  %-*s  %s", "time", "observed", "p",
             "nv", LEVELS_COLUMNS, "latencies", "load");
    titles(out, style, "Where loads come from, by the time that they waited", columns);
    for (uint32_t i = 0; i < rows; i++) {
        const struct load *load = &l->loads[i];
        fprintf(out, "%6.2f%%  %10s  %6.4f  %2u  ", all > 0 ? 100 * load->ticks / all : 0,
                text_count(number, load->observed), load->p, load->kept);
        write_levels(out, l, load);
        write_place(out, l->view, style, &load->at, 0);
        fputs("  ", out);
        text_name(out, image_of(l->view, &load->at), 0);
        fputc('\n', out);
    }
    write_rest(out, l->load_count, rows, "loads");
}

static void write_conflicts(FILE *out, const struct loads *l, const struct report_style *style)
{
    char number[TEXT_NUMBER_SIZE], title[160], columns[160];
    const struct profile_values *values = observed_values(l->view->profile);
    uint32_t rows = rows_of(style, l->conflict_count);
    snprintf(title, sizeof title, "Stores that later loads may conflict with, in %s windows",
             text_count(number, values->sequences));
    snprintf(columns, sizeof columns, "%10s  %-8s  %-*s  %s", "seen", "kind", PLACE_COLUMNS,
             "store", "load");
    titles(out, style, title, columns);
    for (uint32_t i = 0; i < rows; i++) {
        const struct load_conflict *c = &l->conflicts[i];
        fprintf(out, "%10s  ", text_count(number, (uint64_t)(c->count + 0.5)));
        size_t used = text_name(out, values->kinds[c->kind].name, 0);
        fprintf(out, "%*s  ", used < 8 ? (int)(8 - used) : 0, "");
        used = write_place(out, l->view, style, &c->store, PLACE_COLUMNS);
        fprintf(out, "%*s  ", used < PLACE_COLUMNS ? (int)(PLACE_COLUMNS - used) : 0, "");
        write_place(out, l->view, style, &c->load, 0);
        fputs("  ", out);
        text_name(out, image_of(l->view, &c->load), 0);
        fputc('\n', out);
    }
    write_rest(out, l->conflict_count, rows, "pairs");
}

static bool has_role(const struct view *v, uint32_t role)
{
    const struct profile_values *values = observed_values(v->profile);
    for (uint32_t i = 0; values && i < values->kind_count; i++)
        if (values->kinds[i].role == role)
            return true;
    return false;
}

bool loads_were_asked_for(const struct view *v)
{
    return has_role(v, PENUMBRA_ROLE_LATENCY) || has_role(v, PENUMBRA_ROLE_CONFLICT);
}

bool loads_tables(FILE *out, const struct view *v, const struct report_style *style, struct err *e)
{
    char windows[TEXT_NUMBER_SIZE], instructions[TEXT_NUMBER_SIZE];
    struct loads *l = loads_of(v, e);
    if (!l)
        return false;
    const struct profile_values *values = observed_values(v->profile);
    text_count(windows, values->sequences);
    text_count(instructions, values->tuples);
    if (l->load_count)
        write_loads(out, l, style);
    else if (has_role(v, PENUMBRA_ROLE_LATENCY))
        fprintf(out,
                "\nNo load was timed: of %s instructions in %s windows none is a load that can be "
                "(a longer run, a higher "
                "-F, or --every 1 sees more)\n",
                instructions, windows);
    if (l->conflict_count)
        write_conflicts(out, l, style);
    else if (has_role(v, PENUMBRA_ROLE_CONFLICT))
        fprintf(out,
                "\nNo store was seen that a later load may conflict with, in %s windows of %s "
                "instructions in all (a longer "
                "run, a higher -F, or --every 1 sees more)\n",
                windows, instructions);
    loads_free(l);
    return true;
}

/* ---- JSON ---- */

static void place_json(struct json *j, const struct view *v, const struct load_place *at)
{
    json_key_string(j, "image", image_of(v, at));
    json_key_address(j, "offset", at->offset);
    json_key_string(j, "function", function_of(v, at));
}

static void load_json(struct json *j, const struct loads *l, const struct load *load)
{
    json_open(j, '{');
    place_json(j, l->view, &load->at);
    json_key_u64(j, "observed", load->observed);
    json_key_double(j, "p", load->p);
    json_key(j, "latency");
    json_open(j, '{');
    for (uint32_t i = 0; i < l->level_count; i++)
        if (load->share[i] > 0)
            json_key_double(j, l->level_names[i], load->share[i]);
    json_close(j, '}');
    json_close(j, '}');
}

static void conflict_json(struct json *j, const struct loads *l, const struct load_conflict *c)
{
    json_open(j, '{');
    json_key_string(j, "kind", observed_values(l->view->profile)->kinds[c->kind].name);
    json_key_double(j, "count", c->count);
    json_key(j, "store");
    json_open(j, '{');
    place_json(j, l->view, &c->store);
    json_close(j, '}');
    json_key(j, "load");
    json_open(j, '{');
    place_json(j, l->view, &c->load);
    json_close(j, '}');
    json_close(j, '}');
}

bool loads_json(struct json *j, const struct view *v, struct err *e)
{
    struct loads *l = observed_values(v->profile) ? loads_of(v, e) : NULL;
    if (!l)
        return !observed_values(v->profile);
    json_key(j, "loads");
    json_open(j, '[');
    for (uint32_t i = 0; i < l->load_count; i++)
        load_json(j, l, &l->loads[i]);
    json_close(j, ']');
    json_key(j, "conflicts");
    json_open(j, '[');
    for (uint32_t i = 0; i < l->conflict_count; i++)
        conflict_json(j, l, &l->conflicts[i]);
    json_close(j, ']');
    loads_free(l);
    return true;
}

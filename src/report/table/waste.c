/* Waste in reports: what share of stores is dead or silent, of loads redundant; which pairs of
 * instructions make most of it. Shares are of bytes stored, or loaded. */
#include "sigsafe/spool_waste.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"
#include "profile/frames.h"
#include "profile/place.h"
#include "report/ranked.h"
#include "report/table/view.h"
#include "report/table/waste_paths.h"
#include "report/text.h"
#include "symbols/code.h"
#include "x86/format.h"

enum { ROWS = 20, WIDTH = 16, INSTRUCTION = 48 };

/* ---- numbers ---- */

struct share {
    const char *name, *what;
    uint64_t count, of_count, bytes, of_bytes;
    double error; /* 95%, in percent of bytes; 0: exact; NAN: not known */
};

enum { SHARE_DEAD, SHARE_FRAME, SHARE_SILENT, SHARE_REDUNDANT, SHARES };

static struct waste_figures sum(const struct profile_waste *w)
{
    struct waste_figures all = {0};
    for (uint32_t i = 0; i < w->site_count; i++)
        profile_waste_figures_add(&all, &w->sites[i].figures);
    return all;
}

/* Of a ratio of two sums over windows, of which each is a cluster (Cochran, Sampling Techniques,
 * section 6.3), 1.96 standard errors, in percent. `part`: how much of the whole was sampled. One
 * window says nothing about it. */
static double error_of(double n, double x, double xx, double xn, double nn, double windows,
                       double part)
{
    if (windows < 2 || n <= 0)
        return NAN;
    double r = x / n, squares = xx - 2 * r * xn + r * r * nn;
    double variance = squares > 0 ? squares * windows / (windows - 1) / (n * n) : 0;
    return 1.96 * sqrt(variance) * 100 * (part < 1 ? part : 1);
}

/* Without a table it is as the code was. */
static const struct profile_observation *observed_as(const struct view *v)
{
    const struct observations *all = &v->profile->observations;
    const struct profile_observation *waste = observation_of(all, OBSERVED_TABLES + TABLE_WASTE);
    return waste ? waste : observation_of(all, OBSERVED_CODE);
}

/* What was seen in windows counts for more than itself if not all lines were looked at. */
static double sampled_part(const struct view *v, const struct waste_sums *s, uint64_t seen,
                           uint64_t all)
{
    bool whole = observed_as(v)->carrier == CARRIER_EXACT;
    unsigned weight = whole ? WASTE_RUN_WEIGHT : WASTE_WEIGHT;
    return !s->windows || !all ? 0 : (double)seen * weight / (double)all;
}

static void shares_make(const struct view *v, const struct profile_waste *w,
                        struct share out[SHARES])
{
    bool all = observed_as(v)->how == OBSERVED_EXACT;
    struct waste_figures f = sum(w);
    const struct waste_sums *s = &w->sums;
    double windows = (double)s->windows, stores = (double)s->seen_stores,
           loads = (double)s->seen_loads;
    double of_stores = sampled_part(v, s, s->seen_stores, f.store_bytes);
    double of_loads = sampled_part(v, s, s->seen_loads, f.load_bytes);
    out[SHARE_DEAD] = (struct share){"dead",
                                     "stores overwritten before they are read",
                                     f.dead,
                                     f.stores,
                                     f.dead_bytes,
                                     f.store_bytes,
                                     error_of(stores, (double)s->seen_dead, (double)s->dead_dead,
                                              (double)s->dead_stores, (double)s->stores_stores,
                                              windows, of_stores)};
    out[SHARE_FRAME] = (struct share){"frame", "stores whose function returns before they are read",
                                      f.frame, f.stores, f.frame_bytes, f.store_bytes, NAN};
    out[SHARE_SILENT] = (struct share){"silent",
                                       "stores of what is there already",
                                       f.silent,
                                       f.stores,
                                       f.silent_bytes,
                                       f.store_bytes,
                                       error_of(stores, (double)s->seen_silent,
                                                (double)s->silent_silent, (double)s->silent_stores,
                                                (double)s->stores_stores, windows, of_stores)};
    out[SHARE_REDUNDANT] = (struct share){
        "redundant", "loads of what has been loaded, and not changed since", f.redundant, f.loads,
        f.redundant_bytes, f.load_bytes,
        error_of(loads, (double)s->seen_redundant, (double)s->redundant_redundant,
                 (double)s->redundant_loads, (double)s->loads_loads, windows, of_loads)};
    for (unsigned i = 0; all && i < SHARES; i++)
        out[i].error = 0;
}

/* Stored bytes of which it is not known whether they were read. */
static uint64_t undecided(const struct profile_waste *w, const struct share s[SHARES])
{
    uint64_t known =
        add_saturated(add_saturated(s[SHARE_DEAD].bytes, s[SHARE_FRAME].bytes), w->sums.live_bytes);
    return s[SHARE_DEAD].of_bytes > known ? s[SHARE_DEAD].of_bytes - known : 0;
}

static uint64_t unjudged(const struct profile_waste *w, const struct share s[SHARES])
{
    uint64_t all = s[SHARE_SILENT].of_bytes;
    return all > w->sums.judged_bytes ? all - w->sums.judged_bytes : 0;
}

static uint64_t of_kind(const struct share s[SHARES], uint32_t kind)
{
    return s[kind == WASTE_REDUNDANT ? SHARE_REDUNDANT : SHARE_DEAD].of_bytes;
}

/* By bytes, most first: to free(); NULL without memory. */
static struct ranked *order_make(const struct profile_waste *w)
{
    struct ranked *order = calloc((size_t)w->pair_count + 1, sizeof *order);
    for (uint32_t i = 0; order && i < w->pair_count; i++)
        order[i] = (struct ranked){w->pairs[i].bytes, i};
    if (order)
        qsort(order, w->pair_count, sizeof *order, compare_ranked);
    return order;
}

/* ---- code ---- */

/* Images that instructions were read from. */
struct codes {
    const struct view *view;
    struct code **list;
    bool *tried;
};

static struct codes codes_make(const struct view *v)
{
    size_t images = v->profile->image_count + (size_t)1;
    return (struct codes){v, calloc(images, sizeof(struct code *)), calloc(images, sizeof(bool))};
}

static void codes_free(struct codes *c)
{
    for (uint32_t i = 0; c->list && i < c->view->profile->image_count; i++)
        if (c->list[i])
            code_close(c->list[i]);
    free(c->list);
    free(c->tried);
}

/* The instruction's text, or "" where its image cannot be read. */
static const char *instruction(struct codes *c, uint32_t image, uint64_t offset,
                               char text[X86_TEXT_SIZE])
{
    struct err ignored = {0};
    struct symbols_options options = {0};
    size_t available = 0;
    text[0] = 0;
    if (!c->list || !c->tried || image >= c->view->profile->image_count)
        return text;
    if (!c->tried[image])
        c->list[image] = code_open(&c->view->profile->images[image], &options, &ignored);
    c->tried[image] = true;
    const uint8_t *bytes = c->list[image] ? code_bytes(c->list[image], offset, &available) : NULL;
    if (bytes)
        x86_format(bytes, available < 15 ? available : 15, offset, NULL, NULL, text, X86_TEXT_SIZE);
    return text;
}

/* ---- text ---- */

static void write_shares(FILE *out, const struct profile_waste *w, const struct report_style *style,
                         const struct share s[SHARES])
{
    char number[TEXT_NUMBER_SIZE], other[TEXT_NUMBER_SIZE];
    text_colour(out, style, TEXT_DIM);
    fprintf(out, "%-10s %16s %11s  %*s\n", "", "share of bytes", "of accesses", WIDTH, "bytes");
    text_colour(out, style, TEXT_PLAIN);
    for (unsigned i = 0; i < SHARES; i++) {
        fprintf(out, "%-10s %7.2f%%", s[i].name, text_share(s[i].bytes, s[i].of_bytes));
        if (i == SHARE_FRAME || s[i].error == 0)
            fprintf(out, "        ");
        else if (isnan(s[i].error))
            fprintf(out, " +- ?   ");
        else
            fprintf(out, " +- %4.2f", s[i].error);
        fprintf(out, " %10.2f%%  %*s  %s\n", text_share(s[i].count, s[i].of_count), WIDTH,
                text_count(number, s[i].bytes), s[i].what);
    }
    fprintf(out, "of %s bytes stored, and %s loaded\n", text_count(number, s[SHARE_DEAD].of_bytes),
            text_count(other, s[SHARE_REDUNDANT].of_bytes));
    fprintf(out, "not known: of %.2f%% of what was stored, whether it was read",
            text_share(undecided(w, s), s[SHARE_DEAD].of_bytes));
    fprintf(out, "; of %.2f%%, whether it was there already\n",
            text_share(unjudged(w, s), s[SHARE_DEAD].of_bytes));
    if (w->sums.evicted)
        fprintf(out, "lines forgotten for want of room: %s\n", text_count(number, w->sums.evicted));
    if (w->sums.voids)
        fprintf(out, "times that anything may have been read unseen: %s\n",
                text_count(number, w->sums.voids));
    if (w->sums.unfollowed)
        fprintf(out, "executions of instructions whose memory is not followed: %s\n",
                text_count(number, w->sums.unfollowed));
    if (w->missed)
        fprintf(out, "%s accesses were not kept: there was no memory\n",
                text_count(number, w->missed));
    waste_paths_header(out, w);
}

static void write_place(FILE *out, const struct view *v, const struct report_style *style,
                        struct codes *codes, uint32_t image, uint32_t process, uint64_t offset)
{
    char text[X86_TEXT_SIZE];
    struct symbol_location where =
        symbols_find(v->symbols, &v->profile->processes[process], image, offset);
    size_t wide = text_name(out, instruction(codes, image, offset, text), INSTRUCTION);
    fprintf(out, "%*s  ", wide < INSTRUCTION ? (int)(INSTRUCTION - wide) : 0, "");
    text_function(out, style, where.frames[where.count - 1].function, 40);
    if (where.frames[0].line) {
        fputs("  ", out);
        text_name(out, where.frames[0].file, 40);
        fprintf(out, ":%" PRIu32, where.frames[0].line);
    }
    fputs("  ", out);
    text_name(out, symbols_place_name(v->symbols, image, offset), 0);
    fprintf(out, "+0x%" PRIx64 "\n", offset);
}

static void write_pairs(FILE *out, const struct view *v, const struct report_style *style,
                        const struct profile_waste *w, const struct share s[SHARES],
                        const struct ranked *order)
{
    char number[TEXT_NUMBER_SIZE];
    struct codes codes = codes_make(v);
    uint32_t rows = 0, limit = style->limit && style->limit < ROWS ? style->limit : ROWS;
    text_colour(out, style, TEXT_DIM);
    fprintf(out, "\n%8s  %*s  %-9s  the access in vain, and the one that makes it so\n", "share",
            WIDTH, "times", "");
    text_colour(out, style, TEXT_PLAIN);
    for (; rows < w->pair_count && rows < limit; rows++) {
        const struct profile_waste_pair *p = &w->pairs[order[rows].index];
        double share = text_share(p->bytes, of_kind(s, p->kind));
        if (share < style->min)
            break;
        fprintf(out, "%7.2f%%  %*s  %-9s  ", share, WIDTH, text_count(number, p->count),
                profile_waste_kind(p->kind));
        write_place(out, v, style, &codes, p->image, p->process, p->offset);
        fprintf(out, "%*s  ", 8 + 2 + WIDTH + 2 + 9,
                p->kind == WASTE_DEAD ? "overwritten by" : "before it");
        write_place(out, v, style, &codes, p->to_image, p->to_process, p->to);
        if (!waste_paths_text(out, v, style, w, p))
            break;
    }
    if (rows < w->pair_count)
        fprintf(out, "%" PRIu32 " more not shown (--json has all)\n", w->pair_count - rows);
    codes_free(&codes);
}

static bool text(FILE *out, const struct view *v, const void *table,
                 const struct report_style *style, struct err *e)
{
    const struct profile_waste *w = table;
    struct share s[SHARES];
    if (!w->site_count) {
        fputs("no loads and stores were observed (record --exact --tool waste, or --carrier "
              "shadow)\n",
              out);
        return true;
    }
    struct ranked *order = order_make(w);
    if (!order)
        return err_set(e, ERR_INTERNAL, "cannot order the pairs: out of memory");
    shares_make(v, w, s);
    write_shares(out, w, style, s);
    if (w->pair_count)
        write_pairs(out, v, style, w, s, order);
    free(order);
    return true;
}

/* ---- of one instruction ---- */

struct range {
    uint32_t first, end;
};

/* The records of an image's instruction. They begin with a place (profile/table/waste.c). */
static struct range range_at(const void *records, uint32_t count, size_t each, uint32_t image,
                             uint64_t offset)
{
    struct profile_place at;
    uint32_t lo = 0, hi = count;
    while (lo < hi) {
        uint32_t middle = lo + (hi - lo) / 2;
        memcpy(&at, (const char *)records + middle * each, sizeof at);
        bool before = at.image != image ? at.image + FRAME_IMAGE_FIRST < image + FRAME_IMAGE_FIRST
                                        : at.offset < offset;
        lo = before ? middle + 1 : lo;
        hi = before ? hi : middle;
    }
    for (hi = lo; hi < count; hi++) {
        memcpy(&at, (const char *)records + hi * each, sizeof at);
        if (at.image != image || at.offset != offset)
            break;
    }
    return (struct range){lo, hi};
}

static struct range sites_at(const struct profile_waste *w, uint32_t image, uint64_t offset)
{
    return range_at(w->sites, w->site_count, sizeof *w->sites, image, offset);
}

static struct range pairs_at(const struct profile_waste *w, uint32_t image, uint64_t offset)
{
    return range_at(w->pairs, w->pair_count, sizeof *w->pairs, image, offset);
}

static void write_site_at(FILE *out, const struct profile_waste_site *s, int indent)
{
    const struct waste_figures *f = &s->figures;
    char number[TEXT_NUMBER_SIZE];
    if (f->stores)
        fprintf(out, "%*sstores of %s bytes: %.1f%% dead, %.1f%% frame, %.1f%% silent\n", indent,
                "", text_count(number, f->store_bytes), text_share(f->dead_bytes, f->store_bytes),
                text_share(f->frame_bytes, f->store_bytes),
                text_share(f->silent_bytes, f->store_bytes));
    if (f->loads)
        fprintf(out, "%*sloads of %s bytes: %.1f%% redundant\n", indent, "",
                text_count(number, f->load_bytes), text_share(f->redundant_bytes, f->load_bytes));
}

static void write_pair_at(FILE *out, const struct view *v, const struct profile_waste_pair *p,
                          int indent)
{
    char number[TEXT_NUMBER_SIZE];
    struct symbol_location where =
        symbols_find(v->symbols, &v->profile->processes[p->to_process], p->to_image, p->to);
    fprintf(out, "%*s%s, %s bytes: %s ", indent + 2, "", profile_waste_kind(p->kind),
            text_count(number, p->bytes), p->kind == WASTE_DEAD ? "overwritten by" : "before it");
    text_name(out, where.frames[where.count - 1].function, 0);
    fputs("  ", out);
    text_name(out, symbols_place_name(v->symbols, p->to_image, p->to), 0);
    fprintf(out, "+0x%" PRIx64 "\n", p->to);
}

static void at(FILE *out, const struct view *v, const void *table, uint32_t image, uint64_t offset,
               int indent)
{
    const struct profile_waste *w = table;
    struct range sites = sites_at(w, image, offset), pairs = pairs_at(w, image, offset);
    for (uint32_t i = sites.first; i < sites.end; i++)
        write_site_at(out, &w->sites[i], indent);
    for (uint32_t i = pairs.first; i < pairs.end; i++)
        write_pair_at(out, v, &w->pairs[i], indent);
}

/* ---- JSON ---- */

static void json_place(struct json *j, const struct view *v, struct codes *codes, uint32_t image,
                       uint32_t process, uint64_t offset)
{
    char text[X86_TEXT_SIZE];
    struct symbol_location where =
        symbols_find(v->symbols, &v->profile->processes[process], image, offset);
    json_open(j, '{');
    json_key_string(j, "image", symbols_place_name(v->symbols, image, offset));
    json_key_address(j, "offset", offset);
    json_key_string(j, "function", where.frames[where.count - 1].function);
    json_key_string(j, "file", where.frames[0].file);
    json_key_u64(j, "line", where.frames[0].line);
    if (codes->list)
        json_key_string(j, "instruction", instruction(codes, image, offset, text));
    json_close(j, '}');
}

static void json_shares(struct json *j, const struct profile_waste *w, const struct share s[SHARES])
{
    for (unsigned i = 0; i < SHARES; i++) {
        json_key(j, s[i].name);
        json_open(j, '{');
        json_key_u64(j, "accesses", s[i].count);
        json_key_u64(j, "of_accesses", s[i].of_count);
        json_key_u64(j, "bytes", s[i].bytes);
        json_key_u64(j, "of_bytes", s[i].of_bytes);
        json_key_double(j, "percent", text_share(s[i].bytes, s[i].of_bytes));
        json_key_double(j, "error", s[i].error);
        json_close(j, '}');
    }
    json_key_u64(j, "undecided_bytes", undecided(w, s));
    json_key_u64(j, "unjudged_bytes", unjudged(w, s));
    json_key_u64(j, "windows", w->sums.windows);
    json_key_u64(j, "evicted", w->sums.evicted);
    json_key_u64(j, "voids", w->sums.voids);
    json_key_u64(j, "unfollowed", w->sums.unfollowed);
    json_key_u64(j, "missed", w->missed);
}

static void json_site(struct json *j, const struct view *v, const struct profile_waste_site *s)
{
    struct symbol_location where =
        symbols_find(v->symbols, &v->profile->processes[s->process], s->image, s->offset);
    json_open(j, '{');
    json_key_string(j, "image", symbols_place_name(v->symbols, s->image, s->offset));
    json_key_address(j, "offset", s->offset);
    json_key_string(j, "function", where.frames[where.count - 1].function);
    json_key_u64(j, "line", where.frames[0].line);
    json_key_string(j, "access", profile_waste_access(s->kind));
    json_key_u64(j, "size", s->bytes);
#define FIGURE(name) json_key_u64(j, #name, s->figures.name);
    WASTE_FIGURES(FIGURE)
#undef FIGURE
    json_close(j, '}');
}

/* paths: where its call paths are; NULL: they are left out. */
static void json_pair(struct json *j, const struct view *v, struct codes *codes,
                      const struct profile_waste *paths, const struct profile_waste_pair *p)
{
    json_open(j, '{');
    json_key_string(j, "kind", profile_waste_kind(p->kind));
    json_key_u64(j, "count", p->count);
    json_key_u64(j, "bytes", p->bytes);
    json_key(j, "access");
    json_place(j, v, codes, p->image, p->process, p->offset);
    json_key(j, "with");
    json_place(j, v, codes, p->to_image, p->to_process, p->to);
    if (paths)
        waste_paths_json(j, paths, p);
    json_close(j, '}');
}

/* Member "waste". */
static void json(struct json *j, const struct view *v, const void *table, uint32_t limit)
{
    static const struct profile_waste none;
    const struct profile_waste *w = table ? table : &none;
    struct share s[SHARES];
    struct codes codes = codes_make(v);
    struct ranked *order = order_make(w);
    j->out->failed |= !order;
    shares_make(v, w, s);
    json_key(j, "waste");
    json_open(j, '{');
    json_shares(j, w, s);
    if (!limit)
        waste_paths_json_calls(j, v, w);
    json_key(j, "accesses");
    json_open(j, '[');
    for (uint32_t i = 0; i < w->site_count && !limit; i++)
        json_site(j, v, &w->sites[i]);
    json_close(j, ']');
    json_key(j, "pairs");
    json_open(j, '[');
    for (uint32_t i = 0; order && i < (limit && limit < w->pair_count ? limit : w->pair_count); i++)
        json_pair(j, v, &codes, limit ? NULL : w, &w->pairs[order[i].index]);
    json_close(j, ']');
    json_close(j, '}');
    free(order);
    codes_free(&codes);
}

static void json_at(struct json *j, const struct view *v, const void *table, uint32_t image,
                    uint64_t offset)
{
    const struct profile_waste *w = table;
    struct codes unread = {.view = v};
    struct range sites = sites_at(w, image, offset), pairs = pairs_at(w, image, offset);
    if (sites.first == sites.end)
        return;
    json_key(j, "waste");
    json_open(j, '{');
    json_key(j, "accesses");
    json_open(j, '[');
    for (uint32_t i = sites.first; i < sites.end; i++)
        json_site(j, v, &w->sites[i]);
    json_close(j, ']');
    json_key(j, "pairs");
    json_open(j, '[');
    for (uint32_t i = pairs.first; i < pairs.end; i++)
        json_pair(j, v, &unread, NULL, &w->pairs[i]);
    json_close(j, ']');
    json_close(j, '}');
}

const struct table_view view_waste = {.text = text, .json = json, .at = at, .json_at = json_at};

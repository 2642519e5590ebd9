#include "report/counted.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"
#include "profile/simulate.h"
#include "report/ranked.h"
#include "report/text.h"
#include "sigsafe/key.h"

enum { FIELD = 10, COUNT = 18, PLACE = 32, BLOCKS = 20 };

const char *counted_function(const struct view *v, uint32_t process, uint32_t image,
                             uint64_t offset)
{
    struct symbol_location where =
        symbols_find(v->symbols, &v->profile->processes[process], image, offset);
    return where.frames[where.count - 1].function;
}

static uint64_t executed(const struct profile_block *b)
{
    return multiply_saturated(b->count, b->instructions);
}

uint32_t *counted_order(const struct profile_counts *c)
{
    uint32_t *order = calloc((size_t)c->block_count + 1, sizeof *order);
    struct ranked *list = calloc((size_t)c->block_count + 1, sizeof *list);
    for (uint32_t i = 0; order && list && i < c->block_count; i++)
        list[i] = (struct ranked){executed(&c->blocks[i]), i};
    if (order && list)
        qsort(list, c->block_count, sizeof *list, compare_ranked);
    for (uint32_t i = 0; order && list && i < c->block_count; i++)
        order[i] = list[i].index;
    if (!list) {
        free(order);
        order = NULL;
    }
    free(list);
    return order;
}

/* ---- text ---- */

static void field(FILE *out, const struct report_style *style, const char *name)
{
    text_colour(out, style, TEXT_BOLD);
    fprintf(out, "%-*s", FIELD, name);
    text_colour(out, style, TEXT_PLAIN);
}

void counted_unread(FILE *out, const struct profile_counts *c, const struct report_style *style)
{
    char number[TEXT_NUMBER_SIZE];
    if (!c->unread)
        return;
    field(out, style, "unread");
    fprintf(out, "%s transfers went to code that cannot be read: it is in none\n",
            text_count(number, c->unread));
}

static void write_engine(FILE *out, const struct view *v, const struct report_style *style)
{
    const struct profile_counts *c = observed_code(v->profile);
    char number[TEXT_NUMBER_SIZE];
    struct profile_totals totals;
    profile_totals(v->profile, &totals);
    double slowdown = profile_counts_slowdown(c, totals.cpu_ns);
    field(out, style, "engine");
    text_name(out, c->carrier, 0);
    fputs(", tool ", out);
    text_name(out, c->tool, 0);
    if (c->counted)
        fprintf(out, ": %s instructions", text_count(number, c->instructions));
    fputs(c->bursts ? ", counted within bursts\n" : "\n", out);
    if (c->from_edges)
        fprintf(out, "%*sinstructions and blocks are derived from transfers of control\n", FIELD,
                "");
    counted_unread(out, c, style);
    if (!profile_is_exact(v->profile))
        return;
    field(out, style, "slowdown");
    if (slowdown > 0)
        fprintf(out, "%.2f times the native CPU time of %s\n", slowdown,
                text_duration(number, (double)c->native_ns));
    else
        fputs("not known (record --baseline TIME says what the program takes natively)\n", out);
}

/* What is in contexts that the tree had no room for: below its pseudo nodes. */
static uint64_t folded_weight(const struct profile *p)
{
    uint64_t all = 0;
    for (uint32_t t = 0; t < p->thread_count; t++) {
        const struct profile_thread *thread = &p->threads[t];
        uint32_t end = 0; /* of the last such subtree */
        for (uint32_t i = 0; i < thread->node_count; i++) {
            const struct profile_node *n = &thread->nodes[i];
            if (i >= end && n->image == PROFILE_IMAGE_PSEUDO && n->offset == KEY_FOLDED)
                end = i + n->subtree;
            if (i < end)
                all = add_saturated(all, n->self);
        }
    }
    return all;
}

void counted_folded(FILE *out, const struct profile *p, const struct report_style *style)
{
    char number[TEXT_NUMBER_SIZE];
    /* That of a database has weights there, and a note. */
    bool counts = observed_code(p) || profile_is_simulated(p);
    uint64_t folded = counts ? folded_weight(p) : 0;
    if (!folded)
        return;
    field(out, style, "folded");
    fprintf(out,
            profile_is_simulated(p)
                ? "%s cycles, in contexts that are too deep, or more than there is room for: below "
                  "[folded], by callee\n"
                : "%s calls, in contexts deeper than --max-depth, or cold ones beyond "
                  "--max-contexts: below [folded], by callee\n",
            text_count(number, folded));
}

static void write_work(FILE *out, const struct profile_counts *c,
                       const struct profile_shadows *shadows, const struct report_style *style)
{
    char a[TEXT_NUMBER_SIZE], b[TEXT_NUMBER_SIZE], d[TEXT_NUMBER_SIZE];
    uint64_t length = shadows ? shadows->burst_length : c->length;
    if (c->bursts || (length && !shadows)) {
        field(out, style, "bursts");
        fprintf(out, "%s of %s instructions: %s executed", text_count(a, c->bursts),
                text_count(b, length), text_count(d, c->burst_instructions));
        if (c->bursts)
            fprintf(out, ", %s each in the mean",
                    text_duration(a, (double)c->burst_ns / (double)c->bursts));
        fputc('\n', out);
    }
    if (!c->translated)
        return;
    field(out, style, "code made");
    fprintf(out, "%s blocks, %s bytes, in %s", text_count(a, c->translated),
            text_count(b, c->code_bytes), text_duration(d, (double)c->translation_ns));
    fprintf(out, "; %s dispatches", text_count(a, c->dispatches));
    if (c->dispatch_ns)
        fprintf(out, " in %s", text_duration(b, (double)c->dispatch_ns));
    fputc('\n', out);
}

static void write_latencies(FILE *out, const struct profile_counts *c,
                            const struct report_style *style)
{
    char n[TEXT_NUMBER_SIZE], half[TEXT_NUMBER_SIZE], most[TEXT_NUMBER_SIZE], all[TEXT_NUMBER_SIZE];
    bool first = true;
    for (unsigned k = 0; k < LATENCY_KIND_COUNT; k++) {
        const struct latency *l = &c->latencies[k];
        uint64_t count = profile_latency_count(l);
        if (!count)
            continue;
        field(out, style, first ? "latency" : "");
        fprintf(out, "%s: median %s, p90 %s, p99 %s", profile_latency_name(k),
                text_duration(half, profile_latency_ns(l, 0.5)),
                text_duration(most, profile_latency_ns(l, 0.9)),
                text_duration(all, profile_latency_ns(l, 0.99)));
        fprintf(out, ", mean %s of %s (%s)\n",
                text_duration(half, (double)l->sum_ns / (double)count), text_count(n, count),
                profile_latency_sentence(k));
        first = false;
    }
}

void counted_stops(FILE *out, const struct profile_counts *c, const struct report_style *style)
{
    char number[TEXT_NUMBER_SIZE];
    uint64_t all = 0;
    for (unsigned i = 0; i < STOP_COUNT; i++)
        all = add_saturated(all, c->stopped[i]);
    field(out, style, "stopped");
    fprintf(out, "%s\n", all ? text_count(number, all) : "never");
    for (unsigned i = 0; i < STOP_COUNT; i++)
        if (c->stopped[i])
            fprintf(out, "%*s%10s  %s: %s\n", FIELD, "", text_count(number, c->stopped[i]),
                    profile_stop_name(i), profile_stop_sentence(i));
}

void counted_header(FILE *out, const struct view *v, const struct report_style *style)
{
    write_engine(out, v, style);
    counted_folded(out, v->profile, style);
    write_work(out, observed_code(v->profile), observed_shadows(v->profile), style);
    write_latencies(out, observed_code(v->profile), style);
    counted_stops(out, observed_code(v->profile), style);
}

static void title(FILE *out, const struct report_style *style, const char *text)
{
    text_colour(out, style, TEXT_DIM);
    fprintf(out, "%8s  %*s  %s", "share", COUNT, "instructions", text);
    text_colour(out, style, TEXT_PLAIN);
    fputc('\n', out);
}

static void write_classes(FILE *out, const struct profile_counts *c,
                          const struct report_style *style)
{
    struct ranked order[CLASS_COUNT];
    char number[TEXT_NUMBER_SIZE];
    uint64_t all = 0;
    for (unsigned i = 0; i < CLASS_COUNT; i++) {
        order[i] = (struct ranked){c->classes[i], i};
        all = add_saturated(all, c->classes[i]);
    }
    qsort(order, CLASS_COUNT, sizeof *order, compare_ranked);
    fputc('\n', out);
    title(out, style, "class");
    for (unsigned i = 0; i < CLASS_COUNT && order[i].value; i++)
        fprintf(out, "%7.2f%%  %*s  %s: %s\n", text_share(order[i].value, all), COUNT,
                text_count(number, order[i].value), profile_class_name(order[i].index),
                profile_class_sentence(order[i].index));
}

static void write_block(FILE *out, const struct view *v, const struct report_style *style,
                        const struct profile_block *b, uint64_t all)
{
    char number[TEXT_NUMBER_SIZE], place[PLACE];
    double share = text_share(executed(b), all);
    text_colour_share(out, style, share);
    fprintf(out, "%7.2f%%", share);
    text_colour(out, style, TEXT_PLAIN);
    fprintf(out, "  %*s", COUNT, text_count(number, executed(b)));
    fprintf(out, "  %*s  %5u  ", COUNT, text_count(number, b->count), b->instructions);
    snprintf(place, sizeof place, "+0x%llx", (unsigned long long)b->offset);
    text_name(out, symbols_place_name(v->symbols, b->image, b->offset), 0);
    fprintf(out, "%s  ", place);
    text_function(out, style, counted_function(v, b->process, b->image, b->offset), 0);
    fputc('\n', out);
}

static void write_edge(FILE *out, const struct view *v, const struct report_style *style,
                       const struct profile_edge *edge, uint64_t all)
{
    char number[TEXT_NUMBER_SIZE], place[PLACE];
    double share = text_share(edge->count, all);
    text_colour_share(out, style, share);
    fprintf(out, "%7.2f%%", share);
    text_colour(out, style, TEXT_PLAIN);
    fprintf(out, "  %*s  ", COUNT, text_count(number, edge->count));
    snprintf(place, sizeof place, "+0x%llx -> ", (unsigned long long)edge->from);
    text_name(out, symbols_place_name(v->symbols, edge->from_image, edge->from), 0);
    fputs(place, out);
    snprintf(place, sizeof place, "+0x%llx  ", (unsigned long long)edge->to);
    text_name(out, symbols_place_name(v->symbols, edge->to_image, edge->to), 0);
    fputs(place, out);
    text_function(out, style, counted_function(v, edge->process, edge->from_image, edge->from), 0);
    fputs(" -> ", out);
    text_function(out, style, counted_function(v, edge->process, edge->to_image, edge->to), 0);
    fputc('\n', out);
}

static bool write_edges(FILE *out, const struct view *v, const struct report_style *style,
                        struct err *e)
{
    const struct profile_counts *c = observed_code(v->profile);
    struct ranked *order = calloc(c->edge_count, sizeof *order);
    uint32_t limit = style->limit && style->limit < BLOCKS ? style->limit : BLOCKS, rows = 0;
    uint64_t all = 0;
    if (!order)
        return err_set(e, ERR_INTERNAL, "cannot order the edges: out of memory");
    for (uint32_t i = 0; i < c->edge_count; i++) {
        order[i] = (struct ranked){c->edges[i].count, i};
        all = add_saturated(all, c->edges[i].count);
    }
    qsort(order, c->edge_count, sizeof *order, compare_ranked);
    fputc('\n', out);
    text_colour(out, style, TEXT_DIM);
    fprintf(out, "%8s  %*s  %s", "share", COUNT, "executions", "transfer of control");
    text_colour(out, style, TEXT_PLAIN);
    fputc('\n', out);
    for (; rows < c->edge_count && rows < limit; rows++)
        if (text_share(order[rows].value, all) >= style->min)
            write_edge(out, v, style, &c->edges[order[rows].index], all);
        else
            break;
    if (rows < c->edge_count)
        fprintf(out, "%u more not shown (--json has all)\n", c->edge_count - rows);
    free(order);
    return true;
}

static bool write_blocks(FILE *out, const struct view *v, const struct report_style *style,
                         struct err *e)
{
    const struct profile_counts *c = observed_code(v->profile);
    char heading[96];
    uint32_t *order = counted_order(c);
    if (!order)
        return err_set(e, ERR_INTERNAL, "cannot order the blocks: out of memory");
    fputc('\n', out);
    snprintf(heading, sizeof heading, "%*s  %5s  block", COUNT, "executions", "size");
    title(out, style, heading);
    uint32_t limit = style->limit && style->limit < BLOCKS ? style->limit : BLOCKS;
    uint32_t rows = 0;
    for (; rows < c->block_count && rows < limit; rows++) {
        const struct profile_block *b = &c->blocks[order[rows]];
        if (text_share(executed(b), c->instructions) < style->min)
            break;
        write_block(out, v, style, b, c->instructions);
    }
    if (rows < c->block_count)
        fprintf(out, "%u more blocks not shown (--json has all)\n", c->block_count - rows);
    free(order);
    return true;
}

bool counted_tables(FILE *out, const struct view *v, const struct report_style *style,
                    struct err *e)
{
    const struct profile_counts *c = observed_code(v->profile);
    if (c->classified)
        write_classes(out, c, style);
    return (!c->block_count || write_blocks(out, v, style, e)) &&
           (!c->edge_count || write_edges(out, v, style, e));
}

/* ---- JSON ---- */

/* Kinds of which nothing was measured have only their count. */
static void json_latencies(struct json *j, const struct profile_counts *c)
{
    static const struct { const char *key; double share; } quantiles[] = {
        {"p50_ns", 0.5}, {"p90_ns", 0.9}, {"p99_ns", 0.99}};
    json_key(j, "latency");
    json_open(j, '{');
    for (unsigned k = 0; k < LATENCY_KIND_COUNT; k++) {
        const struct latency *l = &c->latencies[k];
        uint64_t count = profile_latency_count(l);
        json_key(j, profile_latency_name(k));
        json_open(j, '{');
        json_key_u64(j, "count", count);
        for (unsigned i = 0; count && i < sizeof quantiles / sizeof *quantiles; i++) {
            json_key(j, quantiles[i].key);
            json_double(j, profile_latency_ns(l, quantiles[i].share));
        }
        if (count) {
            json_key(j, "mean_ns");
            json_double(j, (double)l->sum_ns / (double)count);
        }
        json_close(j, '}');
    }
    json_close(j, '}');
}

static void json_observations(struct json *j, const struct observations *all)
{
    char tools[TOOLS_NAMES_MAX];
    json_key(j, "observations");
    json_open(j, '[');
    for (uint32_t i = 0; i < all->count; i++) {
        const struct profile_observation *o = &all->list[i];
        tools_names(o->tools, tools);
        json_open(j, '{');
        json_key_string(j, "kind", profile_observation_name(o->kind));
        json_key_string(j, "tool", tools);
        json_key_string(j, "how", profile_observation_how_name(o->how));
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void json_totals(struct json *j, const struct view *v)
{
    const struct profile_counts *c = observed_code(v->profile);
    struct profile_totals totals;
    profile_totals(v->profile, &totals);
    double slowdown = profile_counts_slowdown(c, totals.cpu_ns);
    json_key_string(j, "carrier", c->carrier);
    json_key_string(j, "tool", c->tool);
    json_observations(j, &v->profile->observations);
    if (c->from_edges)
        json_key_u64(j, "unread_transfers", c->unread);
    if (!observed_values(v->profile)) { /* then it is what was observed of them */
        json_key(j, "instructions");
        if (c->counted)
            json_u64(j, c->instructions);
        else
            json_double(j, NAN);
    }
    json_key(j, "slowdown");
    json_double(j, slowdown > 0 ? slowdown : NAN);
    json_key_u64(j, "folded", folded_weight(v->profile));
    json_key(j, "stopped");
    json_open(j, '{');
    for (unsigned i = 0; i < STOP_COUNT; i++)
        json_key_u64(j, profile_stop_name(i), c->stopped[i]);
    json_close(j, '}');
    json_key(j, "engine");
    json_open(j, '{');
    json_key_u64(j, "length", c->length);
    json_key_u64(j, "native_ns", c->native_ns);
    json_key_u64(j, "bursts", c->bursts);
    json_key_u64(j, "burst_instructions", c->burst_instructions);
    json_key_u64(j, "burst_ns", c->burst_ns);
    json_key_u64(j, "translated", c->translated);
    json_key_u64(j, "code_bytes", c->code_bytes);
    json_key_u64(j, "translation_ns", c->translation_ns);
    json_key_u64(j, "dispatches", c->dispatches);
    json_key_u64(j, "dispatch_ns", c->dispatch_ns);
    json_latencies(j, c);
    json_close(j, '}');
    if (!c->classified)
        return;
    json_key(j, "classes");
    json_open(j, '{');
    for (unsigned i = 0; i < CLASS_COUNT; i++)
        json_key_u64(j, profile_class_name(i), c->classes[i]);
    json_close(j, '}');
}

static void json_block(struct json *j, const struct view *v, const struct profile_block *b)
{
    json_open(j, '{');
    json_key_string(j, "image", symbols_place_name(v->symbols, b->image, b->offset));
    json_key_address(j, "offset", b->offset);
    json_key_string(j, "function", counted_function(v, b->process, b->image, b->offset));
    json_key_u64(j, "count", b->count);
    json_key_u64(j, "instructions", b->instructions);
    json_key_u64(j, "bytes", b->bytes);
    json_close(j, '}');
}

static void json_place(struct json *j, const struct view *v, const char *key, uint32_t image,
                       uint64_t offset)
{
    struct buf place = {0};
    buf_printf(&place, "%s+0x%llx", symbols_place_name(v->symbols, image, offset),
               (unsigned long long)offset);
    buf_put_u8(&place, 0);
    j->out->failed |= !buf_ok(&place);
    if (buf_ok(&place))
        json_key_string(j, key, (const char *)place.data);
    buf_free(&place);
}

void counted_json(struct json *j, const struct view *v, uint32_t limit)
{
    const struct profile_counts *c = observed_code(v->profile);
    json_totals(j, v);
    uint32_t *order = counted_order(c);
    j->out->failed |= !order;
    json_key(j, "blocks");
    json_open(j, '[');
    uint32_t blocks = limit && limit < c->block_count ? limit : c->block_count;
    for (uint32_t i = 0; order && i < blocks; i++)
        json_block(j, v, &c->blocks[order[i]]);
    json_close(j, ']');
    free(order);
    json_key(j, "edges");
    json_open(j, '[');
    for (uint32_t i = 0; !limit && i < c->edge_count; i++) {
        const struct profile_edge *edge = &c->edges[i];
        json_open(j, '{');
        json_place(j, v, "from", edge->from_image, edge->from);
        json_place(j, v, "to", edge->to_image, edge->to);
        json_key_u64(j, "count", edge->count);
        json_close(j, '}');
    }
    json_close(j, ']');
}

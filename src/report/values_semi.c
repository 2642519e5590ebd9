#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"
#include "penumbra/module.h"
#include "report/arguments.h"
#include "report/ci.h"
#include "report/compare_values.h"
#include "report/result_use.h"
#include "report/text.h"
#include "report/values_internal.h"

enum { PLACE_SIZE = 256, KEPT_LEAST = 10, JSON_MOST = 100 };

/* ---- time, by samples ---- */

static int compare_sampled(const void *a, const void *b)
{
    const struct sampled *x = a, *y = b;
    if (x->image != y->image)
        return x->image < y->image ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

bool value_samples(struct value_reader *r)
{
    const struct profile *p = r->view->profile;
    size_t nodes = 0;
    for (uint32_t t = 0; t < p->thread_count; t++)
        nodes += p->threads[t].node_count;
    r->sampled = calloc(nodes + 1, sizeof *r->sampled);
    if (!r->sampled)
        return false;
    for (uint32_t t = 0; t < p->thread_count; t++)
        for (uint32_t i = 0; i < p->threads[t].node_count; i++) {
            const struct profile_node *n = &p->threads[t].nodes[i];
            r->samples = add_saturated(r->samples, n->self);
            if (n->self)
                r->sampled[r->sampled_count++] = (struct sampled){ n->image, n->offset, n->self };
        }
    qsort(r->sampled, r->sampled_count, sizeof *r->sampled, compare_sampled);
    return true;
}

uint64_t value_samples_in(const struct value_reader *r, uint32_t image, uint64_t lo, uint64_t hi)
{
    const struct sampled first = { image, lo, 0 };
    size_t from = 0, to = r->sampled_count;
    uint64_t sum = 0;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (compare_sampled(&r->sampled[middle], &first) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    for (;
         from < r->sampled_count && r->sampled[from].image == image && r->sampled[from].offset < hi;
         from++)
        sum = add_saturated(sum, r->sampled[from].self);
    return sum;
}

/* ---- semi-invariant ---- */

struct candidate {
    const struct profile_hotlist *hotlist;
    enum result_use use; /* of a profile of all results, what it is for ... */
    /* ... and where, if not in its own instruction: offset in its image; else 0 */
    uint64_t used_at;
    double share; /* of all time: of the instruction, or for an argument of calls from there */
    double gain;  /* that times the invariance, at the lower end of its 95% interval */
};

/* Of a profile of all results (tool `results`, which no module has seen) what one is for is found
 * out by the code. */
static bool is_used(struct value_reader *r, struct candidate *c)
{
    const struct profile_hotlist *h = c->hotlist;
    struct code *code = *r->values->module ? NULL : value_code(r, h->image);
    size_t available = 0, at = 0;
    const uint8_t *bytes = code ? code_bytes(code, h->offset, &available) : NULL;
    c->use = bytes ? result_use_find(bytes, available, &at) : RESULT_USE_NONE;
    c->used_at = at ? h->offset + at : 0;
    return c->use != RESULT_USE_NONE;
}

static bool role_is_worth(uint32_t role)
{
    return role == PENUMBRA_ROLE_LOADED || role == PENUMBRA_ROLE_RESULT ||
           (role >= PENUMBRA_ROLE_ARGUMENT && role <= PENUMBRA_ROLE_TARGET);
}

static bool is_worth(struct value_reader *r, struct candidate *c)
{
    uint32_t role = r->values->kinds[c->hotlist->kind].role;
    return role_is_worth(role) && (role != PENUMBRA_ROLE_RESULT || is_used(r, c));
}

bool value_places_were_asked_for(const struct profile_values *values)
{
    for (uint32_t i = 0; i < values->kind_count; i++)
        if (role_is_worth(values->kinds[i].role))
            return true;
    return false;
}

bool value_is_unread(struct value_reader *r, const struct profile_hotlist *h)
{
    static const char argument[] = "argument ";
    const struct profile_value_kind *kind = &r->values->kinds[h->kind];
    if (kind->role != PENUMBRA_ROLE_ARGUMENT ||
        strncmp(kind->name, argument, sizeof argument - 1) != 0)
        return false;
    unsigned number = (unsigned)(unsigned char)kind->name[sizeof argument - 1] - '1';
    struct code *code = value_code(r, h->image);
    struct code_function f;
    size_t available = 0;
    const uint8_t *bytes = code ? code_bytes(code, h->offset, &available) : NULL;
    if (number > 5 || !bytes || !code_function(code, h->offset, &f) || f.start != h->offset ||
        f.end - f.start > available)
        return false;
    return !(arguments_read(bytes, f.end - f.start) >> number & 1);
}

static uint64_t observed_at(const struct profile_values *v, uint32_t image, uint64_t offset)
{
    uint32_t next;
    return compare_observed(v, profile_values_at(v, image, offset).first, &next);
}

/* Observations of the function around a place; hotlists are sorted, so it is one run of them. */
static uint64_t observed_in(struct value_reader *r, const struct profile_hotlist *at)
{
    const struct profile_values *v = r->values;
    struct code_function f;
    struct code *code = value_code(r, at->image);
    if (!code || !code_function(code, at->offset, &f))
        return observed_at(v, at->image, at->offset);
    uint64_t sum = 0, last = UINT64_MAX;
    for (const struct profile_hotlist *h = at; h < v->hotlists + v->hotlist_count; h++) {
        if (h->image != at->image || h->offset >= f.end)
            break;
        if (h->offset != last)
            sum += observed_at(v, h->image, h->offset);
        last = h->offset;
    }
    return sum;
}

static int compare_candidates(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->gain != y->gain)
        return x->gain > y->gain ? -1 : 1;
    return x->hotlist < y->hotlist ? -1 : x->hotlist > y->hotlist;
}

/* Time is known by samples. Where all results were counted there are few beside them, and shares
 * are those of instructions. */
static bool by_time(const struct value_reader *r)
{
    return r->samples && *r->values->module;
}

/* Of all samples, or where time is not known, of all instructions that were observed: what the
 * instruction of a hotlist has, or for an argument its whole function when it is called from that
 * site. */
static double share_of(struct value_reader *r, const struct profile_hotlist *h)
{
    const struct profile_values *v = r->values;
    bool argument = v->kinds[h->kind].role == PENUMBRA_ROLE_ARGUMENT;
    uint64_t here = observed_at(v, h->image, h->offset);
    struct code_function f = { .start = h->offset, .end = h->offset + 1 };
    struct code *code = argument ? value_code(r, h->image) : NULL;
    if (code && !code_function(code, h->offset, &f))
        f = (struct code_function){ .start = h->offset, .end = h->offset + 1 };
    uint64_t samples = !by_time(r) ? 0 : argument ? value_samples_in(r, h->image, f.start, f.end)
                                                  : value_samples_of(r, h->image, h->offset);
    double share = by_time(r) ? (double)samples / (double)r->samples
                   : argument ? (double)observed_in(r, h) / (double)v->tuples
                              : (double)here / (double)v->tuples;
    if (argument)
        share *= here ? (double)h->list->observed / (double)here : 0;
    return share < 1 ? share : 1;
}

/* What is left out of the list. */
struct omitted {
    uint32_t few;    /* observed too seldom to say anything */
    uint32_t spread; /* no value was kept twice */
    uint32_t unread; /* registers of arguments that the procedure does not read */
};

static int compare_places(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    const struct profile_hotlist *h = x->hotlist, *g = y->hotlist;
    uint64_t at = x->used_at ? x->used_at : h->offset, other = y->used_at ? y->used_at : g->offset;
    if (h->image != g->image)
        return h->image < g->image ? -1 : 1;
    if (at != other)
        return at < other ? -1 : 1;
    /* What the instruction itself was seen to use comes behind results that are used there. */
    return x->used_at && !y->used_at ? -1 : !x->used_at && y->used_at;
}

/* A divisor that the instruction was seen to use, and the result that it is (tool `results`), are
 * one place. */
static uint32_t leave_out_twice(const struct value_reader *r, struct candidate *list,
                                uint32_t count)
{
    uint32_t kept = 0;
    qsort(list, count, sizeof *list, compare_places);
    for (uint32_t i = 0; i < count; i++) {
        const struct candidate *before = kept ? &list[kept - 1] : NULL;
        bool operand = r->values->kinds[list[i].hotlist->kind].role != PENUMBRA_ROLE_RESULT;
        bool twice = before && operand && before->used_at &&
                     before->hotlist->image == list[i].hotlist->image &&
                     before->used_at == list[i].hotlist->offset &&
                     before->hotlist->list->observed >= list[i].hotlist->list->observed / 10 * 9;
        if (!twice)
            list[kept++] = list[i];
    }
    return kept;
}

static uint32_t find_candidates(struct value_reader *r, struct candidate *to,
                                struct omitted *omitted)
{
    const struct profile_values *v = r->values;
    uint32_t count = 0;
    for (uint32_t i = 0; i < v->hotlist_count; i++) {
        const struct profile_hotlist *h = &v->hotlists[i];
        struct candidate c = { .hotlist = h };
        if (!h->list->observed || !v->tuples || !is_worth(r, &c))
            continue;
        double kept = (double)h->list->observed * hotlist_probability(h->list);
        if (kept < (double)KEPT_LEAST) {
            omitted->few++;
            continue;
        }
        if (hotlist_is_spread(h->list)) {
            omitted->spread++;
            continue;
        }
        if (value_is_unread(r, h)) {
            omitted->unread++;
            continue;
        }
        c.share = share_of(r, h);
        c.gain = c.share * ci_wilson(hotlist_invariance(h->list), kept).low;
        to[count++] = c;
    }
    count = leave_out_twice(r, to, count);
    qsort(to, count, sizeof *to, compare_candidates);
    return count;
}

/* The ranked list, for the caller to free; NULL without memory. */
static struct candidate *candidates_make(struct value_reader *r, uint32_t *count,
                                         struct omitted *omitted)
{
    struct candidate *list = calloc(r->values->hotlist_count + 1u, sizeof *list);
    *omitted = (struct omitted){ 0 };
    if (!list || (!r->sampled && !value_samples(r))) {
        free(list);
        return NULL;
    }
    *count = find_candidates(r, list, omitted);
    return list;
}

static void json_line(struct json *j, struct value_reader *r, uint32_t image, uint64_t offset)
{
    char line[PLACE_SIZE];
    value_line(r, image, offset, line, sizeof line);
    if (line[0])
        json_key_string(j, "at", line);
}

void value_json_semi_invariant(struct json *j, struct value_reader *r)
{
    uint32_t count = 0;
    struct omitted omitted;
    struct candidate *list = candidates_make(r, &count, &omitted);
    json_key(j, "semi_invariant");
    json_open(j, '[');
    for (uint32_t i = 0; list && i < count && i < JSON_MOST; i++) {
        const struct profile_hotlist *h = list[i].hotlist;
        json_open(j, '{');
        json_key_double(j, "gain", list[i].gain);
        json_key_double(j, "time", list[i].share);
        value_json_place(j, r, h->image, h->offset);
        json_line(j, r, h->image, list[i].used_at ? list[i].used_at : h->offset);
        value_json_hotlist(j, r, h);
        if (list[i].use)
            json_key_string(j, "use", result_use_name(list[i].use));
        if (list[i].used_at)
            json_key_address(j, "used_at", list[i].used_at);
        json_close(j, '}');
    }
    json_close(j, ']');
    free(list);
}

static void print_place(FILE *out, struct value_reader *r, uint32_t image, uint64_t offset)
{
    char place[PLACE_SIZE], assembly[128], line[PLACE_SIZE];
    value_place(r, image, offset, place, sizeof place);
    value_assembly(r, image, offset, assembly, sizeof assembly);
    value_line(r, image, offset, line, sizeof line);
    text_name(out, place, 0);
    fputs(assembly[0] ? "  " : "", out);
    text_name(out, assembly, 0);
    fputs(line[0] ? "  " : "", out);
    text_name(out, line, 0);
}

static void print_candidate(FILE *out, struct value_reader *r, const struct candidate *c)
{
    const struct profile_hotlist *h = c->hotlist;
    char invariance[TEXT_NUMBER_SIZE];
    value_invariance(invariance, sizeof invariance, h->list);
    fprintf(out, "%6.2f%%  %6.2f%%  %10s  ", c->gain * 100, c->share * 100, invariance);
    print_place(out, r, h->image, h->offset);
    if (c->used_at) {
        fprintf(out, "; %s of ", result_use_name(c->use));
        print_place(out, r, h->image, c->used_at);
    }
    fprintf(out, "\n%*s", 30, "");
    value_hotlist(out, r, h);
}

bool report_semi_invariant(FILE *out, struct value_reader *r, const struct report_style *style,
                           struct err *e)
{
    uint32_t count = 0;
    struct omitted omitted;
    struct candidate *list = candidates_make(r, &count, &omitted);
    if (!list)
        return err_set(e, ERR_INTERNAL, "out of memory while values were ranked");
    fprintf(out,
            "Places worth specializing, by expected gain: share of all %s x invariance, as far as "
            "it is\n"
            "sure (the lower end of its 95%% interval)\n\n",
            by_time(r) ? "time" : "instructions");
    fprintf(out, "%7s  %7s  %10s  %s\n", "gain", "share", "invariant", "place: kind, values");
    uint32_t shown = 0;
    for (; shown < count && (!style->limit || shown < style->limit) &&
           list[shown].gain * 100 >= style->min;
         shown++)
        print_candidate(out, r, &list[shown]);
    if (shown < count)
        fprintf(out, "%u more are not shown (--min 0 --limit 0 shows all)\n", count - shown);
    if (omitted.few)
        fprintf(out,
                "%u more were observed fewer than %d times (record longer, or with a higher -F)\n",
                omitted.few, KEPT_LEAST);
    if (omitted.spread)
        fprintf(out, "%u more have many values, none of which was kept twice\n", omitted.spread);
    if (omitted.unread)
        fprintf(out,
                "%u more are in registers that the procedure called does not read as arguments\n",
                omitted.unread);
    if (!count && !omitted.few && !omitted.spread && !omitted.unread)
        fprintf(out, "(no %sdivisors, shift counts, indirect targets or loads were observed)\n",
                *r->values->module ? "arguments, " : "");
    free(list);
    return true;
}

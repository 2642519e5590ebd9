#include "cli/serve_pages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/database.h"
#include "cli/database_json.h"
#include "report/diff.h"
#include "report/html.h"

enum { HTTP_WRONG = 400, HTTP_NOT_FOUND = 404, HTTP_FAILED = 500, HTTP_LATER = 503 };
enum { SIDES = 2, SERVICES_SHOWN = 500, MS_NS = 1000000, NEIGHBOURS = 3 };
#define DAY_NS (INT64_C(86400) * 1000000000)
/* Percent: below it a page has no frames. That of a report is report --html's; a row of a
 * difference takes 20 times as much. */
#define REPORT_MIN 0.01
#define DIFF_MIN 0.05

/* ---- what is asked for ---- */

struct wanted {
    struct store_query sides[SIDES]; /* of a comparison before and after; else the first alone */
    bool compares, whole; /* whole: addresses apart */
    const char *name;
    const struct source_options *options;
    struct source *store;
    struct store_range all; /* what the database has */
};

static const char *filled(const struct web_request *r, const char *name)
{
    const char *value = web_parameter(r, name);
    return value && *value ? value : NULL;
}

static void filters_read(struct store_query *q, const struct web_request *r)
{
    q->host = filled(r, "host");
    q->service = filled(r, "service");
    q->program = filled(r, "program");
    q->binary = filled(r, "binary");
    q->function = filled(r, "function");
    q->fold = true;
}

static bool wanted_read(struct wanted *w, const struct web_request *r, struct err *e)
{
    const char *before = filled(r, "before"), *after = filled(r, "after");
    int64_t now = database_now();
    struct database_range ranges[SIDES] = {{INT64_MIN, INT64_MAX}, {INT64_MIN, INT64_MAX}};
    w->compares = before || after;
    if (w->compares && (!before || !after))
        return err_set(e, ERR_USAGE, "a comparison takes two ranges: before and after");
    bool ok = w->compares ? database_range(before, "before", now, &ranges[0], e) &&
                                database_range(after, "after", now, &ranges[1], e)
                          : database_between(filled(r, "last"), filled(r, "from"), filled(r, "to"),
                                             &ranges[0], e);
    for (unsigned i = 0; i < SIDES; i++) {
        filters_read(&w->sides[i], r);
        w->sides[i].from_ns = ranges[i].from_ns;
        w->sides[i].to_ns = ranges[i].to_ns;
    }
    return ok;
}

static const struct store_query *last_side(const struct wanted *w)
{
    return &w->sides[w->compares];
}

/* An open end is that of the database. */
static bool ends_find(struct wanted *w, struct err *e)
{
    const struct store_query all = {.from_ns = INT64_MIN, .to_ns = INT64_MAX};
    if (!source_range(w->store, &all, &w->all, e))
        return false;
    if (!w->all.slots)
        return err_set(e, ERR_NOT_FOUND, "the database has nothing yet: the daemon writes an "
                                         "interval when it is over");
    for (unsigned i = 0; i < SIDES; i++) {
        struct store_query *q = &w->sides[i];
        q->from_ns = q->from_ns == INT64_MIN ? w->all.begin_ns : q->from_ns;
        q->to_ns = q->to_ns == INT64_MAX ? database_now() : q->to_ns;
        if (q->to_ns <= q->from_ns)
            q->to_ns = q->from_ns + 1;
    }
    return true;
}

static bool wanted_begin(struct wanted *w, const struct web_request *r, struct err *e)
{
    return wanted_read(w, r, e) && source_open(&w->store, w->options, e) &&
           ends_find(w, e);
}

/* ---- reports ---- */

/* Of one range of time. */
struct side {
    struct profile *profile;
    struct symbols *symbols;
    struct view *view;
};

static bool side_open(struct side *s, struct source *store, const struct store_query *q,
                      bool by_thread, struct err *e)
{
    static const struct symbols_options quick = {.detail = SYMBOLS_QUICK};
    const struct view_options options = {.by_thread = by_thread};
    struct store_range range;
    *s = (struct side){.profile = source_get(store, q, &range, e)};
    if (s->profile)
        s->symbols = symbols_load_with(s->profile, &quick, e);
    if (s->symbols)
        s->view = view_build(s->profile, s->symbols, &options, e);
    return s->view;
}

static void side_close(struct side *s)
{
    view_free(s->view);
    symbols_free(s->symbols);
    profile_free(s->profile);
}

static bool report_put(struct buf *out, const struct wanted *w, bool of_page, struct err *e)
{
    const struct report_json_options options = {
        .tree = of_page ? JSON_TREE_OF_PAGE : JSON_TREE_NESTED,
        .min = of_page ? REPORT_MIN : 0,
        .depth = UINT32_MAX,
    };
    struct side s;
    bool ok = side_open(&s, w->store, &w->sides[0], of_page, e) &&
              report_json(out, s.view, &options, e);
    side_close(&s);
    return ok;
}

static bool diff_put(struct buf *out, const struct wanted *w, bool of_page, struct err *e)
{
    static const char *const names[] = {"before", "after"};
    struct side sides[SIDES] = {{NULL, NULL, NULL}, {NULL, NULL, NULL}};
    bool ok = side_open(&sides[0], w->store, &w->sides[0], false, e) &&
              side_open(&sides[1], w->store, &w->sides[1], false, e);
    const struct diff_run runs[] = {{sides[0].view, DIFF_BEFORE}, {sides[1].view, DIFF_AFTER}};
    struct diff *d = ok ? diff_build(runs, SIDES, DIFF_BY_TOTAL, true, e) : NULL;
    ok = d && diff_json(out, d, names, of_page, of_page ? DIFF_MIN / 100 : 0, e);
    diff_free(d);
    for (unsigned i = 0; i < SIDES; i++)
        side_close(&sides[i]);
    return ok;
}

/* ---- what the page says of the database ---- */

static void put_range(struct json *j, const char *key, const struct store_query *q)
{
    json_key(j, key);
    json_open(j, '{');
    json_key(j, "from");
    json_i64(j, q->from_ns / MS_NS);
    json_key(j, "to");
    json_i64(j, q->to_ns / MS_NS);
    json_close(j, '}');
}

static void put_chosen(struct json *j, const struct store_query *q)
{
    const char *const chosen[][2] = {{"host", q->host}, {"service", q->service},
                                     {"program", q->program}, {"binary", q->binary},
                                     {"function", q->function}};
    json_key(j, "chosen");
    json_open(j, '{');
    for (unsigned i = 0; i < sizeof chosen / sizeof chosen[0]; i++)
        if (chosen[i][1])
            json_key_string(j, chosen[i][0], chosen[i][1]);
    json_close(j, '}');
}

struct listing {
    struct json *json;
    uint32_t shown, left;
};

static void service_put(void *context, const struct store_service *s)
{
    struct listing *l = context;
    if (l->shown == SERVICES_SHOWN) {
        l->left++;
        return;
    }
    l->shown++;
    database_service_json(l->json, s);
}

static void put_found(struct json *j, const struct store_range *r, uint32_t left)
{
    json_key_u64(j, "services_left", left);
    json_key_u64(j, "intervals", r->slots);
    json_key_double(j, "sampled_s", (double)r->covered_ns / 1e9);
    json_key_double(j, "missed_s", (double)r->missed_ns / 1e9);
    json_key_double(j, "cost_s", (double)r->cost_ns / 1e9);
    json_key_u64(j, "lost", r->lost);
    json_key_u64(j, "unclean", r->unclean);
}

static int64_t clamp(int64_t at, int64_t least, int64_t most)
{
    return at < least ? least : at > most ? most : at;
}

/* The ranges with some time around them, as far as the database has it. */
static struct store_query window_of(const struct wanted *w)
{
    struct store_query q = *last_side(w);
    const int64_t begin = w->all.begin_ns, end = w->all.end_ns;
    if (w->compares) {
        q.from_ns = w->sides[0].from_ns < q.from_ns ? w->sides[0].from_ns : q.from_ns;
        q.to_ns = w->sides[0].to_ns > q.to_ns ? w->sides[0].to_ns : q.to_ns;
    }
    q.from_ns = clamp(q.from_ns, begin, end);
    q.to_ns = clamp(q.to_ns, begin, end);
    int64_t length = q.to_ns - q.from_ns, whole = end - begin;
    length = length > whole / NEIGHBOURS ? whole : length * NEIGHBOURS;
    length = clamp(length > DAY_NS ? length : DAY_NS, 0, whole);
    int64_t before = (length - (q.to_ns - q.from_ns)) / 2;
    q.from_ns = clamp(q.from_ns - before, begin, end - length);
    q.to_ns = q.from_ns + length;
    return q;
}

static bool put_services(struct json *j, const struct wanted *w, struct err *e)
{
    struct listing l = {.json = j};
    struct store_range found;
    json_key(j, "services");
    json_open(j, '[');
    bool ok = source_services(w->store, last_side(w), service_put, &l, &found, e);
    json_close(j, ']');
    put_found(j, &found, l.left);
    return ok;
}

static bool put_database(struct json *j, const struct wanted *w, struct err *e)
{
    json_key_string(j, "file", w->name);
    put_chosen(j, last_side(w));
    if (!w->store || !w->all.slots)
        return true;
    const struct store_query all = {.from_ns = w->all.begin_ns, .to_ns = w->all.end_ns};
    const struct store_query window = window_of(w);
    put_range(j, "all", &all);
    if (w->compares)
        put_range(j, "before", &w->sides[0]);
    put_range(j, "range", last_side(w));
    bool ok = put_services(j, w, e);
    json_key(j, "load");
    return database_load_json(j, w->store, &window, e) && ok;
}

/* ---- answers ---- */

static unsigned status_of(const struct err *e)
{
    switch (e->code) {
    case ERR_USAGE: return HTTP_WRONG;
    case ERR_NOT_FOUND: return HTTP_NOT_FOUND;
    case ERR_OUTPUT: return HTTP_LATER;
    default: return HTTP_FAILED;
    }
}

static void fail(struct web_answer *answer, const struct err *e)
{
    struct json j = {.out = &answer->body};
    buf_free(&answer->body);
    answer->status = status_of(e);
    answer->type = "application/json";
    answer->download = NULL;
    json_open(&j, '{');
    json_key_string(&j, "error", e->message);
    json_close(&j, '}');
    buf_put_u8(&answer->body, '\n');
}

/* {"database": ..., and "report", "diff" or "error"} */
static bool page_json(struct buf *out, struct wanted *w, const struct web_request *r,
                      unsigned *status, struct err *e)
{
    struct json j = {.out = out};
    struct err problem = {0};
    struct buf report = {0};
    bool ok = wanted_begin(w, r, &problem) &&
              (w->compares ? diff_put(&report, w, true, &problem)
                           : report_put(&report, w, true, &problem));
    /* Nothing in a range is an answer, too. */
    *status = ok || problem.code == ERR_NOT_FOUND ? 0 : status_of(&problem);
    json_open(&j, '{');
    json_key(&j, "database");
    json_open(&j, '{');
    bool put = put_database(&j, w, e);
    json_close(&j, '}');
    if (ok) {
        json_key(&j, w->compares ? "diff" : "report");
        buf_put(out, report.data, report.size);
    } else
        json_key_string(&j, "error", problem.message);
    buf_put_u8(out, '}');
    buf_free(&report);
    return put && (buf_ok(out) || err_set(e, ERR_INTERNAL, "out of memory"));
}

static bool page(struct wanted *w, const struct web_request *r, struct web_answer *answer,
                 struct err *e)
{
    struct buf json = {0};
    char *bytes = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&bytes, &size);
    const char *service = filled(r, "service");
    bool ok = out || err_set(e, ERR_INTERNAL, "out of memory");
    ok = ok && page_json(&json, w, r, &answer->status, e) &&
         report_html((const char *)json.data, json.size, service ? service : "the machine", out, e);
    if (out)
        fclose(out);
    if (ok)
        answer->body = (struct buf){.data = (uint8_t *)bytes, .size = size, .capacity = size};
    else
        free(bytes);
    buf_free(&json);
    answer->type = "text/html; charset=utf-8";
    return ok;
}

static bool api_services(struct wanted *w, const struct web_request *r, struct web_answer *answer,
                         struct err *e)
{
    struct json j = {.out = &answer->body};
    struct store_range found;
    return wanted_begin(w, r, e) &&
           database_services_json(&j, w->store, last_side(w), &found, e);
}

static bool api_report(struct wanted *w, const struct web_request *r, struct web_answer *answer,
                       struct err *e)
{
    return wanted_begin(w, r, e) && report_put(&answer->body, w, false, e);
}

static bool api_diff(struct wanted *w, const struct web_request *r, struct web_answer *answer,
                     struct err *e)
{
    return wanted_begin(w, r, e) &&
           (w->compares || err_set(e, ERR_USAGE, "diff takes two ranges: before and after")) &&
           diff_put(&answer->body, w, false, e);
}

static bool api_load(struct wanted *w, const struct web_request *r, struct web_answer *answer,
                     struct err *e)
{
    struct json j = {.out = &answer->body};
    if (!wanted_begin(w, r, e))
        return false;
    struct store_query q = *last_side(w);
    int64_t now = database_now();
    q.from_ns = q.from_ns < w->all.begin_ns ? w->all.begin_ns : q.from_ns;
    q.to_ns = q.to_ns > now ? now : q.to_ns;
    return (q.from_ns < q.to_ns ||
            err_set(e, ERR_NOT_FOUND, "the database has nothing of this range")) &&
           database_load_json(&j, w->store, &q, e);
}

static bool api_profile(struct wanted *w, const struct web_request *r, struct web_answer *answer,
                        struct err *e)
{
    struct store_range found;
    size_t size = 0;
    if (!wanted_begin(w, r, e))
        return false;
    w->sides[0].fold = false;
    struct profile *p = source_get(w->store, &w->sides[0], &found, e);
    uint8_t *bytes = p ? profile_encode(p, &size, e) : NULL;
    profile_free(p);
    answer->body = (struct buf){.data = bytes, .size = size, .capacity = size};
    answer->type = "application/octet-stream";
    answer->download = "machine.pnb";
    return bytes;
}

void serve_answer(void *context, const struct web_request *r, struct web_answer *answer)
{
    static const struct {
        const char *path;
        bool (*put)(struct wanted *w, const struct web_request *r, struct web_answer *answer,
                    struct err *e);
    } places[] = {{"/", page},
                  {"/api/services", api_services},
                  {"/api/report", api_report},
                  {"/api/diff", api_diff},
                  {"/api/load", api_load},
                  {"/api/profile.pnb", api_profile}};
    const struct serve_context *of = context;
    struct wanted w = {.name = of->name, .options = &of->source};
    struct err e = {0};
    bool ok = false;
    answer->type = "application/json";
    err_set(&e, ERR_NOT_FOUND, "there is nothing at this address");
    for (unsigned i = 0; i < sizeof places / sizeof places[0]; i++)
        if (!strcmp(web_path(r), places[i].path)) {
            e = (struct err){0};
            ok = places[i].put(&w, r, answer, &e);
        }
    source_close(w.store);
    if (!ok)
        fail(answer, &e);
}

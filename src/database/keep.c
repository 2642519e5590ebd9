/* Intervals become hours, old ones go, and all of it is looked through. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "database/counts.h"
#include "database/digest.h"
#include "database/internal.h"

/* Intervals stay apart for so long. */
#define APART_NS (2 * STORE_HOUR_NS)

void store_between(struct store *s, void (*between)(void *context), void *context)
{
    s->between = between;
    s->context = context;
}

/* As sql_end. */
static bool transaction_end(struct store *s, bool ok, struct err *e)
{
    ok = sql_end(s->db, ok, e);
    if (s->between)
        s->between(s->context);
    return ok;
}

/* ---- hours ---- */

/* Slots of one part, hour and period, but the one that they become. */
struct hour {
    int64_t part, begin_ns, period_ns, nodes, slot;
};

#define OF_HOUR "part = ? AND begin_ns >= ? AND begin_ns < ? AND period_ns = ? AND id < ?"
#define HOUR_VALUES(h) (h)->part, (h)->begin_ns, (h)->begin_ns + STORE_HOUR_NS, (h)->period_ns, \
                       (h)->slot

/* The sum of the blobs that the rows have as their only column. Frees the rows. */
static bool rows_sum(struct store *s, sqlite3_stmt *rows, int64_t nodes, struct counts *sum,
                     struct err *e)
{
    struct err problem = {0};
    struct counts one;
    bool room = true;
    while (room && !problem.code && sql_next(s->db, rows, &problem)) {
        struct sql_blob blob = sql_blob_at(rows, 0);
        if (counts_decode(&one, blob.data, blob.size, (uint32_t)nodes, &problem))
            room = counts_add_all(sum, &one);
        counts_fini(&one);
    }
    sql_free(rows);
    counts_settle(sum);
    if (problem.code)
        return err_set(e, problem.code, "%s", problem.message);
    return room || err_set(e, ERR_INTERNAL, "out of memory");
}

static bool hour_sum(struct store *s, const struct hour *h, int64_t service, struct err *e)
{
    struct counts sum = {0};
    size_t size;
    sqlite3_stmt *rows = sql_prepare(s->db, e, "SELECT bytes FROM samples WHERE service = ? AND "
                                               "slot IN (SELECT id FROM slot WHERE " OF_HOUR ")",
                                     "iiiiii", service, HOUR_VALUES(h));
    bool ok = rows && rows_sum(s, rows, h->nodes, &sum, e);
    uint8_t *bytes = ok && sum.count ? counts_encode(&sum, &size, e) : NULL;
    if (ok && sum.count) {
        const struct sql_blob blob = {bytes, size};
        ok = bytes && sql_run(s->db, e, "INSERT INTO samples (service, slot, taken, weight, bytes)"
                                        " VALUES (?, ?, ?, ?, ?)", "iiiib", service, h->slot,
                              (int64_t)sum.taken, (int64_t)sum.weight, blob);
    }
    free(bytes);
    counts_fini(&sum);
    return ok;
}

/* Calls it for each service of a part. */
static bool services_each(struct store *s, int64_t part,
                          bool (*call)(struct store *, const struct hour *, int64_t, struct err *),
                          const struct hour *h, struct err *e)
{
    struct err problem = {0};
    sqlite3_stmt *rows = sql_prepare(s->db, &problem, "SELECT id FROM service WHERE part = ?", "i",
                                     part);
    bool ok = true;
    while (ok && sql_next(s->db, rows, &problem))
        ok = call(s, h, sqlite3_column_int64(rows, 0), e);
    sql_free(rows);
    return ok && (!problem.code || err_set(e, problem.code, "%s", problem.message));
}

static bool hour_make(struct store *s, struct hour *h, struct err *e)
{
    h->slot = INT64_MAX;
    if (!sql_run(s->db, e,
                 "INSERT INTO slot (part, begin_ns, end_ns, period_ns, cpus, covered_ns, lost, "
                 "missed_ns, cost_ns) SELECT part, min(begin_ns), max(end_ns), period_ns, "
                 "max(cpus), sum(covered_ns), sum(lost), sum(missed_ns), sum(cost_ns) FROM slot "
                 "WHERE " OF_HOUR, "iiiii", HOUR_VALUES(h)))
        return false;
    h->slot = sqlite3_last_insert_rowid(s->db);
    return services_each(s, h->part, hour_sum, h, e) &&
           sql_run(s->db, e, "DELETE FROM samples WHERE service IN (SELECT id FROM service WHERE "
                             "part = ?) AND slot IN (SELECT id FROM slot WHERE " OF_HOUR ")",
                   "iiiiii", h->part, HOUR_VALUES(h)) &&
           sql_run(s->db, e, "DELETE FROM slot WHERE " OF_HOUR, "iiiii", HOUR_VALUES(h));
}

/* The next hour with several slots. *found: there is one; *merged: how many there are. */
static bool hour_find(struct store *s, int64_t now_ns, struct hour *h, bool *found,
                      uint64_t *merged, struct err *e)
{
    struct err problem = {0};
    sqlite3_stmt *rows = sql_prepare(
        s->db, &problem,
        "SELECT slot.part, begin_ns / ? AS hour, period_ns, nodes, count(*) FROM slot "
        "JOIN part ON part.id = slot.part WHERE end_ns < ? AND begin_ns >= 0 "
        "GROUP BY 1, 2, 3 HAVING count(*) > 1 AND max(end_ns) < ? LIMIT 1", "iii",
        STORE_HOUR_NS, now_ns - APART_NS, now_ns - APART_NS);
    *found = sql_next(s->db, rows, &problem);
    if (*found) {
        *h = (struct hour){.part = sqlite3_column_int64(rows, 0),
                           .begin_ns = sqlite3_column_int64(rows, 1) * STORE_HOUR_NS,
                           .period_ns = sqlite3_column_int64(rows, 2),
                           .nodes = sqlite3_column_int64(rows, 3)};
        *merged = (uint64_t)sqlite3_column_int64(rows, 4);
    }
    sql_free(rows);
    return !problem.code || err_set(e, problem.code, "%s", problem.message);
}

/* Looking and doing are one transaction: another process may collect garbage, too. */
static bool hours_make(struct store *s, int64_t now_ns, struct store_kept *done, struct err *e)
{
    struct hour h;
    bool found;
    do {
        uint64_t merged = 0;
        if (!sql_begin(s->db, e))
            return false;
        bool ok = hour_find(s, now_ns, &h, &found, &merged, e) && (!found || hour_make(s, &h, e));
        if (!transaction_end(s, ok, e))
            return false;
        done->merged += merged;
    } while (found);
    return true;
}

/* ---- a dictionary in one segment, once its day is over ---- */

static bool segments_join(struct store *s, int64_t part, struct err *e)
{
    struct dictionary words = {0};
    size_t size;
    uint8_t *bytes = NULL;
    bool ok = store_words(s, part, &words, e);
    if (ok) {
        const struct dictionary_news all = {.first_node = 1, .nodes = words.nodes + 1,
                                            .node_count = words.count - 1,
                                            .entities = words.p->entities,
                                            .entity_count = words.p->entity_count,
                                            .names = words.p->names};
        struct profile_names *none = profile_names_new(0);
        ok = none && profile_names_merge(words.p->names, none, NULL, words.p->image_count);
        profile_names_free(none);
        bytes = ok ? dictionary_write(words.p, &all, &size, e) : NULL;
    }
    const struct sql_blob blob = {bytes, bytes ? size : 0};
    ok = bytes && sql_run(s->db, e, "DELETE FROM segment WHERE part = ?", "i", part) &&
         sql_run(s->db, e, "INSERT INTO segment (part, bytes) VALUES (?, ?)", "ib", part, blob);
    free(bytes);
    dictionary_fini(&words);
    return ok;
}

/* ---- and its services' totals ---- */

/* Of the slots with one period. */
static bool total_make(struct store *s, const struct hour *h, int64_t service, struct err *e)
{
    struct counts sum = {0};
    size_t size;
    sqlite3_stmt *rows = sql_prepare(s->db, e, "SELECT bytes FROM samples JOIN slot ON slot.id = "
                                               "samples.slot WHERE service = ? AND period_ns = ?",
                                     "ii", service, h->period_ns);
    bool ok = rows && rows_sum(s, rows, h->nodes, &sum, e);
    uint8_t *bytes = ok && sum.count ? counts_encode(&sum, &size, e) : NULL;
    if (ok && sum.count) {
        const struct sql_blob blob = {bytes, size};
        ok = bytes && sql_run(s->db, e, "INSERT INTO total (service, period_ns, bytes) VALUES "
                                        "(?, ?, ?)", "iib", service, h->period_ns, blob);
    }
    free(bytes);
    counts_fini(&sum);
    return ok;
}

static bool totals_make(struct store *s, int64_t part, struct err *e)
{
    struct err problem = {0};
    bool ok = true;
    sqlite3_stmt *rows = sql_prepare(s->db, &problem, "SELECT DISTINCT period_ns, nodes FROM slot "
                                                      "JOIN part ON part.id = slot.part WHERE "
                                                      "part = ?", "i", part);
    while (ok && sql_next(s->db, rows, &problem)) {
        const struct hour all = {.part = part, .period_ns = sqlite3_column_int64(rows, 0),
                                 .nodes = sqlite3_column_int64(rows, 1)};
        ok = services_each(s, part, total_make, &all, e);
    }
    sql_free(rows);
    return ok && (!problem.code || err_set(e, problem.code, "%s", problem.message)) &&
           sql_run(s->db, e, "UPDATE part SET summed = 1 WHERE id = ?", "i", part);
}

/* All that a part has but its slots. */
static bool rows_delete(struct store *s, int64_t part, struct err *e)
{
    static const char *const statements[] = {
        "DELETE FROM total WHERE service IN (SELECT id FROM service WHERE part = ?)",
        "DELETE FROM samples WHERE service IN (SELECT id FROM service WHERE part = ?)",
        "DELETE FROM service WHERE part = ?",
        "DELETE FROM segment WHERE part = ?",
        "DELETE FROM part WHERE id = ?",
    };
    bool ok = true;
    for (unsigned i = 0; ok && i < sizeof statements / sizeof statements[0]; i++)
        ok = sql_run(s->db, e, statements[i], "i", part);
    return ok;
}

static bool digest_drop(struct store *s, int64_t part, struct err *e)
{
    int64_t digest;
    return sql_number(s->db, e, 0, &digest,
                      "SELECT digest.id FROM part JOIN part AS digest ON digest.day = part.day AND "
                      "digest.host = part.host WHERE part.id = ? AND digest.sealed = 2", "i",
                      part) &&
           (!digest || rows_delete(s, digest, e));
}

bool store_totals_drop(struct store *s, int64_t part, struct err *e)
{
    return sql_run(s->db, e, "UPDATE part SET summed = 0 WHERE id = ? AND summed", "i", part) &&
           (!sqlite3_changes64(s->db) ||
            sql_run(s->db, e, "DELETE FROM total WHERE service IN (SELECT id FROM service WHERE "
                              "part = ?)", "i", part)) &&
           digest_drop(s, part, e);
}

/* ---- and a day's digest ---- */

/* Of a day without one, whose parts all have their totals. */
static bool digest_make(struct store *s, bool *found, struct err *e)
{
    struct err problem = {0};
    char *host = NULL;
    int64_t day = 0;
    uint64_t unit_ns;
    sqlite3_stmt *rows = sql_prepare(s->db, &problem, "SELECT host, day FROM part GROUP BY 1, 2 "
                                                      "HAVING min(summed) AND max(sealed) < 2 "
                                                      "LIMIT 1", "");
    *found = sql_next(s->db, rows, &problem);
    if (*found) {
        host = strdup(sql_text_at(rows, 0));
        day = sqlite3_column_int64(rows, 1);
    }
    sql_free(rows);
    if (problem.code || !*found) {
        free(host);
        return !problem.code || err_set(e, problem.code, "%s", problem.message);
    }
    struct profile *p = host ? store_day_get(s, host, day, DIGEST_NODES, &unit_ns, &problem) : NULL;
    /* Nothing was sampled: its digest is empty. */
    if (!p && problem.code == ERR_NOT_FOUND) {
        problem = (struct err){0};
        p = profile_new();
    }
    if (!p && !problem.code)
        err_set(&problem, ERR_INTERNAL, "out of memory");
    bool ok = p && store_digest_put(s, host, day, p, unit_ns, &problem);
    profile_free(p);
    free(host);
    return ok || err_set(e, problem.code, "%s", problem.message);
}

static bool day_close(struct store *s, int64_t now_ns, bool *found, struct err *e)
{
    int64_t part;
    bool ok = sql_number(s->db, e, 0, &part,
                         "SELECT id FROM part WHERE day < ? AND NOT summed LIMIT 1", "i",
                         store_day(now_ns - STORE_HOUR_NS));
    *found = ok && part;
    return ok && (!part || (segments_join(s, part, e) && totals_make(s, part, e)));
}

static bool days_close(struct store *s, int64_t now_ns, struct err *e)
{
    bool found;
    do {
        if (!sql_begin(s->db, e) || !transaction_end(s, day_close(s, now_ns, &found, e), e))
            return false;
    } while (found);
    do {
        if (!sql_begin(s->db, e) || !transaction_end(s, digest_make(s, &found, e), e))
            return false;
    } while (found);
    return true;
}

/* ---- what goes ---- */

static bool part_delete(struct store *s, int64_t part, struct store_kept *done, struct err *e)
{
    bool ok = store_totals_drop(s, part, e) &&
              sql_run(s->db, e, "DELETE FROM slot WHERE part = ?", "i", part);
    done->slots += ok ? (uint64_t)sqlite3_changes64(s->db) : 0;
    done->parts += ok;
    return ok && rows_delete(s, part, e);
}

static bool old_delete(struct store *s, int64_t before_ns, struct store_kept *done, struct err *e)
{
    int64_t part = 0;
    do {
        if (!sql_number(s->db, e, 0, &part,
                        "SELECT id FROM part WHERE sealed < 2 AND NOT EXISTS (SELECT 1 FROM slot "
                        "WHERE slot.part = part.id AND end_ns >= ?) LIMIT 1", "i", before_ns) ||
            (part && !part_delete(s, part, done, e)))
            return false;
    } while (part);
    return sql_run(s->db, e, "DELETE FROM run WHERE last_ns < ? AND id < (SELECT max(id) FROM run)",
                   "i", before_ns);
}

static bool bytes_used(struct store *s, int64_t *bytes, struct err *e)
{
    int64_t pages, spare, each;
    bool ok = sql_number(s->db, e, 0, &pages, "PRAGMA page_count", "") &&
              sql_number(s->db, e, 0, &spare, "PRAGMA freelist_count", "") &&
              sql_number(s->db, e, 0, &each, "PRAGMA page_size", "");
    *bytes = ok ? (pages - spare) * each : 0;
    return ok;
}

/* Of the last part that there is: the earlier half; what comes gets a part of its own. */
static bool half_delete(struct store *s, int64_t part, struct store_kept *done, bool *any,
                        struct err *e)
{
    static const char early[] =
        "DELETE FROM slot WHERE id IN (SELECT id FROM slot WHERE part = ? ORDER BY begin_ns LIMIT "
        "(SELECT (count(*) + 1) / 2 FROM slot WHERE part = ?))";
    bool ok = sql_run(s->db, e, early, "ii", part, part);
    *any = ok && sqlite3_changes64(s->db);
    done->slots += ok ? (uint64_t)sqlite3_changes64(s->db) : 0;
    return ok && store_totals_drop(s, part, e) &&
           sql_run(s->db, e, "DELETE FROM samples WHERE slot NOT IN (SELECT id FROM slot)", "") &&
           sql_run(s->db, e, "UPDATE part SET sealed = 1 WHERE id = ?", "i", part);
}

static bool excess_delete(struct store *s, uint64_t most, struct store_kept *done, struct err *e)
{
    for (bool any = true; any;) {
        int64_t parts, oldest;
        if (!bytes_used(s, &done->bytes, e) ||
            !sql_number(s->db, e, 0, &parts, "SELECT count(*) FROM part WHERE sealed < 2", "") ||
            !sql_number(s->db, e, 0, &oldest,
                        "SELECT id FROM part WHERE sealed < 2 ORDER BY day, id LIMIT 1", ""))
            return false;
        if (!most || done->bytes <= (int64_t)most || !oldest)
            return true;
        if (!(parts > 1 ? part_delete(s, oldest, done, e)
                        : half_delete(s, oldest, done, &any, e)))
            return false;
    }
    return true;
}

static bool garbage_collect(struct store *s, const struct store_bounds *b, int64_t now_ns,
                            struct store_kept *done, struct err *e)
{
    bool bounded = b->keep_ns && b->keep_ns < (uint64_t)INT64_MAX && now_ns > (int64_t)b->keep_ns;
    return (!bounded || old_delete(s, now_ns - (int64_t)b->keep_ns, done, e)) &&
           excess_delete(s, b->most_bytes, done, e);
}

bool store_keep(struct store *s, const struct store_bounds *b, int64_t now_ns,
                struct store_kept *done, struct err *e)
{
    *done = (struct store_kept){0};
    return hours_make(s, now_ns, done, e) && days_close(s, now_ns, e) && sql_begin(s->db, e) &&
           transaction_end(s, garbage_collect(s, b, now_ns, done, e), e) &&
           sql_script(s->db, e, "PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE);") &&
           bytes_used(s, &done->bytes, e);
}

/* ---- looking through ---- */

struct checking {
    struct store *s;
    void (*tell)(void *context, const char *problem);
    void *context;
    struct err *e;
};

static void tell(const struct checking *c, const char *what, int64_t id, const char *problem)
{
    char line[1280];
    snprintf(line, sizeof line, "%s %" PRId64 ": %s", what, id, problem);
    c->tell(c->context, line);
}

static bool file_check(const struct checking *c)
{
    struct err problem = {0};
    sqlite3_stmt *rows = sql_prepare(c->s->db, &problem, "PRAGMA integrity_check", "");
    while (sql_next(c->s->db, rows, &problem)) {
        const char *line = sql_text_at(rows, 0);
        if (sqlite3_stricmp(line, "ok") != 0)
            c->tell(c->context, line);
    }
    sql_free(rows);
    if (problem.code)
        c->tell(c->context, problem.message);
    return !problem.code;
}

/* Rows whose owner is missing. */
static void orphans_check(const struct checking *c)
{
    static const char *const queries[][2] = {
        {"samples of no slot", "SELECT count(*) FROM samples WHERE slot NOT IN (SELECT id FROM "
                               "slot)"},
        {"samples of no service", "SELECT count(*) FROM samples WHERE service NOT IN (SELECT id "
                                  "FROM service)"},
        {"slots of no day", "SELECT count(*) FROM slot WHERE part NOT IN (SELECT id FROM part)"},
        {"segments of no day", "SELECT count(*) FROM segment WHERE part NOT IN (SELECT id FROM "
                               "part)"},
        {"services of no day", "SELECT count(*) FROM service WHERE part NOT IN (SELECT id FROM "
                               "part)"},
        {"digests of no day", "SELECT count(*) FROM part AS digest WHERE sealed = 2 AND NOT EXISTS "
                              "(SELECT 1 FROM part WHERE part.day = digest.day AND part.host = "
                              "digest.host AND part.sealed < 2)"},
        {"slots that end before they begin", "SELECT count(*) FROM slot WHERE end_ns < begin_ns "
                                             "OR period_ns <= 0"},
    };
    for (unsigned i = 0; i < sizeof queries / sizeof queries[0]; i++) {
        struct err problem = {0};
        char line[128];
        int64_t n;
        if (!sql_number(c->s->db, &problem, 0, &n, queries[i][1], ""))
            c->tell(c->context, problem.message);
        if (n) {
            snprintf(line, sizeof line, "%" PRId64 " %s", n, queries[i][0]);
            c->tell(c->context, line);
        }
    }
}

static void samples_check(const struct checking *c, int64_t part, uint32_t nodes)
{
    struct err problem = {0};
    sqlite3_stmt *rows = sql_prepare(c->s->db, &problem,
                                     "SELECT slot, bytes FROM samples WHERE service IN (SELECT id "
                                     "FROM service WHERE part = ?) UNION ALL "
                                     "SELECT 0, bytes FROM total WHERE service IN (SELECT id "
                                     "FROM service WHERE part = ?)", "ii", part, part);
    while (sql_next(c->s->db, rows, &problem)) {
        struct sql_blob blob = sql_blob_at(rows, 1);
        struct err damage = {0};
        struct counts counts;
        if (!counts_decode(&counts, blob.data, blob.size, nodes, &damage))
            tell(c, "slot", sqlite3_column_int64(rows, 0), damage.message);
        counts_fini(&counts);
    }
    sql_free(rows);
    if (problem.code)
        tell(c, "day", part, problem.message);
}

static void part_check(const struct checking *c, int64_t part, int64_t nodes)
{
    struct err problem = {0};
    struct dictionary words = {0};
    if (!store_words(c->s, part, &words, &problem))
        tell(c, "day", part, problem.message);
    else if (words.count != nodes)
        tell(c, "day", part, "its dictionary has another number of nodes than it should");
    samples_check(c, part, words.count);
    dictionary_fini(&words);
}

bool store_check(struct store *s, void (*say)(void *context, const char *problem), void *context,
                 struct err *e)
{
    const struct checking c = {s, say, context, e};
    struct err problem = {0};
    if (!file_check(&c))
        return true;
    orphans_check(&c);
    sqlite3_stmt *rows = sql_prepare(s->db, &problem, "SELECT id, nodes FROM part ORDER BY id", "");
    while (sql_next(s->db, rows, &problem))
        part_check(&c, sqlite3_column_int64(rows, 0), sqlite3_column_int64(rows, 1));
    sql_free(rows);
    return !problem.code || err_set(e, problem.code, "%s", problem.message);
}

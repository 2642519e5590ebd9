#include "fleet/read.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "fleet/batch.h"
#include "fleet/where.h"

#define S_NS INT64_C(1000000000)
#define HOUR_NS (3600 * S_NS)

/* ---- the range ---- */

static bool range_take(void *context, struct tsv *t, char **fields)
{
    struct fleet_found *r = context;
    const char *at = fields[8];
    uint64_t period;
    r->range = (struct store_range){.begin_ns = tsv_i64(t, fields[0]),
                                    .end_ns = tsv_i64(t, fields[1]),
                                    .slots = tsv_u64(t, fields[2]),
                                    .covered_ns = tsv_u64(t, fields[3]) * FLEET_UNIT_NS,
                                    .missed_ns = tsv_u64(t, fields[4]) * FLEET_UNIT_NS,
                                    .lost = tsv_u64(t, fields[5]),
                                    .cost_ns = tsv_u64(t, fields[6]) * FLEET_UNIT_NS};
    r->cpus = (uint32_t)tsv_u64(t, fields[7]);
    while (tsv_list(t, &at, &period))
        r->period_us = store_common(period, r->period_us);
    if (!r->period_us)
        r->period_us = 1;
    return true;
}

bool fleet_find(struct fleet *f, const struct store_query *q, struct fleet_found *found,
                struct err *e)
{
    struct buf text = {0};
    const struct store_query all = where_all(q);
    *found = (struct fleet_found){.cpus = 0};
    buf_puts(&text, where_is_exact(q)
                        ? "SELECT min(begin_ns), max(end_ns)"
                        : "SELECT min(toInt64(hour)) * 1000000000, (max(toInt64(hour)) + 3600) * "
                          "1000000000");
    buf_puts(&text, ", sum(slots), sum(covered), sum(missed), sum(lost), sum(cost), max(cpus), "
                    "groupUniqArray(item)");
    where_put(&text, f, &all, FLEET_SLOT);
    bool ok = where_rows(f, &text, 9, range_take, found, e);
    buf_free(&text);
    if (ok && !found->range.slots)
        found->range = (struct store_range){0};
    return ok;
}

bool fleet_range(struct fleet *f, const struct store_query *q, struct store_range *range,
                 struct err *e)
{
    struct fleet_found found;
    bool ok = fleet_find(f, q, &found, e);
    *range = found.range;
    return ok;
}

/* ---- services ---- */

struct telling {
    void (*tell)(void *context, const struct store_service *service);
    void *context;
    const char *host;
};

static bool service_take(void *context, struct tsv *t, char **fields)
{
    const struct telling *to = context;
    const struct store_service service = {.host = to->host, .service = fields[0],
                                          .program = fields[1], .samples = tsv_u64(t, fields[2]),
                                          .weight_ns = tsv_u64(t, fields[3]) * FLEET_UNIT_NS};
    if (!t->failed)
        to->tell(to->context, &service);
    return true;
}

bool fleet_services(struct fleet *f, const struct store_query *q,
                    void (*tell)(void *context, const struct store_service *service),
                    void *context, struct store_range *range, struct err *e)
{
    struct buf text = {0};
    const struct store_query all = where_all(q);
    struct telling to = {tell, context, q->host ? q->host : ""};
    if (!fleet_range(f, q, range, e))
        return false;
    buf_puts(&text, "SELECT service, program, sum(taken), sum(weight) AS spent");
    where_put(&text, f, &all, FLEET_TOTAL);
    buf_puts(&text, " GROUP BY service, program ORDER BY spent DESC, service, program");
    bool ok = where_rows(f, &text, 4, service_take, &to, e);
    buf_free(&text);
    return ok;
}

/* ---- load ---- */

static bool load_take(void *context, struct tsv *t, char **fields)
{
    int64_t begin = tsv_i64(t, fields[0]), end = tsv_i64(t, fields[1]);
    double covered = (double)tsv_u64(t, fields[2]) * (double)FLEET_UNIT_NS;
    double weight = (double)tsv_u64(t, fields[3]) * (double)FLEET_UNIT_NS;
    if (end < begin || begin < 0)
        tsv_fail(t, "an interval that ends after it begins");
    if (!t->failed)
        store_load_add(context, begin, end, covered, weight);
    return true;
}

bool fleet_load(struct fleet *f, const struct store_query *q, uint32_t most,
                struct store_load *load, struct err *e)
{
    const struct store_query all = where_all(q);
    const char *times = where_is_exact(q)
                            ? "begin_ns AS b, end_ns AS n"
                            : "toInt64(hour) * 1000000000 AS b, "
                              "(toInt64(hour) + 3600) * 1000000000 AS n";
    bool ok = store_load_begin(load, q, most, e);
    for (unsigned i = 0; ok && i < 2; i++) {
        struct buf text = {0};
        buf_printf(&text, "SELECT %s, sum(covered), sum(weight)", times);
        where_put(&text, f, i ? q : &all, i ? FLEET_TOTAL : FLEET_SLOT);
        buf_puts(&text, " GROUP BY b, n");
        ok = where_rows(f, &text, 4, load_take, load, e);
        buf_free(&text);
    }
    return ok;
}

/* ---- what goes ---- */

struct dropping {
    char (*days)[16];
    size_t count, capacity;
};

static bool day_take(void *context, struct tsv *t, char **fields)
{
    struct dropping *d = context;
    if (strlen(fields[0]) != 10 || strspn(fields[0], "0123456789-") != 10) {
        tsv_fail(t, "a day");
        return false;
    }
    if (!ARRAY_ROOM(d->days, d->count, d->capacity))
        return err_set(t->e, ERR_INTERNAL, "out of memory");
    strcpy(d->days[d->count++], fields[0]);
    return true;
}

static bool table_drop(struct fleet *f, const char *table, const char *before, uint64_t *days,
                       struct err *e)
{
    struct buf text = {0};
    struct dropping d = {.days = NULL};
    buf_printf(&text, "SELECT DISTINCT toString(day) FROM %s.%s WHERE day < '%s'",
               fleet_database(f), table, before);
    bool ok = where_rows(f, &text, 1, day_take, &d, e);
    for (size_t i = 0; ok && i < d.count; i++) {
        text.size = 0;
        buf_printf(&text, "ALTER TABLE %s.%s DROP PARTITION '%s'", fleet_database(f), table,
                   d.days[i]);
        ok = fleet_ask(f, &text, NULL, e);
    }
    *days = d.count;
    buf_free(&text);
    free(d.days);
    return ok;
}

bool fleet_drop(struct fleet *f, int64_t before_ns, uint64_t *days, struct err *e)
{
    char before[BATCH_DAY_SIZE];
    uint64_t ignored;
    *days = 0;
    if (before_ns <= 0)
        return true;
    batch_day(before, (uint64_t)(before_ns / (24 * HOUR_NS)));
    /* Samples first: they refer to the others. */
    return table_drop(f, "samples", before, days, e) &&
           table_drop(f, "stacks", before, &ignored, e) &&
           table_drop(f, "frames", before, &ignored, e);
}

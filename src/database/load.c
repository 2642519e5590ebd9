/* When a service used the processors. */
#include <stdlib.h>

#include "database/internal.h"

#define MINUTE_NS (INT64_C(60) * 1000000000)

/* The shortest step by which a range has no more than so many. */
static int64_t step_for(int64_t length_ns, uint32_t most)
{
    static const int64_t minutes[] = {1, 5, 15, 60, 180, 360, 1440};
    enum { STEPS = sizeof minutes / sizeof minutes[0] };
    for (unsigned i = 0; i < STEPS; i++)
        if (length_ns / (minutes[i] * MINUTE_NS) + 2 <= most)
            return minutes[i] * MINUTE_NS;
    int64_t days = length_ns / STORE_DAY_NS / (most > 2 ? most - 2 : 1) + 1;
    return days * STORE_DAY_NS;
}

void store_load_add(struct store_load *load, int64_t begin, int64_t end, double covered,
                    double weight)
{
    int64_t last = load->begin_ns + load->step_ns * load->count;
    double length = (double)end - (double)begin;
    int64_t at = begin > load->begin_ns ? begin : load->begin_ns;
    while (at < end && at < last) {
        uint32_t step = (uint32_t)((at - load->begin_ns) / load->step_ns);
        int64_t next = load->begin_ns + load->step_ns * (step + 1);
        double part = (double)((next < end ? next : end) - at) / length;
        load->weight_ns[step] += weight * part;
        load->covered_ns[step] += covered * part;
        at = next;
    }
}

bool store_load_begin(struct store_load *load, const struct store_query *q, uint32_t most,
                      struct err *e)
{
    *load = (struct store_load){.step_ns = step_for(q->to_ns - q->from_ns, most)};
    int64_t first = q->from_ns / load->step_ns - (q->from_ns % load->step_ns < 0);
    load->begin_ns = first * load->step_ns;
    load->count = (uint32_t)((q->to_ns - load->begin_ns - 1) / load->step_ns + 1);
    load->weight_ns = calloc(load->count, sizeof *load->weight_ns);
    load->covered_ns = calloc(load->count, sizeof *load->covered_ns);
    return (load->weight_ns && load->covered_ns) || err_set(e, ERR_INTERNAL, "out of memory");
}

bool store_load(struct store *s, const struct store_query *q, uint32_t most,
                struct store_load *load, struct err *e)
{
    struct err problem = {0};
    const char *host = q->host ? q->host : "", *service = q->service ? q->service : "";
    const char *program = q->program ? q->program : "";
    if (!store_load_begin(load, q, most, e))
        return false;
    sqlite3_stmt *rows = sql_prepare(
        s->db, &problem,
        "SELECT slot.begin_ns, slot.end_ns, slot.covered_ns, slot.period_ns * "
        "(SELECT total(samples.weight) FROM service CROSS JOIN samples ON samples.service = "
        "service.id AND samples.slot = slot.id WHERE service.part = slot.part AND "
        "(? = '' OR service.name = ?) AND (? = '' OR service.program = ?)) "
        "FROM slot JOIN part ON part.id = slot.part WHERE" IN_RANGE OF_HOST, "ssssiiss", service,
        service, program, program, q->from_ns, q->to_ns, host, host);
    while (sql_next(s->db, rows, &problem))
        store_load_add(load, store_moment_at(rows, 0), store_moment_at(rows, 1),
                             sqlite3_column_double(rows, 2), sqlite3_column_double(rows, 3));
    sql_free(rows);
    return !problem.code || err_set(e, problem.code, "%s", problem.message);
}

void store_load_fini(struct store_load *load)
{
    free(load->weight_ns);
    free(load->covered_ns);
    *load = (struct store_load){.count = 0};
}

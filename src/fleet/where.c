#include "fleet/where.h"

#include <inttypes.h>
#include <string.h>

#include "fleet/batch.h"
#include "fleet/symbols.h"

#define S_NS INT64_C(1000000000)
#define HOUR_S INT64_C(3600)
#define DAY_S INT64_C(86400)
#define EXACT_NS (3 * HOUR_S * S_NS)

enum { FIELDS_MOST = 16 };

/* Times that the store can have. */
static int64_t clamped(int64_t ns)
{
    const int64_t most = FLEET_LAST_S * S_NS;
    return ns < 0 ? 0 : ns > most ? most : ns;
}

bool where_is_exact(const struct store_query *q)
{
    return q->host || clamped(q->to_ns) - clamped(q->from_ns) < EXACT_NS;
}

struct store_query where_all(const struct store_query *q)
{
    return (struct store_query){.from_ns = q->from_ns, .to_ns = q->to_ns, .host = q->host};
}

/* An interval may begin in the day, or the hour, before its middle. */
void where_days_put(struct buf *b, const struct store_query *q)
{
    char first[BATCH_DAY_SIZE], last[BATCH_DAY_SIZE];
    int64_t from = clamped(q->from_ns) / S_NS - HOUR_S;
    batch_day(first, (uint64_t)(from < 0 ? 0 : from / DAY_S));
    batch_day(last, (uint64_t)(clamped(q->to_ns) / S_NS / DAY_S));
    buf_printf(b, "day >= '%s' AND day <= '%s'", first, last);
}

static void put_equal(struct buf *b, const char *column, const char *value)
{
    buf_printf(b, "%s = ", column);
    tsv_put_literal(b, value);
}

/* Numbers of frames in a binary, or of functions whose names hold a text. */
static void put_frames(struct buf *b, const struct fleet *f, const struct store_query *q)
{
    buf_printf(b, "FROM %s.frames WHERE ", fleet_database(f));
    where_days_put(b, q);
}

/* As fold.c: a path, a file's name, a build-id, or what stands for entities' files. */
static void put_binary(struct buf *b, const struct fleet *f, const struct store_query *q)
{
    buf_puts(b, " AND arrayElement(frames, -1) IN (SELECT id ");
    put_frames(b, f, q);
    buf_puts(b, " AND (");
    put_equal(b, "path", q->binary);
    buf_puts(b, " OR ");
    put_equal(b, "build_id", q->binary);
    buf_puts(b, " OR (kind = 0 AND ");
    put_equal(b, "splitByChar('/', path)[-1]", q->binary);
    buf_puts(b, ")");
    for (unsigned k = 0; k < ENTITY_KIND_COUNT; k++)
        if (!strcmp(entity_kind_place(k), q->binary))
            buf_printf(b, " OR kind = %u", FRAME_ENTITY + k);
    buf_puts(b, "))");
}

static void put_function(struct buf *b, const struct fleet *f, const struct store_query *q)
{
    buf_puts(b, " AND hasAny(frames, (SELECT groupUniqArray(id) ");
    put_frames(b, f, q);
    buf_puts(b, " AND (position(function, ");
    tsv_put_literal(b, q->function);
    buf_puts(b, ") > 0");
    if (fleet_has_symbols(f)) {
        buf_puts(b, " OR ");
        symbols_put_named(b, f, q);
    }
    buf_puts(b, ")))");
}

static void put_stacks(struct buf *b, const struct fleet *f, const struct store_query *q)
{
    buf_printf(b, " AND item IN (SELECT id FROM %s.stacks WHERE ", fleet_database(f));
    where_days_put(b, q);
    if (q->binary)
        put_binary(b, f, q);
    if (q->function)
        put_function(b, f, q);
    buf_puts(b, ")");
}

void where_put(struct buf *b, const struct fleet *f, const struct store_query *q,
               enum fleet_kind kind)
{
    const bool exact = where_is_exact(q);
    const int64_t from = clamped(q->from_ns), to = clamped(q->to_ns);
    const int64_t half = exact ? HOUR_S : HOUR_S / 2;
    /* Of hours, the first second from the moment on; of intervals, an hour more than that. */
    int64_t first = (from + S_NS - 1) / S_NS - half - (exact ? HOUR_S : 0);
    int64_t end = (to + S_NS - 1) / S_NS - (exact ? 0 : half);
    buf_printf(b, " FROM %s.samples WHERE ", fleet_database(f));
    where_days_put(b, q);
    buf_printf(b, " AND kind = %d AND hour >= %" PRId64 " AND hour < %" PRId64,
               (int)kind + (exact ? 0 : FLEET_HOURS), first < 0 ? 0 : first, end < 0 ? 0 : end);
    if (exact)
        buf_printf(b, " AND begin_ns + intDiv(end_ns - begin_ns, 2) >= %" PRId64 " AND begin_ns + "
                      "intDiv(end_ns - begin_ns, 2) < %" PRId64, from, to);
    const char *const equal[][2] = {{"host", exact ? q->host : ""},
                                    {"service", q->service},
                                    {"program", q->program}};
    for (unsigned i = 0; i < sizeof equal / sizeof equal[0]; i++)
        if (equal[i][1]) {
            buf_puts(b, " AND ");
            put_equal(b, equal[i][0], equal[i][1]);
        }
    if (kind == FLEET_STACK && (q->binary || q->function))
        put_stacks(b, f, q);
}

bool where_rows(struct fleet *f, const struct buf *statement, unsigned count,
                bool (*take)(void *context, struct tsv *t, char **fields), void *context,
                struct err *e)
{
    struct buf answer = {0};
    char *fields[FIELDS_MOST];
    bool ok = fleet_ask(f, statement, &answer, e);
    size_t size = answer.size;
    buf_put_u8(&answer, '\0');
    ok = ok && (buf_ok(&answer) || err_set(e, ERR_INTERNAL, "out of memory"));
    struct tsv t = {.data = (char *)answer.data, .size = size, .e = e};
    while (ok && tsv_row(&t, fields, count))
        ok = take(context, &t, fields) && !t.failed;
    buf_free(&answer);
    return ok && !t.failed;
}

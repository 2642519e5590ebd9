#include "fleet/symbols.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "fleet/fleet.h"
#include "fleet/naming.h"
#include "fleet/schema.h"
#include "fleet/where.h"

/* A function is there once a page that it lies in: what is asked for are pages with samples.
 *
 *     symbols   build_id   page             start   size   function
 *               5ca1...    start >> 16      0x1f0   0x90   main
 */
enum { PAGE_BITS = 16, ROW_WORDS = 128, ROWS_MANY = 16 << 20, NUMBERS_MOST = 20000 };

/* ---- uploading ---- */

bool fleet_function_put(struct buf *rows, const struct fleet_function *one)
{
    const uint64_t first = one->start >> PAGE_BITS, last = (one->end - 1) >> PAGE_BITS;
    /* A hostile file's functions are as long as addresses go, and so are their names. */
    if (!*one->name || one->end <= one->start || one->end > KEY_OFFSET_MASK ||
        last - first >= ROWS_MANY / (ROW_WORDS + strlen(one->name)))
        return false;
    for (uint64_t page = first; page <= last; page++) {
        profile_build_id_put(one->image, rows);
        buf_printf(rows, "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t", page, one->start,
                   one->end - one->start);
        tsv_put_text(rows, one->name);
        buf_put_u8(rows, '\n');
    }
    return true;
}

bool fleet_functions_send(struct fleet *f, struct buf *rows, bool all, struct err *e)
{
    char id[64];
    uint64_t number;
    if (!buf_ok(rows))
        return err_set(e, ERR_INTERNAL, "out of memory");
    if (!rows->size || (!all && rows->size < ROWS_MANY))
        return true;
    if (getrandom(&number, sizeof number, 0) != sizeof number)
        return err_set(e, ERR_INTERNAL, "no random numbers");
    snprintf(id, sizeof id, "penumbra-symbols-%016" PRIx64, number);
    bool ok = fleet_insert(f, "symbols", FLEET_SYMBOLS_COLUMNS, id, rows, e);
    rows->size = 0;
    return ok;
}

/* ---- frames without a name ---- */

/* From `first` on, what one statement asks for becomes the run. */
static void run_ask(struct naming *n, const struct fleet *f, size_t first, struct buf *text)
{
    const uint32_t image = n->list[first].image;
    uint64_t last = UINT64_MAX;
    size_t at = first;
    buf_printf(text, "SELECT start, size, function FROM %s.symbols WHERE build_id = '",
               fleet_database(f));
    profile_build_id_put(&n->a->p->images[image], text);
    buf_puts(text, "' AND page IN (");
    for (unsigned pages = 0; at < n->count && n->list[at].image == image; at++) {
        uint64_t page = n->list[at].offset >> PAGE_BITS;
        if (page == last)
            continue;
        if (pages++ == NUMBERS_MOST)
            break;
        buf_puts(text, last == UINT64_MAX ? "" : ",");
        buf_put_decimal(text, page);
        last = page;
    }
    buf_puts(text, ")");
    n->run = n->list + first;
    n->run_count = at - first;
}

static bool row_take(void *context, struct tsv *t, char **fields)
{
    return naming_row(context, t, fields);
}

bool symbols_name(struct fleet *f, struct words *w, struct answer *a, struct err *e)
{
    struct naming n;
    bool ok = naming_begin(&n, w, a) || err_set(e, ERR_INTERNAL, "out of memory");
    for (size_t at = 0; ok && at < n.count; at += n.run_count) {
        struct buf text = {0};
        run_ask(&n, f, at, &text);
        ok = where_rows(f, &text, NAMING_FIELDS, row_take, &n, e);
        buf_free(&text);
        naming_settle(&n);
    }
    naming_fini(&n);
    return ok;
}

/* ---- conditions ---- */

bool symbols_look(struct fleet *f, struct err *e)
{
    bool there, ok = fleet_has_table(f, "symbols", &there, e);
    fleet_symbols_set(f, ok && there);
    return ok;
}

void symbols_put_named(struct buf *b, const struct fleet *f, const struct store_query *q)
{
    const char *database = fleet_database(f);
    buf_printf(b, "id IN (SELECT id FROM (SELECT id, build_id, at, intDiv(at, toUInt64(%d)) AS "
                  "page FROM %s.frames WHERE ", 1 << PAGE_BITS, database);
    where_days_put(b, q);
    buf_printf(b, " AND kind = %d AND function = '') ALL INNER JOIN (SELECT build_id, page, start, "
                  "size FROM %s.symbols WHERE position(function, ", (int)FRAME_CODE, database);
    tsv_put_literal(b, q->function);
    buf_puts(b, ") > 0) USING (build_id, page) WHERE at >= start AND at < start + size)");
}

#include "fleet/symbols.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "fleet/fleet.h"
#include "fleet/schema.h"
#include "fleet/where.h"

/* A function is there once a page that it lies in: what is asked for are pages with samples. */
enum { PAGE_BITS = 16, PAGES_MOST = 1 << 12, ROWS_MANY = 16 << 20, NUMBERS_MOST = 20000 };

/* ---- uploading ---- */

bool fleet_function_put(struct buf *rows, const struct fleet_function *one)
{
    const uint64_t first = one->start >> PAGE_BITS, last = (one->end - 1) >> PAGE_BITS;
    if (one->end <= one->start || one->end > KEY_OFFSET_MASK || last - first >= PAGES_MOST ||
        !*one->name)
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
    static unsigned count;
    char id[64];
    if (!buf_ok(rows))
        return err_set(e, ERR_INTERNAL, "out of memory");
    if (!rows->size || (!all && rows->size < ROWS_MANY))
        return true;
    snprintf(id, sizeof id, "penumbra-symbols-%d-%u", (int)getpid(), count++);
    bool ok = fleet_insert(f, "symbols", FLEET_SYMBOLS_COLUMNS, id, rows, e);
    rows->size = 0;
    return ok;
}

/* ---- frames without a name ---- */

struct nameless {
    uint32_t image, frame;
    uint64_t offset;
};

struct naming {
    struct words *w;
    struct answer *a;
    struct nameless *list;
    size_t count, capacity;
    const struct nameless *run; /* of one image, by address */
    size_t run_count;
};

static int compare_nameless(const void *x, const void *y)
{
    const struct nameless *a = x, *b = y;
    if (a->image != b->image)
        return a->image < b->image ? -1 : 1;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

static bool nameless_find(struct naming *n)
{
    for (size_t i = 0; i < n->w->frame_count; i++) {
        const struct word_frame *f = &n->w->frames[i];
        if (f->name != UINT32_MAX || f->image >= n->a->p->image_count ||
            !n->a->p->images[f->image].build_id_size)
            continue;
        if (!ARRAY_ROOM(n->list, n->count, n->capacity))
            return false;
        n->list[n->count++] = (struct nameless){f->image, (uint32_t)i, f->offset};
    }
    if (n->count)
        qsort(n->list, n->count, sizeof *n->list, compare_nameless);
    return true;
}

/* The first one of the run from an address on. */
static size_t run_from(const struct naming *n, uint64_t address)
{
    size_t low = 0, high = n->run_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (n->run[middle].offset < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Functions come by their starts, of equal ones the longest first: an inner one comes later, and
 * its name replaces the outer one's. */
static bool function_take(void *context, struct tsv *t, char **fields)
{
    struct naming *n = context;
    struct profile_names *names = n->a->p->names;
    struct profile_name name = {.start = tsv_u64(t, fields[0])};
    uint64_t size = tsv_u64(t, fields[1]);
    if (t->failed || name.start > KEY_OFFSET_MASK || size > KEY_OFFSET_MASK) {
        tsv_fail(t, "a function's address of 48 bits");
        return false;
    }
    size_t at = run_from(n, name.start);
    if (at == n->run_count || n->run[at].offset - name.start >= size)
        return true;
    name.function = profile_names_string(names, fields[2]);
    uint32_t index = name.function == UINT32_MAX ? UINT32_MAX : profile_names_add(names, &name);
    if (index == UINT32_MAX)
        return err_set(t->e, ERR_INTERNAL, "out of memory");
    for (; at < n->run_count && n->run[at].offset - name.start < size; at++) {
        n->w->frames[n->run[at].frame].name = index;
        n->w->frames[n->run[at].frame].start = name.start;
    }
    return true;
}

/* From `first` on: what one statement asks for. Returns where the next one begins. */
static size_t run_ask(const struct naming *n, const struct fleet *f, size_t first, struct buf *text)
{
    const uint32_t image = n->list[first].image;
    uint64_t last = UINT64_MAX;
    size_t at = first;
    buf_puts(text, "SELECT start, size, function FROM ");
    buf_printf(text, "%s.symbols WHERE build_id = '", fleet_database(f));
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
    buf_puts(text, ") ORDER BY start, size DESC");
    return at;
}

bool symbols_name(struct fleet *f, struct words *w, struct answer *a, struct err *e)
{
    struct naming n = {.w = w, .a = a};
    bool ok = nameless_find(&n) || err_set(e, ERR_INTERNAL, "out of memory");
    for (size_t at = 0, next; ok && at < n.count; at = next) {
        struct buf text = {0};
        next = run_ask(&n, f, at, &text);
        n.run = n.list + at;
        n.run_count = next - at;
        ok = where_rows(f, &text, 3, function_take, &n, e);
        buf_free(&text);
    }
    free(n.list);
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
    buf_printf(b, "id IN (SELECT id FROM (SELECT id, build_id, at, intDiv(at, toUInt64(%d)) AS page "
                  "FROM %s.frames WHERE ", 1 << PAGE_BITS, database);
    where_days_put(b, q);
    buf_printf(b, " AND kind = %d AND function = '') ALL INNER JOIN (SELECT build_id, page, start, "
                  "size FROM %s.symbols WHERE position(function, ", (int)FRAME_CODE, database);
    tsv_put_literal(b, q->function);
    buf_puts(b, ") > 0) USING (build_id, page) WHERE at >= start AND at < start + size)");
}

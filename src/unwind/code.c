#include "unwind/code.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "unwind/code_walk.h"

enum {
    FUNCTIONS_MAX = 1 << 17, /* without CFI, in an image */
    STEPS_MAX = 1 << 22,     /* instructions visited, in an image: some 0.2 s */
};

struct entry {
    uint32_t lo, hi; /* from text_lo; hi 0: not known */
    uint32_t limit;  /* where its gap ends */
};

struct region {
    uint32_t lo, hi;
    size_t row, rows; /* of all that were made */
    bool doubtful;
};

struct maker {
    struct entry *entry;
    size_t entries, entry_capacity;
    struct region *region;
    size_t regions, region_capacity;
    uint32_t *leave; /* where control left a region, from text_lo */
    size_t leaves, leave_capacity;
    struct code_rows rows; /* of all regions */
    struct code_walk walk;
    bool full; /* out of memory */
};

/* ---- functions ---- */

/* The gap that holds `at`, or NULL. */
static const struct code_span *gap_find(const struct code_span *gap, size_t gaps, uint64_t at)
{
    size_t low = 0, high = gaps;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (gap[middle].lo <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low != 0 && at < gap[low - 1].hi ? &gap[low - 1] : NULL;
}

static int entry_compare(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    return x->lo != y->lo ? (x->lo < y->lo ? -1 : 1) : (x->hi > y->hi) - (x->hi < y->hi);
}

/* Functions without a size reach to the next one. */
static void entries_end(struct maker *m)
{
    uint32_t next = UINT32_MAX; /* the lowest beginning above the current one's */
    for (size_t i = m->entries; i-- > 0;) {
        struct entry *e = &m->entry[i];
        if (i + 1 < m->entries && m->entry[i + 1].lo != e->lo)
            next = m->entry[i + 1].lo;
        if (!e->hi)
            e->hi = next < e->limit ? next : e->limit;
    }
}

/* Lists the functions in gaps. */
static bool entries_collect(struct maker *m, const struct unwind_section *symbols, uint64_t text_lo,
                            const struct code_span *gap, size_t gaps)
{
    Elf64_Sym symbol;
    for (size_t i = 0; i < symbols->size / sizeof symbol; i++) {
        memcpy(&symbol, symbols->data + i * sizeof symbol, sizeof symbol);
        if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF)
            continue;
        uint64_t at = symbol.st_value - text_lo;
        const struct code_span *in = gap_find(gap, gaps, at);
        if (!in || m->entries == FUNCTIONS_MAX)
            continue;
        if (!ARRAY_ROOM(m->entry, m->entries, m->entry_capacity))
            return false;
        uint64_t left = in->hi - at, size = symbol.st_size < left ? symbol.st_size : left;
        m->entry[m->entries++] =
            (struct entry){(uint32_t)at, size ? (uint32_t)(at + size) : 0, in->hi};
    }
    if (m->entries)
        qsort(m->entry, m->entries, sizeof *m->entry, entry_compare);
    entries_end(m);
    return true;
}

/* ---- regions ---- */

static void note_leave(void *context, int64_t offset)
{
    struct maker *m = context;
    int64_t at = m->region[m->regions - 1].lo + offset;
    if (at < 0 || at > UINT32_MAX)
        return;
    if (ARRAY_ROOM(m->leave, m->leaves, m->leave_capacity))
        m->leave[m->leaves++] = (uint32_t)at;
    else
        m->full = true;
}

static bool row_add(struct code_rows *rows, uint32_t pc, uint32_t rule)
{
    if (!ARRAY_ROOM(rows->at, rows->count, rows->capacity))
        return false;
    rows->at[rows->count++] = (struct unwind_row){pc, rule};
    return true;
}

/* The rows of the region that was walked last, the last of them RULE_NONE. */
static bool region_rows(struct maker *m, struct region *r)
{
    const struct code_walk *w = &m->walk;
    uint32_t rule = rule_make(RULE_NONE, 0, 0), last_number = 0;
    for (uint32_t i = 0, end = 0; i <= w->size; i++) {
        uint32_t number = i < w->size && w->length[i] ? w->at[i] : 0;
        if (number)
            end = i + w->length[i];
        else if (i < end)
            continue; /* inside the instruction */
        if (number == last_number)
            continue;
        last_number = number;
        uint32_t was = rule;
        rule = number ? layout_rule(&w->layout[number]) : rule_make(RULE_NONE, 0, 0);
        if (rule != was && !row_add(&m->rows, r->lo + i, rule))
            return false;
    }
    r->rows = m->rows.count - r->row;
    return true;
}

/* Walks the functions entry[first .. end), which overlap. */
static bool region_make(struct maker *m, const struct unwind_code *code, uint64_t text_lo,
                        size_t first, size_t end, uint32_t hi)
{
    const uint8_t *bytes;
    uint32_t lo = m->entry[first].lo;
    if (hi - lo > CODE_REGION_MAX || m->walk.steps == 0 ||
        !code->read(code->context, text_lo + lo, hi - lo, &bytes))
        return true;
    if (!ARRAY_ROOM(m->region, m->regions, m->region_capacity))
        return false;
    struct region *r = &m->region[m->regions++];
    *r = (struct region){.lo = lo, .hi = hi, .row = m->rows.count};
    code_walk_start(&m->walk, bytes, hi - lo);
    for (size_t i = first; i < end; i++)
        code_walk_enter(&m->walk, m->entry[i].lo - lo);
    return !code_walk_run(&m->walk) || (!m->full && region_rows(m, r));
}

static bool regions_make(struct maker *m, const struct unwind_code *code, uint64_t text_lo)
{
    for (size_t i = 0, end; i < m->entries; i = end) {
        uint32_t hi = m->entry[i].hi;
        for (end = i + 1; end < m->entries && m->entry[end].lo < hi; end++)
            hi = m->entry[end].hi > hi ? m->entry[end].hi : hi;
        if (!region_make(m, code, text_lo, i, end, hi))
            return false;
    }
    return true;
}

static void doubt(struct maker *m, uint32_t at)
{
    size_t low = 0, high = m->regions;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (m->region[middle].lo <= at)
            low = middle + 1;
        else
            high = middle;
    }
    if (low != 0 && at < m->region[low - 1].hi)
        m->region[low - 1].doubtful = true;
}

/* Gives the rows of all regions that are not doubtful. */
static void rows_give(struct maker *m, struct code_rows *rows)
{
    for (size_t i = 0; i < m->leaves; i++)
        doubt(m, m->leave[i]);
    *rows = m->rows;
    rows->count = 0;
    for (size_t i = 0; i < m->regions; i++) {
        const struct region *r = &m->region[i];
        if (r->doubtful || r->rows == 0)
            continue;
        memmove(rows->at + rows->count, rows->at + r->row, r->rows * sizeof *rows->at);
        rows->count += r->rows;
    }
    m->rows.at = NULL;
}

bool code_rows_make(const struct unwind_code *code, uint64_t text_lo, const struct code_span *gap,
                    size_t gaps, struct code_rows *rows)
{
    struct maker m = {0};
    *rows = (struct code_rows){0};
    bool ok = entries_collect(&m, &code->symbols, text_lo, gap, gaps);
    if (ok && m.entries) {
        ok = code_walk_make(&m.walk, STEPS_MAX);
        m.walk.leaves = note_leave;
        m.walk.context = &m;
        ok = ok && regions_make(&m, code, text_lo) && !m.full;
        if (ok)
            rows_give(&m, rows);
        code_walk_free(&m.walk);
    }
    free(m.entry);
    free(m.region);
    free(m.leave);
    free(m.rows.at);
    return ok;
}

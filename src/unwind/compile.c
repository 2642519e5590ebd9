#include "unwind/compile.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "unwind/cfi.h"
#include "unwind/code.h"
#include "unwind/table.h"

/* The largest text that is taken, in bytes: bounds the bucket array (16 MB) against files that
 * claim absurd addresses. */
#define TEXT_MAX (UINT64_C(1) << 30)

struct function {
    uint32_t lo, hi; /* from text_lo */
    uint64_t offset; /* of the FDE in .eh_frame */
};

struct functions {
    struct function *at;
    size_t count, capacity;
};

struct builder {
    struct unwind_row *rows;
    size_t count, capacity;
    uint32_t fdes, bad_fdes;
    uint64_t text_lo;
};

static int function_compare(const void *a, const void *b)
{
    const struct function *x = a, *y = b;
    if (x->lo != y->lo)
        return x->lo < y->lo ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Lists the FDEs that lie in the text. Others belong to discarded code (address 0) or are
 * nonsense. */
static bool functions_collect(struct functions *list, const struct cfi_space *space,
                              uint64_t text_lo, uint64_t text_hi, uint32_t *bad)
{
    struct cfi_fde fde;
    bool sorted = true;
    fde.cie.offset = CFI_NO_OFFSET;
    for (uint64_t offset = 0, next; offset < space->size; offset = next) {
        enum cfi_record record = cfi_record_as(space, offset, &next);
        if (record == RECORD_BAD) {
            ++*bad;
            if (next == 0)
                break;
        }
        if (next == 0) /* a terminator: 4 zero bytes, which may stand between objects' parts */
            next = offset + 4;
        if (record != RECORD_FDE)
            continue;
        if (!cfi_fde_read_as(space, offset, &fde)) {
            ++*bad;
            continue;
        }
        if (fde.lo < text_lo || fde.lo >= text_hi || fde.hi > text_hi || fde.lo == fde.hi)
            continue;
        if (!ARRAY_ROOM(list->at, list->count, list->capacity))
            return false;
        struct function *f = &list->at[list->count++];
        f->lo = (uint32_t)(fde.lo - text_lo);
        f->hi = (uint32_t)(fde.hi - text_lo);
        f->offset = offset;
        sorted = sorted && (list->count == 1 || function_compare(f - 1, f) < 0);
    }
    if (!sorted)
        qsort(list->at, list->count, sizeof *list->at, function_compare);
    return true;
}

static bool emit(struct builder *b, uint32_t pc, uint32_t rule)
{
    if (b->count != 0 && b->rows[b->count - 1].pc == pc)
        b->count--;
    if (b->count != 0 && b->rows[b->count - 1].rule == rule)
        return true;
    if (!ARRAY_ROOM(b->rows, b->count, b->capacity))
        return false;
    b->rows[b->count++] = (struct unwind_row){pc, rule};
    return true;
}

/* Emits the rows of the FDE that m holds, as far as `limit`, where the next function begins. */
static enum cfi_status emit_rows(struct builder *b, struct cfi_machine *m, uint64_t limit,
                                 bool *full)
{
    for (;;) {
        enum cfi_status status = cfi_machine_next_as(m);
        if (status != CFI_OK)
            return status;
        if (m->lo >= limit)
            continue; /* the rest is still checked */
        if (m->hi > m->lo && !emit(b, (uint32_t)(m->lo - b->text_lo), cfi_rule_pack_as(m))) {
            *full = true;
            return CFI_BAD;
        }
    }
}

static bool emit_function(struct builder *b, struct cfi_machine *m, const struct cfi_space *space,
                          const struct function *f, uint32_t next_lo)
{
    uint32_t hi = f->hi < next_lo ? f->hi : next_lo;
    size_t count = b->count;
    struct unwind_row last = count ? b->rows[count - 1] : (struct unwind_row){0, 0};
    const uint32_t none = rule_make(RULE_NONE, 0, 0);
    bool out_of_memory = false;
    if (hi == f->lo)
        return true; /* the next one says it all again, and wins */
    bool ok = cfi_fde_read_as(space, f->offset, &m->fde) && cfi_machine_start_as(m, space) &&
              emit_rows(b, m, b->text_lo + hi, &out_of_memory) == CFI_NONE;
    if (out_of_memory)
        return false;
    if (ok) {
        b->fdes++;
        return emit(b, hi, none);
    }
    b->bad_fdes++;
    b->count = count;
    if (count)
        b->rows[count - 1] = last; /* the first row may have replaced it */
    return emit(b, f->lo, none);
}

/* Lists what no FDE covers. What is shorter than GAP_MIN is most often padding. */
static bool gaps_find(const struct functions *list, uint32_t end, struct code_span **gap,
                      size_t *gaps)
{
    enum { GAP_MIN = 16 };
    size_t capacity = 0;
    uint32_t covered = 0;
    for (size_t i = 0; i <= list->count; i++) {
        uint32_t lo = i < list->count ? list->at[i].lo : end;
        if (lo > covered && lo - covered >= GAP_MIN) {
            if (!ARRAY_ROOM(*gap, *gaps, capacity))
                return false;
            (*gap)[(*gaps)++] = (struct code_span){covered, lo};
        }
        if (i < list->count && list->at[i].hi > covered)
            covered = list->at[i].hi;
    }
    return true;
}

/* Rows that code alone tells. */
static bool code_rows_find(const struct functions *list, const struct unwind_code *code,
                           uint64_t text_lo, uint64_t text_hi, struct code_rows *rows)
{
    struct code_span *gap = NULL;
    size_t gaps = 0;
    bool ok = gaps_find(list, (uint32_t)(text_hi - text_lo), &gap, &gaps) &&
              (gaps == 0 || code_rows_make(code, text_lo, gap, gaps, rows));
    free(gap);
    return ok;
}

/* Emits rows[*next ..] that lie below `limit`. */
static bool emit_code(struct builder *b, const struct code_rows *rows, size_t *next, uint32_t limit)
{
    for (; *next < rows->count && rows->at[*next].pc < limit; ++*next)
        if (!emit(b, rows->at[*next].pc, rows->at[*next].rule))
            return false;
    return true;
}

static bool emit_all(struct builder *b, const struct functions *list, const struct code_rows *rows,
                     const struct cfi_space *space)
{
    struct cfi_machine machine = {0};
    size_t next_row = 0;
    machine.fde.cie.offset = CFI_NO_OFFSET;
    if (!emit(b, 0, rule_make(RULE_NONE, 0, 0)))
        return false;
    for (size_t i = 0; i < list->count; i++) {
        uint32_t next_lo = i + 1 < list->count ? list->at[i + 1].lo : UINT32_MAX;
        if (!emit_code(b, rows, &next_row, list->at[i].lo) ||
            !emit_function(b, &machine, space, &list->at[i], next_lo))
            return false;
    }
    return emit_code(b, rows, &next_row, UINT32_MAX);
}

static void *table_build(const struct builder *b, uint64_t text_hi, size_t *size)
{
    uint64_t end = (uint64_t)b->rows[b->count - 1].pc;
    uint64_t buckets = (end + (1u << UNWIND_BUCKET_SHIFT) - 1) >> UNWIND_BUCKET_SHIFT;
    *size = (size_t)unwind_table_size(buckets, b->count);
    struct unwind_table *t = calloc(1, *size);
    if (!t)
        return NULL;
    t->magic = UNWIND_TABLE_MAGIC;
    t->version = UNWIND_TABLE_VERSION;
    t->size = *size;
    t->text_lo = b->text_lo;
    t->text_hi = text_hi;
    t->buckets = (uint32_t)buckets;
    t->rows = (uint32_t)b->count;
    t->fdes = b->fdes;
    t->bad_fdes = b->bad_fdes;
    uint32_t *bucket = (uint32_t *)(void *)(t + 1);
    size_t row = 0;
    for (uint64_t i = 0; i <= buckets; i++) {
        while (row + 1 < b->count && b->rows[row + 1].pc <= i << UNWIND_BUCKET_SHIFT)
            row++;
        bucket[i] = (uint32_t)row;
    }
    for (size_t i = 0; i < b->count; i++) {
        t->complex_rows += rule_kind(b->rows[i].rule) == RULE_COMPLEX;
        t->code_rows += rule_kind(b->rows[i].rule) == RULE_CODE;
    }
    memcpy((uint8_t *)t + unwind_table_size(buckets, 0), b->rows, b->count * sizeof *b->rows);
    return t;
}

bool unwind_compile(const struct unwind_section *eh_frame, const struct unwind_code *code,
                    uint64_t text_lo, uint64_t text_hi, void **table, size_t *size, struct err *e)
{
    const struct cfi_space space = {eh_frame->data, eh_frame->size, eh_frame->vaddr};
    struct functions list = {0};
    struct code_rows rows = {0};
    struct builder b = {.text_lo = text_lo};
    *table = NULL;
    if (text_hi <= text_lo || text_hi - text_lo > TEXT_MAX)
        return err_set(e, ERR_FORMAT,
                       "cannot compile unwind tables: the code spans %#llx to %#llx, which is %s",
                       (unsigned long long)text_lo, (unsigned long long)text_hi,
                       text_hi <= text_lo ? "empty" : "more than 1 GiB");
    if (functions_collect(&list, &space, text_lo, text_hi, &b.bad_fdes) &&
        (!code || code_rows_find(&list, code, text_lo, text_hi, &rows)) &&
        emit_all(&b, &list, &rows, &space))
        *table = table_build(&b, text_hi, size);
    if (!*table)
        err_set(e, ERR_INTERNAL, "cannot compile unwind tables: out of memory");
    free(list.at);
    free(rows.at);
    free(b.rows);
    return *table != NULL;
}

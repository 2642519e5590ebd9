/* Step tables: what .eh_frame says, reduced to what a fast walk needs.
 *
 * A compiled table is one position-independent block of bytes. All addresses in it are link-time
 * addresses, so one copy in the spool serves every process that maps the image.
 *
 *     0  struct unwind_table    header
 *        uint32_t bucket[]      bucket[b]: the row in effect at text_lo + 256 * b
 *        struct unwind_row[]    ascending by pc; a row is in effect up to the next row's pc
 *
 *     pc - text_lo ──>> 8 ──> bucket[b], bucket[b + 1] ──> binary search between the two
 *
 * A row's rule is 32 bits:
 *
 *      31    28 27         20 19                          0
 *     +--------+-------------+-----------------------------+
 *     |  kind  |  rbp slot k |  CFA offset / 8             |
 *     +--------+-------------+-----------------------------+
 *
 *     RULE_NONE     no CFI here
 *     RULE_RSP      CFA = rsp + 8 * offset      in both, the return address is at CFA - 8,
 *     RULE_RBP      CFA = rbp + 8 * offset      the caller's rsp is the CFA, and the caller's rbp
 *                                               is at CFA - 8 * k, or unchanged if k is 0
 *     RULE_PLT      CFA = rsp + 8 + 8 * ((rip & 15) >= offset), the expression that linkers write
 *                   for .plt: at byte `offset` of each 16-byte entry one word has been pushed.
 *     RULE_SIGNAL   a signal's return trampoline: rsp points at the interrupted ucontext
 *     RULE_ROOT     the return address is undefined: the outermost frame (CFA as in RULE_RSP)
 *     RULE_COMPLEX  anything else: ask the interpreter (cfi.h)
 *     RULE_CODE     no CFI here, but what the code does (layout.h) says that the CFA = register +
 *                   8 * n: `offset` is register << 16 | n. Slot k as above; RULE_SLOT_LOST:
 *                   nobody knows
 *
 * rbx and r12 to r15 may be saved as well; the fast walk does not follow them.
 *
 * Context: find and the rule accessors: any context, signal handlers included.
 * Ownership: the caller's. Lookup trusts nothing in the block: the profiled program can scribble
 * over the spool. */
#ifndef PENUMBRA_UNWIND_TABLE_H
#define PENUMBRA_UNWIND_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UNWIND_TABLE_MAGIC 0x54574e55u /* "UNWT" */
#define UNWIND_TABLE_VERSION 2u

enum { UNWIND_BUCKET_SHIFT = 8 };

struct unwind_table {
    uint32_t magic;
    uint32_t version;
    uint64_t size;         /* of the whole block */
    uint64_t text_lo;      /* link-time; rows and buckets count from here */
    uint64_t text_hi;
    uint32_t buckets;      /* bucket[] has one more element than this */
    uint32_t rows;
    uint32_t fdes;         /* FDEs that gave rows */
    uint32_t bad_fdes;     /* FDEs that made no sense: their code has no CFI */
    uint32_t complex_rows; /* rows that need the interpreter */
    uint32_t code_rows;    /* RULE_CODE */
};
_Static_assert(sizeof(struct unwind_table) == 56, "the header is part of the format");

struct unwind_row {
    uint32_t pc; /* from text_lo */
    uint32_t rule;
};

enum unwind_rule_kind {
    RULE_NONE,
    RULE_RSP,
    RULE_RBP,
    RULE_PLT,
    RULE_SIGNAL,
    RULE_ROOT,
    RULE_COMPLEX,
    RULE_CODE,
};

#define RULE_KIND_SHIFT 28
#define RULE_SLOT_SHIFT 20
#define RULE_SLOT_MAX 0xffu
#define RULE_OFFSET_MAX 0xfffffu
#define RULE_SLOT_LOST RULE_SLOT_MAX /* in RULE_CODE */
#define RULE_CODE_SHIFT 16
#define RULE_CODE_OFFSET_MAX 0xffffu

static inline uint32_t rule_make(enum unwind_rule_kind kind, uint32_t slot, uint32_t offset)
{
    return (uint32_t)kind << RULE_KIND_SHIFT | slot << RULE_SLOT_SHIFT | offset;
}

static inline enum unwind_rule_kind rule_kind(uint32_t rule)
{
    return (enum unwind_rule_kind)(rule >> RULE_KIND_SHIFT);
}

/* Where rbp was saved, in words below the CFA; 0: it is unchanged. */
static inline uint32_t rule_slot(uint32_t rule)
{
    return rule >> RULE_SLOT_SHIFT & RULE_SLOT_MAX;
}

static inline uint32_t rule_offset(uint32_t rule)
{
    return rule & RULE_OFFSET_MAX;
}

/* Of RULE_CODE: the register (enum unwind_register), and what is added to it, in words. */
static inline uint32_t rule_code_register(uint32_t rule)
{
    return rule_offset(rule) >> RULE_CODE_SHIFT;
}

static inline uint32_t rule_code_offset(uint32_t rule)
{
    return rule_offset(rule) & RULE_CODE_OFFSET_MAX;
}

/* Bytes that a table with so many buckets and rows takes. */
static inline uint64_t unwind_table_size(uint64_t buckets, uint64_t rows)
{
    uint64_t index = (buckets + 1) * sizeof(uint32_t);
    return sizeof(struct unwind_table) + ((index + 7) & ~UINT64_C(7)) +
           rows * sizeof(struct unwind_row);
}

/* Whether `available` bytes at t hold a whole table. To be asked again at each use in a process
 * that may overwrite it. */
static inline bool unwind_table_valid(const struct unwind_table *t, uint64_t available)
{
    return available >= sizeof *t && t->magic == UNWIND_TABLE_MAGIC &&
           t->version == UNWIND_TABLE_VERSION &&
           unwind_table_size(t->buckets, t->rows) <= available;
}

/* The rule at a link-time address. t must be valid at `available` bytes. The counts are read once:
 * what is checked is what is used, whatever another thread does to the block meanwhile. */
static inline uint32_t unwind_table_find_as(const struct unwind_table *t, uint64_t available,
                                            uint64_t vaddr)
{
    uint32_t buckets = *(const volatile uint32_t *)&t->buckets;
    uint32_t rows = *(const volatile uint32_t *)&t->rows;
    uint64_t offset = vaddr - t->text_lo;
    if (offset >> UNWIND_BUCKET_SHIFT >= buckets || rows == 0 ||
        unwind_table_size(buckets, rows) > available)
        return rule_make(RULE_NONE, 0, 0);
    const uint32_t *bucket = (const uint32_t *)(const void *)(t + 1);
    const struct unwind_row *row = (const struct unwind_row *)(const void *)(
        (const uint8_t *)t + unwind_table_size(buckets, 0));
    uint32_t low = bucket[offset >> UNWIND_BUCKET_SHIFT];
    uint32_t high = bucket[(offset >> UNWIND_BUCKET_SHIFT) + 1];
    if (low >= rows)
        low = rows - 1;
    if (high >= rows)
        high = rows - 1;
    /* The answer is the last row in [low, high] whose pc is not above offset. */
    while (low < high) {
        uint32_t middle = high - (high - low) / 2;
        if (row[middle].pc <= offset)
            low = middle;
        else
            high = middle - 1;
    }
    return row[low].rule;
}

#endif

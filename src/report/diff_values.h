/* Sampled values of two recordings, or two groups of them: which values an instruction computes, or
 * which level of memory its loads come from, more or less often than before (docs/diff.md).
 *
 * A value's share is of the observations of its instruction. An instruction is the same on both
 * sides if image, function, place in it and mnemonic are; a value, if its text is.
 *
 * Context: ordinary code, one thread.
 * Ownership: diff_values_free releases all; it borrows the views. */
#ifndef PENUMBRA_REPORT_DIFF_VALUES_H
#define PENUMBRA_REPORT_DIFF_VALUES_H

#include "report/diff.h"
#include "report/values.h"

struct diff_value {
    uint32_t run;            /* the last one that has it */
    uint32_t hotlist, entry; /* there */
    double weight;           /* share of its instruction of all observations, mean of the sides */
    double observed[DIFF_SIDES]; /* of the instruction */
    struct diff_change change;   /* samples: observations of the value */
};

struct diff_values {
    const struct diff_run *runs;
    uint32_t run_count;
    struct value_reader **readers; /* by run */
    struct diff_value *list; /* significant ones first, then by weight times difference */
    uint32_t count;
    uint32_t places, alone[DIFF_SIDES]; /* kinds of value of an instruction; of one side only */
};

/* runs: those before first, one at least of each side. ERR_USAGE: one has no values, or those of
 * another module. */
struct diff_values *diff_values_build(const struct diff_run *runs, uint32_t count,
                                      const struct symbols_options *options, struct err *e);
void diff_values_free(struct diff_values *d);

/* A value as both sides call it. */
void diff_value_text(struct value_reader *r, uint32_t kind, const struct hotlist_entry *entry,
                     char *out, size_t size);
/* "PLACE ASSEMBLY KIND = VALUE", terminated by a 0. False without memory. */
bool diff_value_name(const struct diff_values *d, const struct diff_value *v, struct buf *to);
bool diff_values_text(FILE *out, const struct diff_values *d, const struct report_style *style);
bool diff_values_json(struct buf *out, const struct diff_values *d, const char *const *files,
                      struct err *e);

#endif

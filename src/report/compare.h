/* Two profiles entry by entry, and how near they are (profile/compare.h).
 *
 * What is the same entry in both: images by build-id (by path where there is none; between two
 * samplings, for functions and calling contexts, by the name of their file), functions by image and
 * name, calling contexts by the functions on them, blocks and edges by image and link-time address,
 * acyclic paths by their blocks, call sites and fields by what they are called.
 *
 * Context: ordinary code.
 * Ownership: comparison_free releases the entries; names are the views'. */
#ifndef PENUMBRA_REPORT_COMPARE_H
#define PENUMBRA_REPORT_COMPARE_H

#include "base/buf.h"
#include "profile/compare.h"
#include "report/report.h"

enum compare_by {
    COMPARE_FUNCTION,
    COMPARE_PATH, /* calling contexts */
    COMPARE_CALL,
    COMPARE_BLOCK,
    COMPARE_EDGE,
    COMPARE_ACYCLIC, /* interprocedural acyclic paths */
    COMPARE_INSTRUCTION, /* of sampled values */
    COMPARE_RESULT, /* instructions with a result that was observed in the perfect profile */
    COMPARE_CALLSITE, /* call sites and callees, of compiled-in instrumentation */
    COMPARE_FIELD,    /* reads and writes of fields, likewise */
    COMPARE_NAMED,    /* values with names, and what they were, likewise */
    COMPARE_ALLOCATION, /* bytes by site and type, likewise */
    COMPARE_BRANCH, /* ways on from branches, likewise */
    COMPARE_PAIR,   /* of productions: counts of two values, */
    COMPARE_METHOD, /* of T.METHOD, */
    COMPARE_COUNT,  /* of one value; */
    COMPARE_STREAM, /* and hot streams */
    COMPARE_KINDS
};

/* Of those calling contexts in which a call takes on average CALLS_CHEAP times what a sample stands
 * for, or more. */
struct compare_calls {
    size_t contexts;
    double perfect, sampled; /* calls in them */
    double agreement;        /* sum of the smaller numbers by that of the greater ones, 0 to 1 */
};

/* "function", ...; NULL out of range. */
const char *compare_by_name(unsigned by);

/* What the metrics would be on average if each observation of the sampled profile were an
 * independent draw from the perfect one; negative: not known. */
struct compare_chance {
    double overlap, diff_top;
};

struct comparison {
    enum compare_by by;
    struct compare_metrics metrics;
    double distortion; /* over functions, whatever `by` is; negative: there are none to compare */
    double diff_top;   /* of values; negative: not both have any */
    /* by COMPARE_RESULT: share of the sampled results that are not in the perfect profile */
    double left_out;
    struct compare_chance chance; /* by COMPARE_INSTRUCTION and COMPARE_RESULT, of bursts */
    struct compare_calls calls; /* by COMPARE_CALL */
};

/* Whether neither is a whole run, so that neither is perfect. */
bool compare_is_of_samplings(const struct view *first, const struct view *second);

/* ERR_USAGE if either profile has no entries of that kind. */
bool compare_views(const struct view *perfect, const struct view *sampled, enum compare_by by,
                   struct comparison *out, struct err *e);

void report_comparison(FILE *out, const struct comparison *c, const struct view *perfect,
                       const struct view *sampled);
void report_comparison_json(struct buf *out, const struct comparison *c, const struct view *perfect,
                            const struct view *sampled);

#endif

/* When threads were busy, and with which functions: the time of a view in columns of equal width.
 *
 *            0 s                               4 s
 *     main   ████▆▂      ▂▇██████▇▁              a row: weight in each column
 *     worker       ▅████▇
 *
 * Weights that lie in bins (profile/timeline.h) are spread evenly over them.
 *
 * Context: ordinary code.
 * Ownership: timeline_make allocates all rows, timeline_free releases them; names are the
 * view's. */
#ifndef PENUMBRA_REPORT_TIMELINE_H
#define PENUMBRA_REPORT_TIMELINE_H

#include "report/json.h"
#include "report/view.h"

struct timeline_row {
    uint32_t index;  /* in profile.threads: of its first phase; or in view.functions */
    double sum;      /* weight that has a time */
    double *columns;
};

struct timeline_view {
    const struct view *view;
    uint64_t from_ns, width_ns; /* of the first column, since the start; of each */
    uint32_t columns;
    uint64_t bin_ns;            /* the widest bin */
    struct timeline_row all;
    struct timeline_row *threads, *functions; /* by sum, greatest first */
    uint32_t thread_count, function_count;
    /* of threads that have no row of their own, together */
    struct timeline_row others;
    uint32_t other_count;
    double *cells;
};

/* Whether this view can have one: the chosen threads' samples have times, and all of them are
 * shown. */
bool timeline_check(const struct view *v, const struct view_options *options, struct err *e);
/* So many columns at most, threads, and functions: those with the most samples of their own. */
struct timeline_size {
    uint32_t columns, threads, functions;
};
bool timeline_make(struct timeline_view *t, const struct view *v, const struct timeline_size *most,
                   struct err *e);
void timeline_free(struct timeline_view *t);

/* "timeline" of docs/json.md. */
bool timeline_json(struct json *j, const struct view *v, struct err *e);

#endif

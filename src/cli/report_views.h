/* What `penumbra report` shows of a profile: one row a view. To add one, write its line in the
 * list, and its functions and its place among the others in report_views.c.
 *
 * Context: the main thread.
 * Ownership: arguments point into argv; nothing else is kept. */
#ifndef PENUMBRA_CLI_REPORT_VIEWS_H
#define PENUMBRA_CLI_REPORT_VIEWS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/time_range.h"
#include "report/report.h"
#include "sigsafe/tools.h"

/* X(id, option, help), in the order of --help. show_ID shows it. */
#define REPORT_VIEWS(X)                                                                            \
    X(flat, "flat", "functions by their own samples")                                              \
    X(tree, "tree", "calling contexts from the root down")                                         \
    X(bottom_up, "bottom-up", "functions by their own samples, each with its callers")             \
    X(calls, "calls", "functions of few expensive calls, and of many cheap ones")                  \
    X(threads, "by-thread", "one row a thread")                                                    \
    X(processes, "by-process", "one row a process")                                                \
    X(images, "by-image", "one row a program or library")                                          \
    X(imbalance, "imbalance",                                                                      \
      "how evenly the ranks of a parallel program share each calling context")                     \
    X(semi_invariant, "semi-invariant",                                                            \
      "with values: places worth specializing, by expected gain")                                  \
    X(phases, "by-phase", "one row a phase that the program named")                                \
    X(timeline, "timeline", "when threads were busy, and with what")

/* Views around a function: the option has its name, the field ID of the arguments too. */
#define REPORT_VIEWS_AROUND(X)                                                                     \
    X(callers, "callers", "who called FUNC (a name, or a regular expression)")                     \
    X(callees, "callees", "what FUNC called")

#define REPORT_VIEW_ENUMERATOR(id, option, help) REPORT_VIEW_##id,
enum {
    REPORT_VIEWS(REPORT_VIEW_ENUMERATOR) REPORT_VIEWS_AROUND(REPORT_VIEW_ENUMERATOR)
        REPORT_VIEW_TABLE, /* + enum tool_table: that of a tool */
    REPORT_VIEW_COUNT = REPORT_VIEW_TABLE + TABLE_COUNT
};
#undef REPORT_VIEW_ENUMERATOR
_Static_assert((int)REPORT_VIEW_COUNT <= 32, "bits of `show`");

enum { REPORT_THROUGH_MAX = 32 };

struct report_arguments {
    const char *input;
    const char *output; /* NULL: standard output */
    const char *html;
    const char *callers, *callees;
    const char *through[REPORT_THROUGH_MAX];
    const char *phase, *versus; /* NULL: not given */
    const char *time, *from, *to;
    char range[TIME_RANGE_SIZE]; /* `time`, where it is made of these two */
    const char *observation;
    struct view_options view;
    struct symbols_options symbols;
    uint32_t show;        /* bit n: view n */
    double min;           /* negative: not given */
    int64_t limit, depth; /* negative: not given */
    bool json, json_flat, dump, ci, ascii, verbose, no_fold, full_names, quick;
};

static inline uint32_t report_view_bit(unsigned view)
{
    return UINT32_C(1) << view;
}

bool report_views_chosen(const struct report_arguments *a);
/* Whether a chosen one shows threads, or what is known of them only. */
bool report_views_tell_threads_apart(const struct report_arguments *a);
/* Whether the profile has what the chosen views need; before anything is written. */
bool report_views_check(const struct view *v, const struct report_arguments *a, struct err *e);
/* Shows the chosen ones; or if there are none, those that tell most of this profile, and which
 * others there are. */
bool report_views_show(FILE *out, const struct view *v, const struct report_arguments *a,
                       const struct report_style *style, struct err *e);

#endif

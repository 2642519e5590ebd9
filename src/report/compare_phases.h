/* Two phases of one recording, side by side: the share of each function in either, and what it
 * gained or lost.
 *
 * Context: ordinary code.
 * Ownership: views and names are borrowed. */
#ifndef PENUMBRA_REPORT_COMPARE_PHASES_H
#define PENUMBRA_REPORT_COMPARE_PHASES_H

#include "report/report.h"

struct compare_side {
    const char *name;
    const struct view *view;
};

/* Rows by the difference of the functions' own shares, greatest first. */
bool report_compare_phases(FILE *out, const struct compare_side sides[2],
                           const struct report_style *style, struct err *e);
bool report_compare_phases_json(struct buf *out, const struct compare_side sides[2], struct err *e);

#endif

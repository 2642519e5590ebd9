/* Two simulations (docs/simulate.md), or two groups of them: which lines of code take more or fewer
 * cycles, and why. Lines are the same if image, function, file and number are.
 *
 * Context: ordinary code.
 * Ownership: diff_lines_free releases the lines; their texts are the views'. */
#ifndef PENUMBRA_REPORT_DIFF_LINES_H
#define PENUMBRA_REPORT_DIFF_LINES_H

#include "report/diff_causes.h"

struct diff_line {
    const char *image, *function, *file; /* file: NULL: not known */
    uint32_t line;                       /* 0: not known */
    double difference;                   /* percent of the mean total before */
    struct diff_causes causes;           /* DIFF_SELF */
};

struct diff_lines {
    struct diff_line *list; /* the greatest differences first */
    uint32_t count;
};

/* Of a diff of simulations. False without memory. */
bool diff_lines_make(struct diff_lines *lines, const struct diff *d, struct err *e);
void diff_lines_free(struct diff_lines *lines);

bool diff_lines_text(FILE *out, const struct diff *d, const struct report_style *style,
                     struct err *e);
/* The member "lines": those that differ. */
bool diff_lines_json(struct json *j, const struct diff *d, struct err *e);

#endif

/* The hottest functions of a report, instruction by instruction, for its page.
 *
 * Context: the main thread.
 * Ownership: annotated_free releases the list and its view; the profile and the symbols outlive
 * it. */
#ifndef PENUMBRA_CLI_REPORT_ANNOTATED_H
#define PENUMBRA_CLI_REPORT_ANNOTATED_H

#include "report/annotate.h"

enum { ANNOTATED_MOST = 8 };

struct annotated {
    struct annotation *list[ANNOTATED_MOST];
    uint32_t count;
    struct view *view; /* that they are of, and read values by */
};

/* Functions whose code cannot be read, or that are too long to be looked at, are left out. metric:
 * NULL is the first. */
void annotated_make(struct annotated *a, const struct profile *p, const struct symbols *symbols,
                    const struct symbols_options *options, const char *metric);
void annotated_free(struct annotated *a);

#endif

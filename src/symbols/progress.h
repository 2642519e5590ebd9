/* A bar on standard error for work that turns out to take more than a second. Silent where
 * standard error is not a terminal.
 *
 * Context: ordinary code. */
#ifndef PENUMBRA_SYMBOLS_PROGRESS_H
#define PENUMBRA_SYMBOLS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    const char *what;
    uint64_t done, total;
    uint64_t start_ns, shown_ns;
    bool enabled, visible;
};

void progress_begin(struct progress *p, const char *what, uint64_t total);
void progress_add(struct progress *p, uint64_t done);
/* Removes the bar. */
void progress_end(struct progress *p);

#endif

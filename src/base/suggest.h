/* The valid name that a mistyped one was most likely meant to be.
 *
 * Context: any thread.
 * Ownership: the result is one of the caller's own strings. */
#ifndef PENUMBRA_BASE_SUGGEST_H
#define PENUMBRA_BASE_SUGGEST_H

#include <stddef.h>

struct suggest {
    const char *best; /* NULL: nothing is near */
    size_t distance;
};

/* Offers one valid name; the nearest of all offered stays in s->best (zero-initialize s first).
 * Near: at most a third of the letters differ (insertion, deletion, replacement, exchange of
 * neighbours), or one is the beginning of the other. */
void suggest_offer(struct suggest *s, const char *typed, const char *valid);

#endif

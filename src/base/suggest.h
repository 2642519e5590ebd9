/* The valid name that a mistyped one was most likely meant to be.
 *
 * Context: any thread.
 * Ownership: the result is one of the caller's own strings. */
#ifndef PENUMBRA_BASE_SUGGEST_H
#define PENUMBRA_BASE_SUGGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct suggest {
    const char *best; /* NULL: nothing is near */
    size_t distance;
};

/* Offers one valid name; the nearest of all offered stays in s->best (zero-initialize s first).
 * Near: at most a third of the letters differ (insertion, deletion, replacement, exchange of
 * neighbours), or one is the beginning of the other. */
void suggest_offer(struct suggest *s, const char *typed, const char *valid);
/* *index: of `name` among the words (NULL after the last), for `what`. Otherwise ERR_USAGE says
 * which was meant, or which there are. */
bool suggest_word(const char *what, const char *name, const char *(*word)(unsigned index),
                  uint32_t *index, struct err *e);

#endif

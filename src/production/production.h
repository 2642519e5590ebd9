/* .dise files: productions as people write them (docs/productions.md), to the program that a
 * machine runs (sigsafe/production.h).
 *
 *     files ──lexer──> tokens ──parse──> productions ──merge──> struct production_program
 *
 * Errors begin with FILE:LINE:COLUMN, and say what was expected and what stands there.
 *
 * Context: ordinary code. Files may hold anything.
 * Ownership: the program is the caller's; nothing else is kept. */
#ifndef PENUMBRA_PRODUCTION_PRODUCTION_H
#define PENUMBRA_PRODUCTION_PRODUCTION_H

#include <stdio.h>

#include "base/err.h"
#include "sigsafe/production.h"

#define PRODUCTION_SPARSITY_MOST PRODUCTION_COUNTER_END
#define PRODUCTION_BURST_MOST PRODUCTION_COUNTER_END

struct production_settings {
    /* In events (section 5 of the paper): frequency = burst / (burst + sparsity). */
    uint64_t burst;    /* 1 to PRODUCTION_BURST_MOST */
    uint64_t sparsity; /* 0 to PRODUCTION_SPARSITY_MOST; 0: sampling never ends */
    /* Where the function is: fills image and the range. False: it is not known, and *e says why.
     * NULL: any name will do, and is nowhere. */
    bool (*function)(void *context, const char *name, struct production_program *p,
                     struct production_function *out, struct err *e);
    void *context;
};

/* Files, merged. Each is opened as it is called, or is one of `folder` (NULL: there is none), where
 * .dise may be left out; what one includes is beside it. ERR_USAGE. */
bool production_read(const char *const *files, unsigned count, const char *folder,
                     const struct production_settings *settings, struct production_program *out,
                     struct err *e);

/* One text, called `name`, that may include nothing. */
bool production_read_text(const char *name, const char *text, size_t size,
                          const struct production_settings *settings,
                          struct production_program *out, struct err *e);

/* The number of the image of that name, which is added; UINT32_MAX: there is no more room. */
uint32_t production_image(struct production_program *p, const char *name, size_t size);

/* The merged program as text: what matches, when, what is done. */
void production_print(FILE *to, const struct production_program *p);

/* A frequency, "1/1000", and what it makes of a burst: the sparsity, rounded. */
bool production_frequency(const char *text, uint64_t burst, uint64_t *sparsity, struct err *e);

#endif

/* Which functions of several recordings are the same, across builds.
 *
 *     a function's identity                      holds across
 *     image and name                             rebuilds: offsets do not matter
 *     build-id and offset                        recordings of a file that has no name for it
 *     image and name, without what compilers     other inlining, clones, changed parameters
 *       and signatures add to it
 *     shape: its callers and callees             renames
 *
 * Each is tried for what those above it have left on one side only. Images are the same if their
 * files' names are, without versions, or if they are the first process's programs.
 *
 * Context: ordinary code.
 * Ownership: diff_names_fini releases the lists; texts are the views'. */
#ifndef PENUMBRA_REPORT_DIFF_NAMES_H
#define PENUMBRA_REPORT_DIFF_NAMES_H

#include "report/view.h"

enum { DIFF_BEFORE, DIFF_AFTER, DIFF_SIDES };

struct diff_run {
    const struct view *view;
    unsigned side;
};

struct diff_function {
    const char *name, *image; /* as the later side calls it */
    const char *was;          /* its name before, if that is another; else NULL */
    const struct profile_image *file; /* NULL: of no file */
    uint32_t sides;           /* bit DIFF_BEFORE, bit DIFF_AFTER */
    uint32_t same;            /* the function that it is matched with, or its own index */
};

struct diff_names {
    struct diff_function *functions; /* some of which nothing refers to: those matched */
    uint32_t count;
    uint32_t **ids; /* by run, then function of its view: index in functions */
    uint32_t runs;
};

/* shapes: whether renamed functions are looked for. */
bool diff_names_make(struct diff_names *n, const struct diff_run *runs, uint32_t count, bool shapes,
                     struct err *e);
void diff_names_fini(struct diff_names *n);

/* The names of the program, if it was renamed, else NULL: programs[after] stands for
 * programs[before]. */
void diff_programs(const struct diff_run *runs, uint32_t count, const char *programs[DIFF_SIDES]);
/* What a file is called on both sides: the first *size bytes. */
const char *diff_image(const struct profile_image *file, const char *const programs[DIFF_SIDES],
                       size_t *size);

/* Part of it (diff_shapes.c): matches what is left on one side only by shape. False without
 * memory. */
bool diff_match_shapes(struct diff_names *n, const struct diff_run *runs);
/* Whether a function of one side may be one of the other: not if both are in the same build, where
 * names are proof. */
bool diff_may_match(const struct diff_function *a, const struct diff_function *b);
/* a, before, is b, after. */
void diff_match(struct diff_names *n, uint32_t a, uint32_t b);

#endif

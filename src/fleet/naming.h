/* Frames of code that hosts had no names for, and the functions around them.
 *
 *     words of an answer ─> naming_begin ─> list, by image and address
 *     a run: of one image, as much as one statement asks for
 *     rows of symbols ─> naming_row ─> functions ─> naming_settle ─> names of the run's frames
 *
 * Context: ordinary code. Rows are safe as any bytes.
 * Ownership: naming_fini releases it, also after a begin that failed. */
#ifndef PENUMBRA_FLEET_NAMING_H
#define PENUMBRA_FLEET_NAMING_H

#include "fleet/words.h"
#include "symbols/ranges.h"

struct nameless {
    uint32_t image, frame;
    uint64_t offset;
};

struct naming {
    struct words *w;
    struct answer *a;
    struct nameless *list;
    size_t count, capacity;
    const struct nameless *run; /* the caller's to set */
    size_t run_count;
    struct ranges functions; /* around the run; ids: names of the answer's profile */
};

/* Finds the frames of images with a build-id. False without memory. */
bool naming_begin(struct naming *n, struct words *w, struct answer *a);

/* A row of symbols of the run's image: start, size, function. False without memory, or
 * t->failed. */
enum { NAMING_FIELDS = 3 };
bool naming_row(struct naming *n, struct tsv *t, char **fields);
/* Gives the run's frames the name of the innermost function, and forgets the rows. */
void naming_settle(struct naming *n);
void naming_fini(struct naming *n);

#endif

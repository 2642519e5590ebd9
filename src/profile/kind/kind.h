/* The kinds of sections of a profile file: one row each, in one table. Writing, reading, merging,
 * `penumbra report --dump` and the list in docs/format.md are driven from it. To add one: a file
 * kind/NAME.c with its row, its name in SECTION_KINDS, and a description in docs/format.md.
 *
 *      encode.c, decode.c, merge.c ─> the table ─> kind/NAME.c ─> read.h, container.h
 *
 * Context: ordinary code.
 * Ownership: rows are constant; what `get` reads goes into the decoder's profile. */
#ifndef PENUMBRA_PROFILE_KIND_KIND_H
#define PENUMBRA_PROFILE_KIND_KIND_H

#include "profile/container.h"
#include "profile/frames.h"
#include "profile/kind/read.h"
#include "profile/profile.h"

struct encoder {
    const struct profile *p;
    bool compress;
    struct frames frames; /* of all trees */
    uint32_t *frame_of;   /* of each node, thread by thread: as its frame arrived there */
};

struct merger {
    struct profile *into;
    struct profile *from; /* what is not added to something moves from here to there */
    uint32_t *image_of;                   /* where image i of `from` is in `into` */
    uint32_t first_process, first_thread; /* where those of `from` begin in `into` */
    struct recordings_merge recordings;   /* when its times are moved: to where */
};

struct section_kind {
    struct section_type type;
    uint32_t within;   /* the type that it belongs to, without which it is passed over; 0: none */
    bool inseparable;  /* from that one */
    bool of_nodes;     /* of threads' nodes: passed over where these are summed and not shared */
    const char *about; /* as in docs/format.md */

    /* Any of these may be NULL. */
    bool (*needed)(const struct profile *p); /* NULL: in every profile */
    /* What a reader would refuse must not be written: false, and *e is set. */
    bool (*check)(const struct profile *p, struct err *e);
    void (*put)(struct buf *b, const struct encoder *x);
    /* Its failures are the cursor's. Sections are read in the order of the table. */
    void (*get)(struct decoder *d, struct cursor *c);
    /* After all sections have been read, whether this one was there or not. False: *d->e is set. */
    bool (*resolve)(struct decoder *d);
    /* Whether two profiles can be merged: else *e says why not. */
    bool (*alike)(const struct profile *a, const struct profile *b, struct err *e);
    /* Adds what the section holds, in the order of the table. False without memory. */
    bool (*merge)(struct merger *m);
};

/* In the order in which they are written and read. */
#define SECTION_KINDS(X)                                                                           \
    X(reasons) X(meta) X(metrics) X(images) X(processes) X(recordings) X(entities) X(hits)         \
    X(frames) X(threads) X(trees) X(weights) X(sampled) X(ranks) X(phases) X(heap) X(sandboxes)              \
    X(cpu_time) X(delivered) X(timeline) X(counts) X(blocks) X(edges) X(values) X(hotlists)        \
    X(texts) X(names) X(figures) X(parts)

/* Those of tools' tables come after them: table/NAME.c, for each row of TOOLS_TABLE
 * (sigsafe/tools.h). Then those that belong to one of these. */
#define SECTION_KINDS_WITHIN(X) X(waste_paths)

#define SECTION_KIND(name) extern const struct section_kind kind_##name;
SECTION_KINDS(SECTION_KIND)
SECTION_KINDS_WITHIN(SECTION_KIND)
#undef SECTION_KIND

/* The table, ended by NULL. */
extern const struct section_kind *const section_kinds[];

/* The array with room for `more` records after the first `count`; room doubles. NULL, and `array`
 * as it was, without memory or if that were too many. */
void *extend_array(void *array, uint32_t count, uint32_t more, size_t each);

/* The only one of files that say that a recording runs (live.c). */
extern const struct section_type section_live;

/* Of the table, and that one; NULL: there is none with that number. */
const struct section_type *section_kind_lookup(uint32_t number);

#endif

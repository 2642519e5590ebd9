/* A bounded look into a hostile spool, shared between spool_read.c and spool_tree.c.
 *
 * Every record is visited at most once, kept by one bit for each 16 bytes of the spool; so no cycle
 * and no shared tail can make a walk longer than the spool is large.
 *
 * Context: ordinary code. The spool may be written to concurrently.
 * Ownership: spool_view_open maps the bits, spool_view_close unmaps them; the spool is borrowed. */
#ifndef PENUMBRA_PROFILE_SPOOL_VIEW_H
#define PENUMBRA_PROFILE_SPOOL_VIEW_H

#include "profile/profile.h"
#include "sigsafe/spool.h"

/* No counter honestly exceeds this (at 10 kHz it takes three years): larger ones are scribbles. */
#define SPOOL_COUNT_MAX (UINT64_C(1) << 40)

struct spool_view {
    struct spool spool; /* .mapped: no further than storage was ever given out */
    uint8_t *visited;
    size_t visited_size;
    uint64_t strings;   /* bytes of strings that may still be copied */
    uint64_t timelines; /* the same of timelines */
    uint64_t damage;
};

bool spool_view_open(struct spool_view *v, const struct spool *s, struct err *e);
void spool_view_close(struct spool_view *v);
/* The record at ref if it is inside the spool and has not been visited; else NULL, and unless ref
 * is null, one more damage. */
void *spool_view_visit(struct spool_view *v, spool_ref ref, uint64_t size);
/* A counter, cut to SPOOL_COUNT_MAX. */
uint64_t spool_view_count(struct spool_view *v, const uint64_t *counter);

/* A copy of a spool_string (its arguments quoted as a shell takes them, for _command), "" if the
 * string is damaged; NULL without memory. */
char *spool_view_string(struct spool_view *v, spool_ref ref);
char *spool_view_command(struct spool_view *v, spool_ref ref);

/* One of the spool's lists, oldest record first. */
struct record_list {
    void **records; /* to free(), after failure too */
    uint32_t count, capacity;
};

/* The list at *head of records of `size` bytes that begin with their link. False without memory. */
bool spool_view_list(struct spool_view *v, const uint32_t *head, uint64_t size,
                     struct record_list *list);

struct spool_tree_kind {
    bool heap;        /* nodes have heap cells, not calls */
    uint64_t peak_id; /* of the process's heap */
    spool_ref **refs; /* where to put an array of the nodes' places, to free(); NULL: nobody asks */
};

/* The tree at `root` in preorder, children by (image number, offset, guessed). Images are session
 * numbers (key.h), or PROFILE_IMAGE_*; the caller turns numbers into indices. No tree: 0 nodes.
 * False without memory. */
bool spool_tree_read(struct spool_view *v, spool_ref root, struct spool_tree_kind kind,
                     struct profile_thread *t);

#endif

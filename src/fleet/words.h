/* The stacks of an answer and their frames, as the store has them, by number.
 *
 *      rows of frames ─> words_frame ─┬─ frame: image, offset, name or entity of the profile
 *      rows of stacks ─> words_stack ─┴─ stack: its frames' numbers, from the root on
 *
 * Context: ordinary code.
 * Ownership: words_fini releases it; images, entities and names are the answer's. */
#ifndef PENUMBRA_FLEET_WORDS_H
#define PENUMBRA_FLEET_WORDS_H

#include "database/answer.h"
#include "fleet/tsv.h"

struct word_frame {
    uint64_t offset, start;
    uint32_t image, name; /* of the answer's profile; name UINT32_MAX: none */
    bool guessed;
};

struct word_map {
    uint64_t *keys; /* 0: free */
    uint32_t *values;
    size_t size, count;
};

struct words {
    struct word_map frame_of, stack_of, image_of;
    struct word_frame *frames;
    size_t frame_count, frame_capacity;
    uint64_t *paths; /* of all stacks: each its length, then numbers of frames */
    size_t path_count, path_capacity;
};

/* A row of frames: id, kind, build_id, path, at, start, function, guessed. False without memory, or
 * t->failed. */
enum { WORDS_FRAME_FIELDS = 8, WORDS_STACK_FIELDS = 2 };
bool words_frame(struct words *w, struct answer *a, struct tsv *t, char **fields);
/* A row of stacks: id, frames. */
bool words_stack(struct words *w, struct tsv *t, char **fields);

/* NULL: it is not known. */
const struct word_frame *words_frame_of(const struct words *w, uint64_t number);
/* Frames from the root on, and how many; NULL: it is not known. */
const uint64_t *words_stack_of(const struct words *w, uint64_t number, uint64_t *count);
void words_fini(struct words *w);

#endif

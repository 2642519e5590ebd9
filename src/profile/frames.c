#include "profile/frames.h"

#include <stdlib.h>
#include <string.h>

#include "sigsafe/hash.h"

int frame_compare(const void *a, const void *b)
{
    const struct frame *x = a, *y = b;
    if (x->image != y->image)
        return x->image < y->image ? -1 : 1;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return (x->guessed > y->guessed) - (x->guessed < y->guessed);
}

/* The slot that holds the frame, or the empty one where it belongs. */
static uint32_t find_slot(const struct frames *f, const struct frame *frame)
{
    uint64_t h = hash_word(frame->offset) + frame->image * 2u + frame->guessed;
    h ^= h >> 32;
    uint32_t slot = (uint32_t)(h * UINT64_C(0xff51afd7ed558ccd) >> 32) & (f->slot_count - 1);
    while (f->slots[slot] && frame_compare(&f->frames[f->slots[slot] - 1], frame) != 0)
        slot = (slot + 1) & (f->slot_count - 1);
    return slot;
}

static bool grow(struct frames *f)
{
    uint32_t capacity = f->capacity ? f->capacity * 2 : 256;
    if (f->capacity > UINT32_MAX / 8)
        return false;
    struct frame *frames = realloc(f->frames, capacity * sizeof *frames);
    if (!frames)
        return false;
    f->frames = frames;
    uint32_t *slots = calloc((size_t)capacity * 2, sizeof *slots);
    if (!slots)
        return false;
    free(f->slots);
    f->slots = slots;
    f->slot_count = capacity * 2;
    f->capacity = capacity;
    for (uint32_t i = 0; i < f->count; i++)
        f->slots[find_slot(f, &f->frames[i])] = i + 1;
    return true;
}

bool frames_add(struct frames *f, const struct profile_node *n, uint32_t *arrival)
{
    struct frame frame = frame_of(n);
    if (f->count == f->capacity && !grow(f))
        return false;
    uint32_t slot = find_slot(f, &frame);
    if (!f->slots[slot]) {
        f->frames[f->count++] = frame;
        f->slots[slot] = f->count;
    }
    *arrival = f->slots[slot] - 1;
    return true;
}

bool frames_sort(struct frames *f)
{
    if (!f->count)
        return true;
    f->sorted = malloc(f->count * sizeof *f->sorted);
    f->rank = malloc(f->count * sizeof *f->rank);
    if (!f->sorted || !f->rank)
        return false;
    memcpy(f->sorted, f->frames, f->count * sizeof *f->sorted);
    qsort(f->sorted, f->count, sizeof *f->sorted, frame_compare);
    for (uint32_t i = 0; i < f->count; i++)
        f->rank[f->slots[find_slot(f, &f->sorted[i])] - 1] = i;
    return true;
}

void frames_free(struct frames *f)
{
    free(f->frames);
    free(f->sorted);
    free(f->slots);
    free(f->rank);
    *f = (struct frames){0};
}

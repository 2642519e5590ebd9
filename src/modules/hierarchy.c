#include "modules/hierarchy.h"

#include <stdlib.h>

#define FROM_L1 "L1", "L1/L2", "L1/L2/L3", "L1/L2/L3/memory", "L1/L2/L3/memory/fault"
#define FROM_L2 "L2", "L2/L3", "L2/L3/memory", "L2/L3/memory/fault"
#define FROM_L3 "L3", "L3/memory", "L3/memory/fault"

const char *const hierarchy_names[HIERARCHY_NAMES + 1] = {
    FROM_L1, FROM_L2, FROM_L3, "memory", "memory/fault", "fault", NULL
};
const char *const hierarchy_level_names[HIERARCHY_LEVELS] = { "L1", "L2", "L3", "memory", "fault" };

/* Runs by their first level, then by their last. */
static uint32_t run_number(uint32_t first, uint32_t last)
{
    uint32_t before = 0;
    for (uint32_t i = 0; i < first; i++)
        before += HIERARCHY_LEVELS - i;
    return before + last - first;
}

void hierarchy_run(uint32_t name, uint32_t *first, uint32_t *last)
{
    uint32_t level = 0;
    while (level + 1 < HIERARCHY_LEVELS && name >= HIERARCHY_LEVELS - level) {
        name -= HIERARCHY_LEVELS - level;
        level++;
    }
    *first = level;
    *last = level + name < HIERARCHY_LEVELS ? level + name : HIERARCHY_LEVELS - 1;
}

uint32_t hierarchy_place(const struct hierarchy *h, uint64_t ticks)
{
    uint32_t level = 0, first, last;
    for (uint32_t i = 1; i < HIERARCHY_LEVELS; i++)
        if (h->levels[i].present && h->levels[i].apart && ticks >= h->levels[i].from)
            level = i;
    /* `level` is the nearest of those that it may be. */
    first = last = level;
    for (uint32_t i = level + 1; i < HIERARCHY_LEVELS; i++) {
        if (!h->levels[i].present)
            continue;
        if (h->levels[i].apart)
            break;
        last = i;
    }
    return run_number(first, last);
}

/* ---- boundaries ---- */

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void sort(struct hierarchy_samples s)
{
    if (s.count)
        qsort(s.ticks, s.count, sizeof *s.ticks, compare);
}

static uint32_t less(uint32_t ticks, uint32_t cost)
{
    return ticks > cost ? ticks - cost : 0;
}

/* The smallest difference of two neighbours that occurs in one sample of a hundred or more: a
 * counter that runs in steps shows only few. */
static uint32_t step_of(struct hierarchy_samples s)
{
    uint32_t least = UINT32_MAX, same = 1, before = 0;
    for (uint32_t i = 1; i <= s.count; i++, same++) {
        if (i < s.count && s.ticks[i] == s.ticks[i - 1])
            continue;
        if (same * 100 >= s.count) {
            if (before && s.ticks[i - 1] - before < least)
                least = s.ticks[i - 1] - before;
            before = s.ticks[i - 1];
        }
        same = 0;
    }
    return least == UINT32_MAX ? 1 : least;
}

/* Where between two sorted sets fewest are on the wrong side: those of `near` at or above it, those
 * of `far` below. Returns the millionths that are. */
static uint32_t boundary(struct hierarchy_samples near, struct hierarchy_samples far,
                         uint32_t *from)
{
    uint64_t best = UINT64_MAX;
    uint32_t below_near = 0;
    for (uint32_t i = 0; i < far.count; i++) {
        if (i && far.ticks[i] == far.ticks[i - 1])
            continue;
        while (below_near < near.count && near.ticks[below_near] < far.ticks[i])
            below_near++;
        uint64_t wrong = UINT64_C(1000000) * (near.count - below_near) / near.count +
                         UINT64_C(1000000) * i / far.count;
        /* At the gap's end: what disturbs a load makes it slower, never faster. */
        if (wrong <= best) {
            best = wrong;
            *from = far.ticks[i];
        }
    }
    return (uint32_t)(best / 2);
}

void hierarchy_judge(struct hierarchy *h, struct hierarchy_samples nothing,
                     struct hierarchy_samples of[HIERARCHY_LEVELS])
{
    uint32_t near = HIERARCHY_LEVELS;
    sort(nothing);
    h->cost = nothing.count ? nothing.ticks[nothing.count / 2] : 0;
    h->step = step_of(nothing);
    for (uint32_t i = 0; i < HIERARCHY_LEVELS; i++) {
        struct hierarchy_bound *b = &h->levels[i];
        *b = (struct hierarchy_bound){ .present = of[i].count };
        if (!b->present)
            continue;
        sort(of[i]);
        b->median = less(of[i].ticks[of[i].count / 2], h->cost);
        b->apart = true;
        if (near < HIERARCHY_LEVELS) {
            b->wrong = boundary(of[near], of[i], &b->from);
            b->from = less(b->from, h->cost);
            b->apart = b->wrong <= HIERARCHY_WRONG && b->from > h->levels[near].from;
        }
        near = i;
    }
}

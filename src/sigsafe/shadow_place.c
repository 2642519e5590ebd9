#include "sigsafe/shadow_place.h"

enum {
    FORK_NS = 100000,
    PAGE_NS = 60,   /* 15 ms a gigabyte, ... */
    PAGE_MOST_NS = 200, /* ... 50 at the most */
    FINE = 64,
    REFUSALS = 3,
    FAULTED = 8,
    PROCESSORS_LEAST = 2,
};

uint64_t shadow_fork_ns(const struct place_facts *f)
{
    if (!f->fork_pages)
        return FORK_NS + f->pages * PAGE_NS;
    uint64_t page = f->fork_ns * FINE / f->fork_pages;
    return page * f->pages / FINE;
}

uint64_t shadow_worst_ns(const struct place_facts *f)
{
    return FORK_NS + f->pages * (PAGE_MOST_NS + f->cow_ns);
}

enum shadow_place shadow_place_choose(const struct place_facts *f, enum shadow_place now)
{
    uint64_t limit = f->budget_ppm * PLACE_WINDOW_S * 1000;
    if (f->processors < PROCESSORS_LEAST)
        return PLACE_PROCESSORS;
    if (f->refused >= REFUSALS)
        return PLACE_REFUSED;
    if (f->faulted >= FAULTED && f->faulted > f->ended / 2)
        return PLACE_UNFIT;
    if (now == PLACE_MEMORY || now == PLACE_COST)
        limit /= 2;
    if (shadow_fork_ns(f) > limit || shadow_worst_ns(f) > shadow_most_ns(limit))
        return f->fork_pages ? PLACE_COST : PLACE_MEMORY;
    return PLACE_SHADOWS;
}

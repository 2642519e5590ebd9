#include "profile/hotlist.h"

#include <stdlib.h>

#include "base/saturate.h"

static uint64_t rotate(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

void hotlist_random_seed(struct hotlist_random *r, uint64_t seed)
{
    for (unsigned i = 0; i < 4; i++) {
        uint64_t z = seed += UINT64_C(0x9e3779b97f4a7c15);
        z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
        r->state[i] = z ^ z >> 31;
    }
}

uint64_t hotlist_random_next(struct hotlist_random *r)
{
    uint64_t *s = r->state, result = rotate(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

double hotlist_probability(const struct hotlist *h)
{
    double p = 1, power = 15.0 / 16;
    for (uint32_t steps = h->steps; steps; steps >>= 1, power *= power)
        p *= steps & 1 ? power : 1;
    return p;
}

/* True with the probability p of the hotlist. */
static bool is_kept(const struct hotlist *h, struct hotlist_random *r)
{
    const double unit = 1.0 / (double)(UINT64_C(1) << 53);
    return !h->steps || (double)(hotlist_random_next(r) >> 11) * unit < hotlist_probability(h);
}

#define TOSSED_MAX (UINT64_C(1) << 24)

/* How many of `count` instances stay, each with probability 15/16: four random bits are all set once
 * in 16 times. Of very many, whose share would differ by less than one part in 4,000, only the rounding
 * is left to chance: that is still unbiased. */
static uint64_t keep_instances(uint64_t count, struct hotlist_random *r)
{
    uint64_t lost = 0;
    if (count > TOSSED_MAX)
        return count - count / 16 - (hotlist_random_next(r) % 16 < count % 16);
    for (uint64_t left = count; left;) {
        unsigned n = left < 64 ? (unsigned)left : 64;
        uint64_t coins = n == 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
        for (unsigned i = 0; i < 4; i++)
            coins &= hotlist_random_next(r);
        lost += (uint64_t)__builtin_popcountll(coins);
        left -= n;
    }
    return count - lost;
}

/* One step of p. */
static void thin(struct hotlist *h, struct hotlist_random *r)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < h->count; i++) {
        struct hotlist_entry entry = h->entries[i];
        entry.count = keep_instances(entry.count, r);
        if (entry.count)
            h->entries[kept++] = entry;
    }
    h->count = kept;
    h->steps++;
}

static struct hotlist_entry *find(struct hotlist *h, struct hotlist_value value)
{
    for (uint32_t i = 0; i < h->count; i++)
        if (h->entries[i].bits == value.bits && h->entries[i].space == value.space)
            return &h->entries[i];
    return NULL;
}

static void append(struct hotlist *h, struct hotlist_value value, uint64_t count)
{
    h->entries[h->count] =
        (struct hotlist_entry){.bits = value.bits, .space = value.space, .count = count};
    h->count++;
}

static void add_concise(struct hotlist *h, struct hotlist_value value, struct hotlist_random *r)
{
    if (!is_kept(h, r))
        return;
    struct hotlist_entry *entry = find(h, value);
    if (entry) {
        entry->count++;
        return;
    }
    append(h, value, 1);
    while (h->count > HOTLIST_CONCISE_MAX)
        thin(h, r);
}

static int compare_entries(const void *a, const void *b)
{
    const struct hotlist_entry *x = a, *y = b;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    if (x->space != y->space)
        return x->space < y->space ? -1 : 1;
    return x->bits < y->bits ? -1 : x->bits > y->bits;
}

void hotlist_sort(struct hotlist *h)
{
    if (h->count)
        qsort(h->entries, h->count, sizeof *h->entries, compare_entries);
}

static void add_tnv(struct hotlist *h, struct hotlist_value value)
{
    struct hotlist_entry *entry = find(h, value);
    if (entry)
        entry->count++;
    else if (h->count < HOTLIST_TNV_MAX)
        append(h, value, 1);
    if (h->observed % HOTLIST_TNV_INTERVAL == 0 && h->count > HOTLIST_TNV_MAX / 2) {
        hotlist_sort(h);
        h->count = HOTLIST_TNV_MAX / 2;
    }
}

void hotlist_add(struct hotlist *h, enum hotlist_kind kind, struct hotlist_value value,
                 struct hotlist_random *r)
{
    h->observed++;
    if (kind == HOTLIST_TNV)
        add_tnv(h, value);
    else
        add_concise(h, value, r);
}

/* The counts of `from` at its own p, thinned to that of `into`. */
static void add_entries(struct hotlist *into, const struct hotlist *from, struct hotlist_random *r)
{
    for (uint32_t i = 0; i < from->count; i++) {
        const struct hotlist_entry *at = &from->entries[i];
        uint64_t count = at->count;
        for (uint32_t steps = from->steps; steps < into->steps && count; steps++)
            count = keep_instances(count, r);
        struct hotlist_value value = {.bits = at->bits, .space = at->space};
        struct hotlist_entry *entry = find(into, value);
        if (entry)
            entry->count = add_saturated(entry->count, count);
        else if (count)
            append(into, value, count);
    }
}

void hotlist_merge(struct hotlist *into, const struct hotlist *from, enum hotlist_kind kind,
                   struct hotlist_random *r)
{
    while (into->steps < from->steps && kind == HOTLIST_CONCISE)
        thin(into, r);
    add_entries(into, from, r);
    into->observed = add_saturated(into->observed, from->observed);
    while (kind == HOTLIST_CONCISE && into->count > HOTLIST_CONCISE_MAX)
        thin(into, r);
    if (into->count > hotlist_most(kind)) {
        hotlist_sort(into);
        into->count = hotlist_most(kind);
    }
}

double hotlist_share(const struct hotlist *h, const struct hotlist_entry *entry)
{
    double all = (double)h->observed, estimate = (double)entry->count / hotlist_probability(h);
    return estimate < all ? estimate / all : 1;
}

double hotlist_invariance(const struct hotlist *h)
{
    double greatest = 0;
    for (uint32_t i = 0; i < h->count; i++) {
        double share = hotlist_share(h, &h->entries[i]);
        greatest = share > greatest ? share : greatest;
    }
    return greatest;
}

bool hotlist_check(const struct hotlist *h, enum hotlist_kind kind)
{
    uint64_t sum = 0;
    if (h->count > hotlist_most(kind) || h->steps > HOTLIST_STEPS_MAX || (kind == HOTLIST_TNV && h->steps))
        return false;
    for (uint32_t i = 0; i < h->count; i++) {
        if (!h->entries[i].count)
            return false;
        sum = add_saturated(sum, h->entries[i].count);
    }
    return sum <= h->observed;
}

#include "sigsafe/concise.h"

#include <stddef.h>

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

/* (15/16)^steps as a 64-bit fraction, a little less where it is 1: by the binary digits of
 * `steps`. */
static uint64_t power(uint32_t steps)
{
    /* (15/16)^(2^i), rounded */
    static const uint64_t powers[] = {
        UINT64_C(0xf000000000000000),
        UINT64_C(0xe100000000000000),
        UINT64_C(0xc5c1000000000000),
        UINT64_C(0x98c29b8100000000),
        UINT64_C(0x5b27ac993df97701),
        UINT64_C(0x20753adafd1e839f),
        UINT64_C(0x041d846598faf4d2),
        UINT64_C(0x0010ef8a70456e97),
        UINT64_C(0x0000011ed171d12d),
        UINT64_C(0x0000000000014159),
    };
    uint64_t p = UINT64_MAX;
    for (uint32_t i = 0; steps && i < sizeof powers / sizeof *powers; steps >>= 1, i++)
        if (steps & 1)
            p = (uint64_t)((unsigned __int128)p * powers[i] >> 64);
    return p;
}

static uint64_t probability(const struct hotlist *h)
{
    return power(h->steps);
}

bool hotlist_is_kept(const struct hotlist *h, struct hotlist_random *r)
{
    return !h->steps || hotlist_random_next(r) < probability(h);
}

/* - ln(u / 2^64), u not 0, in units of 2^-32: u is x 2^e with x from 0.7 to 1.4, whose logarithm is
 * 2 artanh of z = (x - 1) / (x + 1), at most 0.18: four terms of its series, with an error below
 * 1e-7. */
static uint64_t minus_logarithm(uint64_t u)
{
    enum { DIGITS = 30, SHIFT = 63 - DIGITS };
    const int64_t one = INT64_C(1) << DIGITS, root = INT64_C(0x5a82799a) /* of 2 */;
    const int64_t unit = INT64_C(1) << 32;
    const uint64_t ln2 = UINT64_C(0xb17217f8);
    unsigned zeroes = (unsigned)__builtin_clzll(u), halves = zeroes + 1;
    int64_t x = (int64_t)(u << zeroes >> SHIFT);
    if (x > root) {
        x /= 2;
        halves--;
    }
    int64_t z = (x - one) * unit / (x + one), square = z * z / unit, sum = unit / 7;
    sum = unit / 5 + sum * square / unit;
    sum = unit / 3 + sum * square / unit;
    sum = unit + sum * square / unit;
    return halves * ln2 - (uint64_t)(2 * (z * sum / unit));
}

/* A gap is geometric: it is at least n with probability q^n, so that it is the greatest n whose q^n
 * a random number u is below: ln u / ln q. Small ones one after the other; where p is small, 1 / -
 * ln q is 1/p - 1/2 - p/12 but for p^2 / 24. */
uint64_t hotlist_draw_gap(const struct hotlist *h, struct hotlist_random *r)
{
    enum { FEW = 8, HALF = 32, SHIFT = HALF - 1 };
    const uint64_t most = UINT64_C(1) << 62;
    if (!h->steps)
        return 0;
    uint64_t p = probability(h), q = -p, random = hotlist_random_next(r), gap = 0;
    if (p >= UINT64_MAX / FEW) {
        for (uint64_t all = q; random < all; gap++)
            all = (uint64_t)((unsigned __int128)all * q >> 64);
        return gap;
    }
    unsigned zeroes = (unsigned)__builtin_clzll(p);
    uint64_t ln = minus_logarithm(random | 1);
    /* of p, times 2^(31 - zeroes) */
    uint64_t inverse = (UINT64_C(1) << 63) / (p << zeroes >> HALF);
    unsigned __int128 quotient = (unsigned __int128)ln * inverse;
    quotient = zeroes < SHIFT ? quotient >> (SHIFT - zeroes) : quotient << (zeroes - SHIFT);
    quotient = (quotient - ln / 2 - (ln * (p >> HALF) >> HALF) / 12) >> HALF;
    return quotient < most ? (uint64_t)quotient : most;
}

#define TOSSED_MAX (UINT64_C(1) << 16)

/* Four random bits are all set once in 16 times. Of very many, whose share would differ by about
 * one part in 1,000, only the rounding is left to chance: that is still unbiased. */
uint64_t hotlist_keep_instances(uint64_t count, struct hotlist_random *r)
{
    uint64_t lost = 0;
    if (count > TOSSED_MAX)
        return count - count / 16 - (hotlist_random_next(r) % 16 < count % 16);
    for (uint64_t left = count; left;) {
        unsigned n = left < 64 ? (unsigned)left : 64;
        uint64_t coins = n == 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
        for (unsigned i = 0; i < 4; i++)
            coins &= hotlist_random_next(r);
        for (; coins; coins &= coins - 1)
            lost++;
        left -= n;
    }
    return count - lost;
}

uint64_t hotlist_keep_evenly(uint64_t count, uint32_t steps, struct hotlist_random *r)
{
    unsigned __int128 share = (unsigned __int128)count * power(steps);
    return steps ? (uint64_t)(share >> 64) + (hotlist_random_next(r) < (uint64_t)share) : count;
}

static void thin(struct hotlist *h, uint32_t steps, bool evenly, struct hotlist_random *r)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < h->count; i++) {
        struct hotlist_entry entry = h->entries[i];
        entry.count = evenly ? hotlist_keep_evenly(entry.count, steps, r)
                             : hotlist_keep_instances(entry.count, r);
        if (entry.count)
            h->entries[kept++] = entry;
    }
    h->count = kept;
    h->steps += steps;
}

void hotlist_thin_evenly(struct hotlist *h, uint32_t steps, struct hotlist_random *r)
{
    thin(h, steps, true, r);
}

struct hotlist_entry *hotlist_find(struct hotlist *h, struct hotlist_value value)
{
    for (uint32_t i = 0; i < h->count; i++)
        if (h->entries[i].bits == value.bits && h->entries[i].space == value.space)
            return &h->entries[i];
    return NULL;
}

void hotlist_append(struct hotlist *h, struct hotlist_value value, uint64_t count)
{
    h->entries[h->count] =
        (struct hotlist_entry){.bits = value.bits, .space = value.space, .count = count};
    h->count++;
}

static void fit(struct hotlist *h, bool evenly, struct hotlist_random *r)
{
    while (h->count > HOTLIST_CONCISE_MAX)
        thin(h, 1, evenly, r);
}

void hotlist_add_kept(struct hotlist *h, struct hotlist_value value, uint64_t count, bool evenly,
                      struct hotlist_random *r)
{
    struct hotlist_entry *entry = hotlist_find(h, value);
    if (entry) {
        entry->count += count;
        return;
    }
    fit(h, evenly, r); /* who was killed before it fitted has left one too many */
    hotlist_append(h, value, count);
    fit(h, evenly, r);
}

#include "sigsafe/spool_shadow.h"

enum { UNIT = 1000 };
#define LONGEST_NS INT64_C(10000000000)
#define CREDIT_NS INT64_C(1000000000)

/* Those that take part in the load. */
static int64_t working(const struct spool_header *h)
{
    return (int64_t)__atomic_load_n(&h->shadows_active, __ATOMIC_RELAXED) -
           (int64_t)__atomic_load_n(&h->shadows_ripe, __ATOMIC_RELAXED);
}

/* Adds the time since the last call, with as many shadows as are at work now: to be called before
 * their number changes. */
static void account_as(struct spool_header *h, uint64_t now_ns)
{
    int64_t load = h->load_milli;
    int64_t active = working(h);
    uint64_t last = __atomic_load_n(&h->load_ns, __ATOMIC_RELAXED);
    if (now_ns > last && __atomic_compare_exchange_n(&h->load_ns, &last, now_ns, false,
                                                     __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        int64_t passed = (int64_t)(now_ns - last);
        int64_t more = (passed < LONGEST_NS ? passed : LONGEST_NS) / UNIT * (active * UNIT - load);
        int64_t area = __atomic_add_fetch(&h->load_area, last ? more : 0, __ATOMIC_RELAXED);
        /* A program that waits for long does not save its share up. */
        if (area < -CREDIT_NS / UNIT * load)
            __atomic_store_n(&h->load_area, -CREDIT_NS / UNIT * load, __ATOMIC_RELAXED);
    }
}

bool shadow_load_allows_as(struct spool_header *h, uint64_t now_ns)
{
    int64_t load = h->load_milli;
    account_as(h, now_ns);
    return __atomic_load_n(&h->load_area, __ATOMIC_RELAXED) < 0 &&
           working(h) < (load + UNIT - 1) / UNIT;
}

/* If it is killed in between there is one more of them than are active, and not one less. */
void shadow_ripen_as(struct spool_header *h, struct spool_seat *seat, uint64_t now_ns)
{
    account_as(h, now_ns);
    __atomic_fetch_add(&h->shadows_ripe, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&seat->ripe, 1, __ATOMIC_RELEASE);
}

bool shadow_leave_as(struct spool_header *h, struct spool_seat *seat, uint64_t now_ns)
{
    uint32_t taken = SEAT_TAKEN;
    if (!__atomic_compare_exchange_n(&seat->state, &taken, SEAT_LEFT, false, __ATOMIC_RELEASE,
                                     __ATOMIC_RELAXED))
        return false;
    account_as(h, now_ns);
    /* first: nobody sees fewer at work than there are */
    if (__atomic_exchange_n(&seat->ripe, 0, __ATOMIC_ACQUIRE))
        __atomic_fetch_sub(&h->shadows_ripe, 1, __ATOMIC_RELAXED);
    __atomic_fetch_sub(&h->shadows_active, 1, __ATOMIC_RELAXED);
    return true;
}

static uint64_t load(const uint64_t *at)
{
    return __atomic_load_n(at, __ATOMIC_RELAXED);
}

uint64_t shadow_pass_length(const struct spool_shadows *r, uint64_t stretch)
{
    enum { THOUSAND = 1000 };
    uint64_t observed = load(&r->instructions) / THOUSAND,
             passed_us = load(&r->passed_ns) / THOUSAND;
    if (!observed || !passed_us)
        return SHADOW_PASSED;
    uint64_t stretch_us = load(&r->run_ns) / observed * stretch / THOUSAND / THOUSAND;
    uint64_t as_long = stretch_us * (load(&r->passed) / passed_us);
    return as_long > SHADOW_PASSED + SHADOW_PASSED / 2 ? SHADOW_PASSED_MORE : SHADOW_PASSED;
}

#include "sigsafe/shadow_account.h"

void shadow_account_clear(struct shadow_account *a)
{
    shadow_budget_clear(&a->budget);
    a->last = a->window = (struct shadow_usage){0, 0, 0};
    a->calmest = a->calmest_before = SHADOW_NO_RATE;
    a->fork_pages = a->pages = a->grown = a->window_grown = a->pause_ns = 0;
    a->copies = a->reused = a->huge_ns = a->triggers_ns = a->signals_ns = 0;
}

void shadow_account_fork(struct shadow_account *a, const struct shadow_usage *now)
{
    a->last = a->window = *now;
    if (a->calmest != SHADOW_NO_RATE)
        a->calmest_before = a->calmest;
    a->calmest = SHADOW_NO_RATE;
    a->pages = now->pages;
    a->copies = a->reused = a->grown = a->window_grown = a->huge_ns = a->triggers_ns = 0;
}

void shadow_account_pause(struct shadow_account *a, const struct shadow_usage *now, uint64_t ns)
{
    a->pause_ns = ns;
    a->fork_pages = now->pages;
    shadow_budget_charge(&a->budget, now->cpu_ns, ns);
}

void shadow_account_trigger(struct shadow_account *a, const struct shadow_usage *now,
                            uint64_t signal_ns, uint64_t work_ns)
{
    a->triggers_ns += signal_ns + work_ns;
    a->signals_ns += signal_ns;
    shadow_budget_charge(&a->budget, now->cpu_ns, signal_ns + work_ns);
}

void shadow_account_huge(struct shadow_account *a, const struct shadow_usage *now, uint64_t ns)
{
    a->huge_ns += ns;
    shadow_budget_charge(&a->budget, now->cpu_ns, ns);
}

void shadow_account_look(struct shadow_account *a, const struct shadow_usage *now, bool budget,
                         bool small)
{
    enum { WINDOW_NS = 10000000, SETTLES_NS = 100000000 };
    a->grown += small && now->pages > a->pages ? now->pages - a->pages : 0;
    a->pages = now->pages;
    uint64_t settles = budget ? WINDOW_NS : SETTLES_NS;
    uint64_t cpu = now->cpu_ns - a->window.cpu_ns;
    if (cpu < WINDOW_NS)
        return;
    uint64_t faults = now->faults - a->window.faults, grown = a->grown - a->window_grown;
    uint64_t rate = (faults > grown ? faults - grown : 0) * 1000000u / (cpu / 1000u);
    if (a->window.cpu_ns - a->last.cpu_ns >= settles && rate < a->calmest)
        a->calmest = rate;
    a->window = *now;
    a->window_grown = a->grown;
}

static uint64_t own_rate(const struct shadow_account *a)
{
    uint64_t least = a->calmest < a->calmest_before ? a->calmest : a->calmest_before;
    return least == SHADOW_NO_RATE ? 0 : least;
}

/* There were no more to copy than there were at the last fork. */
static uint64_t capped(const struct shadow_account *a, uint64_t faults)
{
    return a->fork_pages && faults > a->fork_pages ? a->fork_pages : faults;
}

uint64_t shadow_account_copied(const struct shadow_account *a, const struct shadow_usage *now)
{
    uint64_t faults = now->faults - a->last.faults;
    uint64_t since = now->cpu_ns - a->last.cpu_ns;
    uint64_t own = a->grown + since / 1000u * own_rate(a) / 1000000u;
    return capped(a, faults > own ? faults - own : 0);
}

uint64_t shadow_copies_ns(uint64_t copies, uint64_t price_ns)
{
    enum { AS_COLD = 2 };
    return AS_COLD * copies * price_ns;
}

struct copies_charged shadow_account_copies(struct shadow_account *a,
                                            const struct shadow_usage *now,
                                            const struct shadow_prices *p, bool shared)
{
    uint64_t copied = shadow_account_copied(a, now);
    struct copies_charged c = {0, 0};
    if (copied <= a->copies)
        return c;
    c.pages = copied - a->copies;
    c.ns = shadow_copies_ns(c.pages, shared ? p->copy_ns : p->reuse_ns);
    a->copies = copied;
    a->reused += shared ? 0 : c.pages;
    shadow_budget_charge(&a->budget, now->cpu_ns, c.ns);
    return c;
}

uint64_t shadow_account_cost(const struct shadow_account *a, const struct shadow_usage *now,
                             const struct shadow_prices *p)
{
    uint64_t copied = shadow_account_copied(a, now),
             reused = a->reused < copied ? a->reused : copied;
    return a->pause_ns + shadow_copies_ns(copied - reused, p->copy_ns) +
           shadow_copies_ns(reused, p->reuse_ns) + a->huge_ns;
}

uint64_t shadow_account_cost_most(const struct shadow_account *a, const struct shadow_usage *now,
                                  const struct shadow_prices *p)
{
    return a->pause_ns + shadow_copies_ns(capped(a, now->faults - a->last.faults), p->copy_ns) +
           a->huge_ns;
}

uint64_t shadow_account_page_ns(const struct shadow_account *a, const struct shadow_prices *p)
{
    if (!a->copies)
        return p->copy_ns;
    return ((a->copies - a->reused) * p->copy_ns + a->reused * p->reuse_ns) / a->copies;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

bool shadow_account_overdrawn(struct shadow_account *a, const struct shadow_usage *now,
                              const struct shadow_prices *p, uint64_t ppm, uint64_t lately)
{
    const uint64_t window_ns = UINT64_C(1000000000) * PLACE_WINDOW_S;
    uint64_t limit = shadow_budget_limit_ns(ppm), copied = shadow_account_copied(a, now);
    uint64_t since = now->cpu_ns - a->last.cpu_ns,
             left = copied < a->fork_pages ? a->fork_pages - copied : 0;
    uint64_t soon = least(lately, left);
    uint64_t later = since && since < window_ns ? least(copied * (window_ns / since - 1),
                                                        least(copied, left - soon)) : 0;
    uint64_t ahead_ns = shadow_copies_ns(soon, p->copy_ns) + shadow_copies_ns(later, p->reuse_ns);
    return shadow_budget_spent(&a->budget, now->cpu_ns) + ahead_ns > shadow_most_ns(limit);
}

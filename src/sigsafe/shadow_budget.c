#include "sigsafe/shadow_budget.h"

enum { COUNT = BUDGET_PARTS + 1 };

void shadow_budget_clear(struct shadow_budget *b)
{
    b->told_ns = b->others_ns = 0;
    b->part = b->worst_ns = b->all_ns = b->earned_ns = b->earned_cpu_ns = 0;
    for (unsigned i = 0; i < COUNT; i++)
        b->costs[i] = 0;
}

/* What is older than the window goes. */
static void advance(struct shadow_budget *b, uint64_t cpu_ns)
{
    uint64_t part = cpu_ns / BUDGET_PART_NS;
    uint64_t passed = part > b->part ? part - b->part : 0;
    for (uint64_t i = 1; i <= passed && i <= COUNT; i++)
        b->costs[(b->part + i) % COUNT] = 0;
    b->part += passed;
}

uint64_t shadow_budget_spent(struct shadow_budget *b, uint64_t cpu_ns)
{
    uint64_t sum = 0;
    advance(b, cpu_ns);
    for (unsigned i = 0; i < COUNT; i++)
        sum += b->costs[i];
    return sum;
}

void shadow_budget_charge(struct shadow_budget *b, uint64_t cpu_ns, uint64_t cost_ns)
{
    advance(b, cpu_ns);
    b->costs[b->part % COUNT] += cost_ns;
    b->all_ns += cost_ns;
    uint64_t spent = shadow_budget_spent(b, cpu_ns);
    if (spent > b->worst_ns)
        b->worst_ns = spent;
}

/* What is left then of this process's. */
static int64_t earn(struct shadow_budget *b, uint64_t ppm, uint64_t cpu_ns)
{
    uint64_t most = b->all_ns + shadow_budget_limit_ns(ppm);
    b->earned_ns += (cpu_ns - b->earned_cpu_ns) / 1000 * ppm / 1000 * BUDGET_SPENT / BUDGET_WHOLE;
    b->earned_cpu_ns = cpu_ns;
    if (b->earned_ns > most)
        b->earned_ns = most;
    return (int64_t)(b->earned_ns - b->all_ns);
}

void shadow_budget_share(struct shadow_budget *b, int64_t *left_ns, uint64_t ppm, uint64_t cpu_ns)
{
    int64_t own = earn(b, ppm, cpu_ns), most = (int64_t)shadow_budget_limit_ns(ppm);
    int64_t all = __atomic_add_fetch(left_ns, own - b->told_ns, __ATOMIC_RELAXED);
    int64_t excess = all > most ? all - most : 0;
    if (excess > (int64_t)b->earned_ns)
        excess = (int64_t)b->earned_ns;
    if (excess)
        __atomic_fetch_sub(left_ns, excess, __ATOMIC_RELAXED);
    b->earned_ns -= (uint64_t)excess;
    b->told_ns = own - excess;
    b->others_ns = all - own;
}

static bool enough_is_saved(struct shadow_budget *b, const struct budget_facts *f)
{
    int64_t left = earn(b, f->ppm, f->cpu_ns) + b->others_ns;
    if (f->credit && f->last_ns <= shadow_budget_limit_ns(f->ppm) / BUDGET_CREDIT)
        return true;
    return left >= (int64_t)shadow_budget_limit_ns(f->ppm) ||
           left >= (int64_t)(f->last_ns / BUDGET_SHARES * f->saved);
}

static uint64_t greater(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Triggers alone spend an eighth of a window. */
static bool window_has_room(struct shadow_budget *b, const struct budget_facts *f)
{
    uint64_t limit = shadow_budget_limit_ns(f->ppm), most = shadow_most_ns(limit),
             spent = shadow_budget_spent(b, f->cpu_ns);
    uint64_t again = f->last_ns < most ? f->last_ns : most;
    return spent + greater(f->worst_ns, greater(again, f->likely_ns)) <= most ||
           (spent <= limit / SHADOW_TRIGGERS && f->worst_ns <= most);
}

uint64_t shadow_copies_likely(const struct copies_facts *f)
{
    return f->copied < f->fork_pages ? f->pages * f->copied / f->fork_pages : f->pages;
}

uint64_t shadow_copies_expected(const struct copies_facts *f)
{
    uint64_t likely = shadow_copies_likely(f);
    if (f->pages <= f->fork_pages)
        return likely;
    uint64_t half = f->copied + (f->pages - f->fork_pages) / 2;
    return half < likely ? half : likely;
}

bool shadow_budget_allows(struct shadow_budget *b, const struct budget_facts *f)
{
    if (!f->ppm)
        return 2 * f->last_ns <= f->cpu_ns - f->fork_cpu_ns;
    return enough_is_saved(b, f) && window_has_room(b, f);
}

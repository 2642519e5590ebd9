/* Shadows: the account of their load, the record in the spool, the section of the file, what is
 * made of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "profile/counts.h"
#include "profile/merge.h"
#include "profile/spool_read.h"
#include "sample.h"
#include "runtime/carrier/burst/burst_draw.h"
#include "sigsafe/settings.h"
#include "sigsafe/shadow_budget.h"
#include "sigsafe/spool_shadow.h"

#define MS UINT64_C(1000000)

/* Triggers every 5 ms, shadows of 40 ms, forked whenever the account allows one: on average as many
 * are active as were asked for, and never more than that rounded up. */
static void check_load(uint32_t load_milli)
{
    struct spool_header h = {.load_milli = load_milli};
    uint64_t ends[16] = {0}, started = 0, steps = 40000;
    for (uint64_t step = 1; step <= steps; step++) {
        uint64_t now = step * 5 * MS;
        for (unsigned i = 0; i < 16; i++)
            if (ends[i] && ends[i] <= now) {
                struct spool_seat seat = {.state = SEAT_TAKEN};
                assert_true(shadow_leave_as(&h, &seat, ends[i]));
                ends[i] = 0;
            }
        if (shadow_load_allows_as(&h, now)) {
            unsigned i = 0;
            while (ends[i])
                i++;
            ends[i] = now + 37 * MS;
            h.shadows_active++;
            started++;
        }
        assert_true(h.shadows_active <= (load_milli + 999) / 1000);
    }
    /* Above the load by no more than those that are active. */
    assert_true(h.load_area <= (int64_t)(37 * MS * ((load_milli + 999) / 1000)));
    double average = (double)started * 37 / (double)(steps * 5), load = load_milli / 1000.0;
    assert_true(average > load * 0.85 && average < load * 1.01);
}

static void test_load(void **state)
{
    (void)state;
    static const uint32_t loads[] = {62, 125, 250, 500, 1000, 1500, 2000, 8000};
    for (unsigned i = 0; i < sizeof loads / sizeof *loads; i++)
        check_load(loads[i]);
}

/* What a program does not use while it waits is not saved up for more than a second. */
static void test_credit(void **state)
{
    (void)state;
    struct spool_header h = {.load_milli = 500};
    assert_false(shadow_load_allows_as(&h, 1 * MS));
    assert_true(shadow_load_allows_as(&h, 3600 * 1000 * MS));
    h.shadows_active = 1;
    uint64_t now = 3600 * 1000 * MS, end = now + 1100 * MS;
    while (now < end)
        assert_false(shadow_load_allows_as(&h, now += 5 * MS)); /* one is active: no second */
    h.shadows_active = 0;
    assert_false(shadow_load_allows_as(&h, now)); /* 1.1 s at 1, of which 0.5 were due: used up */
}

static void test_seats(void **state)
{
    (void)state;
    struct spool_header h = {.shadows_active = 1};
    struct spool_seat seat = {.state = SEAT_TAKEN};
    assert_true(shadow_leave_as(&h, &seat, 1));
    assert_int_equal(h.shadows_active, 0);
    assert_int_equal(seat.state, SEAT_LEFT);
    assert_false(shadow_leave_as(&h, &seat, 1)); /* whoever is second has nothing to do */
    assert_int_equal(h.shadows_active, 0);
}

/* One that has done its work makes room for another before it ends. */
static void test_ripe(void **state)
{
    (void)state;
    struct spool_header h = {.load_milli = 1000, .shadows_active = 1};
    struct spool_seat seat = {.state = SEAT_TAKEN}, next = {.state = SEAT_TAKEN};
    uint64_t now = 5 * MS;
    for (; now < 100 * MS; now += 5 * MS)
        assert_false(shadow_load_allows_as(&h, now));
    shadow_ripen_as(&h, &seat, now);
    assert_int_equal(h.shadows_active, 1);
    assert_true(shadow_load_allows_as(&h, now + 5 * MS));
    h.shadows_active++;
    assert_false(shadow_load_allows_as(&h, now + 10 * MS));
    assert_true(shadow_leave_as(&h, &seat, now + 15 * MS));
    assert_int_equal(h.shadows_ripe, 0);
    assert_int_equal(seat.ripe, 0);
    assert_false(shadow_load_allows_as(&h, now + 20 * MS));
    assert_true(shadow_leave_as(&h, &next, now + 25 * MS));
    assert_int_equal(h.shadows_active, 0);
    assert_int_equal(h.shadows_ripe, 0);
    assert_true(shadow_load_allows_as(&h, now + 30 * MS));
}

static void test_buckets(void **state)
{
    (void)state;
    uint32_t last = 0;
    for (uint64_t ns = 1; ns < UINT64_C(1) << 36; ns += ns / 16 + 1) {
        uint32_t bucket = latency_bucket(ns);
        assert_true(bucket >= last && bucket < SHADOW_PAUSES);
        last = bucket;
        if (ns < 16)
            continue;
        double is = (double)latency_bucket_ns(bucket) / (double)ns;
        assert_true(is > 0.8 && is < 1.25);
    }
    assert_int_equal(latency_bucket(UINT64_MAX), SHADOW_PAUSES - 1);
}

static void test_quantiles(void **state)
{
    (void)state;
    struct latency l = {0};
    assert_true(profile_latency_count(&l) == 0 && profile_latency_ns(&l, 0.5) < 1);
    for (uint64_t ns = 1; ns <= 10000; ns++)
        latency_add_as(&l, ns);
    assert_int_equal(profile_latency_count(&l), 10000);
    assert_int_equal(l.sum_ns, 50005000);
    const double shares[] = {0.01, 0.1, 0.5, 0.9, 0.99};
    for (unsigned i = 0; i < sizeof shares / sizeof *shares; i++) {
        double is = profile_latency_ns(&l, shares[i]) / (10000 * shares[i]);
        assert_true(is > 0.9 && is < 1.1);
    }
    struct latency one = {0};
    latency_add_as(&one, 1000); /* a single bucket: all quantiles are in it */
    double low = profile_latency_ns(&one, 0), high = profile_latency_ns(&one, 1);
    assert_true(low >= 896 && low <= 1000 && high >= 1000 && high <= 1024);
}

/* Where the carrier auto observes a process. */
static void test_place(void **state)
{
    (void)state;
    struct place_facts f = {.budget_ppm = 10000, .pages = 25000, .processors = 2};
    assert_int_equal(shadow_place_choose(&f, PLACE_UNDECIDED), PLACE_SHADOWS);
    f.pages = 8 << 18; /* 8 GB: 126 ms */
    assert_int_equal(shadow_place_choose(&f, PLACE_SHADOWS), PLACE_MEMORY);
    f.pages = 1 << 19; /* 31 ms, 105 at the most: no, once it was too much; but else yes */
    assert_int_equal(shadow_place_choose(&f, PLACE_MEMORY), PLACE_MEMORY);
    assert_int_equal(shadow_place_choose(&f, PLACE_SHADOWS), PLACE_SHADOWS);
    f.fork_pages = 1 << 18; /* measured: twice as much would be 90 ms, a tenth more 99 */
    f.fork_ns = 45 * MS;
    assert_in_range(shadow_fork_ns(&f), 89 * MS, 90 * MS);
    assert_int_equal(shadow_place_choose(&f, PLACE_SHADOWS), PLACE_SHADOWS);
    f.fork_ns = 51 * MS;
    assert_int_equal(shadow_place_choose(&f, PLACE_SHADOWS), PLACE_COST);
    f.pages /= 4;
    assert_int_equal(shadow_place_choose(&f, PLACE_COST), PLACE_SHADOWS);
    f.cow_ns = 800; /* 131,072 pages: if it wrote to all of them, 131 ms */
    assert_int_equal(shadow_place_choose(&f, PLACE_SHADOWS), PLACE_COST);
    f.cow_ns = 0;
    f.refused = 3;
    assert_int_equal(shadow_place_choose(&f, PLACE_SHADOWS), PLACE_REFUSED);
    f.refused = 0;
    f.ended = 20;
    f.faulted = 10;
    assert_int_equal(shadow_place_choose(&f, PLACE_SHADOWS), PLACE_SHADOWS);
    f.faulted = 11;
    assert_int_equal(shadow_place_choose(&f, PLACE_SHADOWS), PLACE_UNFIT);
    f.processors = 1;
    assert_int_equal(shadow_place_choose(&f, PLACE_SHADOWS), PLACE_PROCESSORS);
    assert_false(shadow_place_is_burst(PLACE_SHADOWS));
    assert_true(shadow_place_is_burst(PLACE_MEMORY));
}

/* ---- the budget of ten seconds, with costs that are made up ---- */

enum { TICK_MS = 5, RUN_S = 120 };

/* A program of `pages`: after a fork it writes to this share of them in `spread_ms`; each that is
 * written costs COW_NS. Triggers cost all that they may. */
struct program {
    uint64_t pages, pause_ns;
    double share[2];     /* in turns ... */
    uint64_t phase_s;    /* ... of so many seconds */
    uint64_t spread_ms;
};

enum { COW_NS = 700 };

struct outcome {
    uint64_t forks, most_ns, all_ns; /* most_ns: in any ten seconds */
};

/* What the monitor does at each trigger, with or without the bound of each window. */
static bool allows(struct shadow_budget *b, struct budget_facts *f, uint64_t pages, bool window)
{
    struct place_facts place = {.pages = pages, .cow_ns = COW_NS};
    f->worst_ns = window ? shadow_worst_ns(&place) : 0;
    if (!window)
        memset(b->costs, 0, sizeof b->costs);
    return shadow_budget_allows(b, f);
}

static struct outcome simulate(const struct program *p, uint64_t ppm, bool window)
{
    enum { TICKS = RUN_S * 1000 / TICK_MS, IN_WINDOW = PLACE_WINDOW_S * 1000 / TICK_MS };
    static uint64_t costs[TICKS];
    struct outcome o = {0};
    struct shadow_budget b = {0};
    uint64_t forked = 0, last = 0, to_copy = 0, sum = 0;
    double rate = 0;
    for (uint64_t i = 0; i < TICKS; i++) {
        uint64_t now = (i + 1) * TICK_MS * MS, now_s = now / (1000 * MS);
        uint64_t copied = (uint64_t)rate < to_copy ? (uint64_t)rate : to_copy;
        uint64_t cost = copied * COW_NS + TICK_MS * ppm / SHADOW_TRIGGERS;
        to_copy -= copied;
        shadow_budget_charge(&b, now, cost);
        last += cost;
        struct budget_facts f = {.ppm = ppm, .cpu_ns = now, .fork_cpu_ns = forked, .last_ns = last,
                                 .saved = BUDGET_SHARES / 2};
        if (!o.forks)
            f.last_ns = 2 * shadow_fork_ns(&(struct place_facts){.pages = p->pages});
        if (allows(&b, &f, p->pages, window)) {
            o.forks++;
            forked = now;
            last = p->pause_ns;
            cost += p->pause_ns;
            shadow_budget_charge(&b, now, p->pause_ns);
            to_copy = (uint64_t)((double)p->pages * p->share[now_s / p->phase_s % 2]);
            rate = (double)to_copy / ((double)p->spread_ms / TICK_MS) + 1;
        }
        costs[i] = cost;
        o.all_ns += cost;
        sum += cost - (i >= IN_WINDOW ? costs[i - IN_WINDOW] : 0);
        if (sum > o.most_ns)
            o.most_ns = sum;
    }
    /* what is shown is not less than what is */
    assert_true(o.all_ns == b.all_ns && (!window || o.most_ns <= b.worst_ns));
    return o;
}

/* Programs that write to ever more, or to nothing and then to all: in no ten seconds more than a
 * quarter above the budget. Without the bound of each window several of them break it. */
static void test_budget(void **state)
{
    (void)state;
    static const struct program programs[] = {
        {12500, 600000, {0.3, 0.3}, 10, 500},       /* 50 MB, always the same */
        {50000, 3000000, {0.01, 1}, 7, 200},        /* 200 MB, now hardly any of it, now all */
        {100000, 5000000, {0, 1}, 23, 3000},        /* 400 MB, slowly */
        {100000, 19000000, {1, 1}, 10, 50},         /* with the most that a fork may take */
        {150000, 9000000, {0.001, 0.9}, 31, 20},
        {2500, 200000, {1, 0.1}, 3, 10},
    };
    unsigned broken = 0;
    for (unsigned i = 0; i < sizeof programs / sizeof *programs; i++)
        for (uint64_t ppm = 5000; ppm <= 40000; ppm *= 2) {
            uint64_t limit = shadow_budget_limit_ns(ppm);
            struct outcome o = simulate(&programs[i], ppm, true);
            assert_true(o.most_ns <= limit + limit / 4);
            broken += simulate(&programs[i], ppm, false).most_ns > limit + limit / 4;
            if (i == 0) /* what is allowed is used, and no more */
                assert_in_range(o.all_ns, limit * (RUN_S / PLACE_WINDOW_S) * 45 / 100,
                                limit * (RUN_S / PLACE_WINDOW_S) * 55 / 100);
        }
    assert_true(broken >= 4);
}

static void test_budget_window(void **state)
{
    (void)state;
    struct shadow_budget b = {0};
    struct budget_facts f = {
        .ppm = 10000, .cpu_ns = 20000 * MS, .saved = BUDGET_SHARES / 2, .worst_ns = 112500000};
    assert_true(shadow_budget_allows(&b, &f));
    f.worst_ns++;
    /* a quarter above 1% of ten seconds, less an eighth for triggers */
    assert_false(shadow_budget_allows(&b, &f));
    f.worst_ns = 30 * MS;
    shadow_budget_charge(&b, 20000 * MS, 96 * MS);
    f.cpu_ns = 29999 * MS;
    assert_false(shadow_budget_allows(&b, &f));
    f.cpu_ns = 30251 * MS; /* ten seconds and a part later */
    assert_true(shadow_budget_allows(&b, &f));
    f.ppm = 0;
    f.fork_cpu_ns = 30000 * MS;
    /* without a budget: as much time again as the fork has cost, which is in the time since */
    f.last_ns = 125 * MS;
    assert_true(shadow_budget_allows(&b, &f));
    f.last_ns = 126 * MS;
    assert_false(shadow_budget_allows(&b, &f));
    assert_int_equal(b.worst_ns, 96 * MS);
    assert_int_equal(shadow_budget_spent(&b, 1000000 * MS), 0);
}

/* Of half of the budget some of what a fork will cost is saved before, here half; the rest is paid
 * for afterwards. Saved is a window's budget at most. */
static void test_budget_saved(void **state)
{
    (void)state;
    struct shadow_budget b = {0};
    struct budget_facts f = {
        .ppm = 10000, .cpu_ns = 2999 * MS, .last_ns = 30 * MS, .saved = BUDGET_SHARES / 2};
    assert_false(shadow_budget_allows(&b, &f));
    f.cpu_ns = 3000 * MS;
    assert_true(shadow_budget_allows(&b, &f));
    shadow_budget_charge(&b, f.cpu_ns, 30 * MS);
    f.cpu_ns = 8999 * MS;
    assert_false(shadow_budget_allows(&b, &f));
    f.cpu_ns = 9000 * MS;
    assert_true(shadow_budget_allows(&b, &f));
    f.cpu_ns = 10000 * 1000 * MS; /* hours later */
    assert_true(shadow_budget_allows(&b, &f));
    shadow_budget_charge(&b, f.cpu_ns, 100 * MS);
    assert_int_equal(b.earned_ns, b.all_ns);
    f.cpu_ns += 2999 * MS;
    assert_false(shadow_budget_allows(&b, &f));
    f.last_ns = 300 * MS; /* half of it is more than is ever saved */
    f.cpu_ns += 17000 * MS;
    assert_false(shadow_budget_allows(&b, &f));
    f.cpu_ns += 2 * MS;
    assert_true(shadow_budget_allows(&b, &f));
    b = (struct shadow_budget){0}; /* a process that was attached to has saved as much */
    f.last_ns = 90 * MS;
    assert_true(shadow_budget_allows(&b, &f));
}

/* On credit nothing is saved before, if a fork costs little; what it has cost is paid for before
 * the next one, and the window holds. */
static void test_budget_credit(void **state)
{
    (void)state;
    struct shadow_budget b = {0};
    struct budget_facts f = {
        .ppm = 10000, .cpu_ns = MS, .last_ns = 3 * MS, .saved = BUDGET_SHARES / 2};
    assert_false(shadow_budget_allows(&b, &f));
    f.credit = true;
    assert_true(shadow_budget_allows(&b, &f));
    f.last_ns = 4 * MS; /* more than 1/32 of 100 ms */
    assert_false(shadow_budget_allows(&b, &f));
    f.last_ns = 3 * MS;
    f.worst_ns = 200 * MS;
    assert_false(shadow_budget_allows(&b, &f));
    f.worst_ns = 0;
    shadow_budget_charge(&b, f.cpu_ns, 3 * MS);
    f.credit = false;
    f.saved = 0;
    f.cpu_ns = 599 * MS;
    assert_false(shadow_budget_allows(&b, &f));
    f.cpu_ns = 601 * MS;
    assert_true(shadow_budget_allows(&b, &f));
}

/* A fork costs the same whenever the program ends, on average: half of the budget. A quarter too
 * much was what runs of five seconds had where forks were paid for afterwards. */
static void test_budget_ends(void **state)
{
    (void)state;
    enum { COST_MS = 15, LONGEST_MS = 20000, SHORTEST_MS = 2000, RUNS = 50 };
    double shares = 0;
    uint64_t random = 1;
    for (unsigned run = 0; run < RUNS; run++) {
        struct shadow_budget b = {0};
        struct budget_facts f = {.ppm = 10000, .last_ns = COST_MS * MS};
        for (unsigned ms = 1; ms <= LONGEST_MS; ms++) {
            f.cpu_ns = ms * MS;
            f.saved = f.saved ? f.saved : burst_draw(&random, BUDGET_SHARES);
            if (shadow_budget_allows(&b, &f)) {
                shadow_budget_charge(&b, f.cpu_ns, COST_MS * MS);
                f.saved = 0;
            }
            if (ms > SHORTEST_MS)
                shares += (double)b.all_ns / (double)f.cpu_ns * 100;
        }
    }
    double average = shares / RUNS / (LONGEST_MS - SHORTEST_MS);
    assert_true(average > 0.485 && average < 0.515);
}

/* A program that writes to all of its memory, as far as is known, is not forked again while the
 * last fork is in the window, unless that was hardly more than triggers are. */
static void test_budget_likely(void **state)
{
    (void)state;
    struct shadow_budget b = {0};
    struct budget_facts f = {.ppm = 10000, .cpu_ns = 20000 * MS, .saved = 1, .last_ns = 30 * MS,
                             .worst_ns = 61 * MS, .likely_ns = 83 * MS};
    shadow_budget_charge(&b, 15000 * MS, 30 * MS);
    assert_false(shadow_budget_allows(&b, &f));
    f.likely_ns = 82 * MS;
    assert_true(shadow_budget_allows(&b, &f));
    b = (struct shadow_budget){0};
    shadow_budget_charge(&b, 15000 * MS, 12 * MS);
    f.likely_ns = 117 * MS;
    assert_true(shadow_budget_allows(&b, &f));
    f.worst_ns = 113 * MS;
    assert_false(shadow_budget_allows(&b, &f));
}

/* A program that was small at the last fork, and wrote to all of that: of what it has now all is
 * likely to be copied, half is expected to be. One that wrote to little of it: no more of what it
 * has now. */
static void test_copies_expected(void **state)
{
    (void)state;
    static const struct {
        struct copies_facts facts;
        uint64_t likely, expected;
    } cases[] = {
        {{.pages = 10000, .fork_pages = 1000, .copied = 1000}, 10000, 1000 + 4500},
        {{.pages = 10000, .fork_pages = 1000, .copied = 100}, 1000, 1000},
        {{.pages = 10000, .fork_pages = 10000, .copied = 7000}, 7000, 7000},
        {{.pages = 1000, .fork_pages = 10000, .copied = 7000}, 700, 700},
        {{.pages = 1000, .fork_pages = 0, .copied = 0}, 1000, 500},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(shadow_copies_likely(&cases[i].facts), cases[i].likely);
        assert_int_equal(shadow_copies_expected(&cases[i].facts), cases[i].expected);
    }
}

/* A fork may cost as much as the last one, whatever is the least that it can. */
static void test_budget_again(void **state)
{
    (void)state;
    struct shadow_budget b = {0};
    struct budget_facts f = {.ppm = 100000, .cpu_ns = 50000 * MS, .last_ns = 500 * MS,
                             .saved = BUDGET_SHARES / 2, .worst_ns = 1 * MS};
    shadow_budget_charge(&b, 41000 * MS, 700 * MS);
    assert_false(shadow_budget_allows(&b, &f)); /* 700 and 500 of 1,125 */
    f.last_ns = 425 * MS;
    assert_true(shadow_budget_allows(&b, &f));
    /* that alone is too much for a window: one in each, where it is paid for */
    f.last_ns = 2000 * MS;
    assert_false(shadow_budget_allows(&b, &f));
    f.cpu_ns = 51300 * MS;
    assert_true(shadow_budget_allows(&b, &f));
}

/* Every number another one. */
static struct profile_shadows *filled(uint64_t from)
{
    struct profile_shadows *s = calloc(1, sizeof *s);
    uint64_t *at = (uint64_t *)s;
    for (size_t i = 0; i < sizeof *s / sizeof *at; i++)
        at[i] = from + i * i;
    return s;
}

static struct profile *read_again(const struct profile *p)
{
    struct err e = {0};
    size_t size;
    uint8_t *data = profile_encode(p, &size, &e);
    assert_string_equal(e.message, "");
    struct profile *q = profile_read_memory(data, size, "x", &e);
    assert_string_equal(e.message, "");
    free(data);
    return q;
}

static void test_file(void **state)
{
    (void)state;
    struct profile *p = sample_profile(1, 10, 1);
    free(profile_observation_take(p, OBSERVED_SHADOWS)); /* the sample's */
    profile_observe(p, OBSERVED_SHADOWS, filled(3));
    observed_shadows(p)->fork_errno = 0; /* not in files */
    struct profile *q = read_again(p);
    assert_non_null(observed_shadows(q));
    assert_memory_equal(observed_shadows(p), observed_shadows(q), sizeof *observed_shadows(p));
    struct err e = {0};
    assert_true(profile_merge(p, q, &e));
    for (unsigned i = 0; i < END_COUNT; i++)
        assert_int_equal(observed_shadows(p)->ended[i], 2 * observed_shadows(q)->ended[i]);
    assert_int_equal(observed_shadows(p)->load_milli, observed_shadows(q)->load_milli);
    assert_int_equal(observed_shadows(p)->calls_ended[SHADOW_CALLS - 1],
                     2 * observed_shadows(q)->calls_ended[SHADOW_CALLS - 1]);
    profile_free(p);
    profile_free(q);
}

static void test_spool(void **state)
{
    (void)state;
    struct spool s = sample_spool_new(8 << 20);
    settings_sampling_as(&s)->carrier = CARRIER_SHADOW;
    spool_header(&s)->load_milli = 250;
    spool_header(&s)->tsc_hz = 1000000000;
    for (int i = 0; i < 2; i++) {
        struct spool_process *process = sample_process(&s, 100 + i);
        struct spool_shadows *r = spool_alloc_as(&s, sizeof *r);
        r->started = 5;
        r->ended[END_COMPLETE] = 4;
        r->ended[END_KILLED] = 1;
        r->calls[1] = 7;
        r->pauses[latency_bucket(100000)] = 5;
        r->pause_ticks = 1000000; /* of 2 GHz */
        r->copies = 1000;
        r->replayed = 11;
        r->fell_asleep = 3;
        r->asleep_in[7] = 2;
        r->cost_ns = 9;
        r->huge_pages = 6;
        r->huge_ns = 7;
        r->worst_ns = (uint64_t)(i + 4);
        r->input_lost = 2;
        r->run_ns = 30 * MS;
        r->instructions = 30 * MS;
        process->shadows = spool_ref_of(&s, r);
    }
    struct err e = {0};
    uint64_t damage;
    struct profile *p = profile_from_spool(&s, &damage, &e);
    assert_non_null(p);
    assert_int_equal(damage, 0);
    assert_int_equal(observed_shadows(p)->load_milli, 250);
    assert_int_equal(observed_shadows(p)->started, 10);
    assert_int_equal(observed_shadows(p)->ended[END_KILLED], 2);
    assert_int_equal(observed_shadows(p)->calls[1], 14);
    assert_int_equal(observed_shadows(p)->replayed, 22);
    assert_int_equal(observed_shadows(p)->fell_asleep, 6);
    assert_int_equal(observed_shadows(p)->asleep_in[7], 4);
    assert_int_equal(observed_shadows(p)->cost_ns, 18);
    assert_int_equal(observed_shadows(p)->huge_pages, 12);
    assert_int_equal(observed_shadows(p)->huge_ns, 14);
    assert_int_equal(observed_shadows(p)->worst_ns, 5);
    assert_int_equal(observed_shadows(p)->input_lost, 4);
    assert_true(profile_shadows_pause_ns(observed_shadows(p)) > 80000 &&
                profile_shadows_pause_ns(observed_shadows(p)) < 125000);
    observed_shadows(p)->pause_ns = 90000; /* none has taken longer than all */
    assert_int_equal(profile_shadows_pause_ns(observed_shadows(p)), 90000);
    assert_int_equal(observed_shadows(p)->copies, 2000);
    struct shadow_coverage c = profile_shadows_coverage(observed_shadows(p), 600 * MS);
    assert_true(c.low < c.estimate && c.estimate < c.high && c.high > 0.0999 && c.high < 0.1001);
    /* A tool that takes a hundred times as long has observed as little as its instructions are. */
    observed_shadows(p)->instructions /= 100;
    c = profile_shadows_coverage(observed_shadows(p), 600 * MS);
    assert_true(c.low > 0 && c.low < c.estimate && c.estimate < 0.001 && c.high < 0.01);
    profile_free(p);
    sample_spool_free(&s);
}

/* Where observing is very slow more is passed over. */
static void test_pass_length(void **state)
{
    (void)state;
    enum { STRETCH = 2000000 };
    struct spool_shadows *r = calloc(1, sizeof *r);
    assert_int_equal(shadow_pass_length(r, STRETCH), SHADOW_PASSED); /* nothing is known */
    r->instructions = 10000000;
    r->run_ns = 10 * MS;
    assert_int_equal(shadow_pass_length(r, STRETCH), SHADOW_PASSED);
    r->passed = 90000000;
    r->passed_ns = 30 * MS; /* 3 instructions a nanosecond: 18 million in 6 ms, a stretch in 2 ms */
    assert_int_equal(shadow_pass_length(r, STRETCH), SHADOW_PASSED);
    r->run_ns = 200 * MS; /* 40 ms a stretch */
    assert_int_equal(shadow_pass_length(r, STRETCH), SHADOW_PASSED_MORE);
    assert_int_equal(shadow_pass_length(r, STRETCH / 2), SHADOW_PASSED_MORE);
    /* more than half as long again as passing over */
    assert_int_equal(shadow_pass_length(r, STRETCH / 4), SHADOW_PASSED_MORE);
    assert_int_equal(shadow_pass_length(r, STRETCH / 8), SHADOW_PASSED);
    assert_int_equal(shadow_pass_length(r, 5000), SHADOW_PASSED);
    free(r);
}

/* Where shadows have passed code over the program's rate is known: the share is between what that
 * says for an engine that costs nothing and for one that takes five times as long. */
static void test_coverage_measured(void **state)
{
    (void)state;
    struct profile_shadows s = {.instructions = 900 * MS, .run_ns = 900 * MS};
    struct shadow_coverage guessed = profile_shadows_coverage(&s, 1000 * MS);
    assert_false(guessed.measured);
    s.passed = 1000 * MS;
    s.passed_ns = 200 * MS; /* five a nanosecond: 11.5 natively */
    struct shadow_coverage c = profile_shadows_coverage(&s, 1000 * MS);
    assert_true(c.measured);
    assert_true(c.estimate > 0.0782 && c.estimate < 0.0783);
    assert_true(c.low > 0.0359 && c.low < 0.0361 && c.high > 0.1799 && c.high < 0.1801);
    assert_true(c.high / c.low < 5.01 && guessed.high / guessed.low > 10);
    s.passed = 1000; /* too few to tell */
    assert_false(profile_shadows_coverage(&s, 1000 * MS).measured);
}

/* Every call of the table has a name and a reason; what is not in it ends a shadow. */
static void test_calls(void **state)
{
    (void)state;
    unsigned named = 0;
    for (unsigned i = 0; i < SHADOW_CALLS; i++) {
        named += profile_call_name(i) != NULL;
        assert_true(*profile_call_reason(i));
        if (!profile_call_name(i))
            assert_int_equal(profile_call_group(i), CALL_UNSAFE);
    }
    assert_true(named > 350);
    assert_string_equal(profile_call_name(1), "write");
    assert_int_equal(profile_call_group(1), CALL_OUTPUT);
    assert_null(profile_call_name(SHADOW_CALLS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_place), cmocka_unit_test(test_budget),
            cmocka_unit_test(test_budget_window),
        cmocka_unit_test(test_budget_saved), cmocka_unit_test(test_budget_credit),
        cmocka_unit_test(test_budget_ends),
            cmocka_unit_test(test_budget_likely),
        cmocka_unit_test(test_copies_expected), cmocka_unit_test(test_budget_again),
        cmocka_unit_test(test_load),  cmocka_unit_test(test_credit), cmocka_unit_test(test_seats),
            cmocka_unit_test(test_ripe),
        cmocka_unit_test(test_buckets), cmocka_unit_test(test_quantiles),
            cmocka_unit_test(test_file),
        cmocka_unit_test(test_spool),
        cmocka_unit_test(test_pass_length), cmocka_unit_test(test_coverage_measured),
        cmocka_unit_test(test_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

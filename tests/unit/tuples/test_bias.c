/* What a burst skips takes the interrupt's bias away: in a loop whose one slow instruction every
 * interrupt arrives behind, each instruction is observed as often as any other. */
#include "runtime/carrier/burst/burst_draw.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { BURSTS = 400000, LENGTH = 4, LOOP_MOST = 40 };

/* How often each of `loop` instructions is observed, all interrupts arriving before the first
 * one. */
static void observe(uint64_t seed, uint32_t skip, unsigned loop, double share[LOOP_MOST])
{
    unsigned seen[LOOP_MOST] = {0};
    for (unsigned i = 0; i < BURSTS; i++) {
        unsigned at = burst_skip(&seed, skip);
        for (unsigned k = 0; k < LENGTH; k++)
            seen[(at + k) % loop]++;
    }
    for (unsigned i = 0; i < loop; i++)
        share[i] = (double)seen[i] / ((double)BURSTS * LENGTH);
}

static double worst(const double *share, unsigned loop)
{
    double most = 0;
    for (unsigned i = 0; i < loop; i++) {
        double off = share[i] * loop - 1;
        off = off < 0 ? -off : off;
        most = off > most ? off : most;
    }
    return most;
}

/* Of 400,000 bursts, which see an instruction of a loop of ten in 40%, its share is known to 0.2%
 * (one sigma); what a near skip leaves of the bias is less than that in loops of up to 10
 * instructions, and about 4% in those of 17. The seed is fixed. */
static void shares_are_equal(void **state)
{
    double share[LOOP_MOST];
    (void)state;
    for (unsigned loop = 2; loop <= 17; loop++) {
        observe(12345, BURST_NEAR, loop, share);
        assert_true(worst(share, loop) < (loop <= 10 ? 0.02 : 0.05));
    }
}

/* Without it the test would see the bias. */
static void without_it_they_are_not(void **state)
{
    double share[LOOP_MOST];
    (void)state;
    observe(12345, 0, 10, share);
    assert_true(worst(share, 10) > 1);
    observe(12345, 8, 20, share);
    assert_true(worst(share, 20) > 0.5);
}

static void never_more_than_asked_for(void **state)
{
    uint64_t random = 99;
    (void)state;
    for (uint32_t most = 0; most < 70; most++) {
        uint32_t least = UINT32_MAX, seen = 0;
        for (unsigned i = 0; i < 30000; i++) {
            uint32_t skip = burst_skip(&random, most);
            assert_true(skip <= most);
            least = skip < least ? skip : least;
            seen = skip > seen ? skip : seen;
        }
        assert_int_equal(least, 0);
        assert_int_equal(seen, most);
    }
}

/* Code that is new, and bursts in vain: what far skips cost a burst stays below what it earns. */
static void far_skips_are_paid_for(void **state)
{
    enum { MANY = 100000, FAR = 2000 };
    int64_t credit = 0, made = 0, vain = 0, far = 0;
    (void)state;
    for (unsigned i = 0; i < MANY; i++) {
        uint32_t reach = burst_reach(credit, FAR);
        bool is_far = reach == FAR;
        assert_true(is_far || reach == BURST_NEAR);
        far += is_far;
        made += is_far ? 9 : 0;
        vain += is_far && i % 2;
        credit = burst_credit(credit, reach, is_far ? 9 : 3, i % 2);
    }
    assert_true(far > MANY / 30);
    assert_true(made + BURST_VAIN * vain <= MANY + 9 + BURST_VAIN + BURST_CREDIT_MOST);
}

/* Where all code is there every burst is far; one that makes a little may be followed by
 * another. */
static void known_code_is_free(void **state)
{
    int64_t credit = 0;
    (void)state;
    for (unsigned i = 0; i < 1000; i++) {
        assert_int_equal(burst_reach(credit, 2000), 2000);
        credit = burst_credit(credit, 2000, i > 100 && i % 8 == 0 ? 8 : 0, false);
    }
    credit = burst_credit(0, 2000, 100, false);
    for (unsigned i = 0; i < 99; i++) {
        assert_int_equal(burst_reach(credit, 2000), BURST_NEAR);
        assert_int_equal(burst_reach(credit, 10), 10);
        credit = burst_credit(credit, BURST_NEAR, 5, true);
    }
    assert_int_equal(burst_reach(credit, 2000), 2000);
}

/* Bursts that take long become seldom, and often again when they take a moment: what they cost,
 * with what comes behind them, is their share, neither more nor much less. */
static void bursts_keep_to_their_share(void **state)
{
    enum { PERIOD = 1000000, PPM = 8000 };
    static const uint64_t costs[] = {1000, 9000, 11000, 17000, 50000, 200000, 3000000};
    const uint64_t least = 2 * BURST_PARTS;
    uint64_t interval = least;
    (void)state;
    for (unsigned i = 0; i < sizeof costs / sizeof *costs; i++) {
        uint64_t ours = BURST_WINDOW * costs[i], cpu = 0;
        for (unsigned k = 0; k < 20; k++) {
            cpu = BURST_WINDOW * PERIOD * interval / BURST_PARTS;
            interval = burst_interval(interval, least, ours, cpu, PPM);
        }
        uint64_t cost = ours * BURST_COST / 100, allowed = cpu / 1000000 * PPM;
        assert_true(cost <= allowed + allowed / 50);
        assert_true(interval == least || cost + cost / 50 >= allowed);
        assert_int_equal(interval == least,
                         costs[i] * BURST_COST / 100 <= 2 * PERIOD / 1000000 * PPM);
    }
    for (unsigned k = 0; k < 20; k++)
        interval = burst_interval(interval, least, BURST_WINDOW * 1000,
                                  BURST_WINDOW * PERIOD * interval / BURST_PARTS, PPM);
    assert_int_equal(interval, least);
}

/* Whatever the clocks say: no more than four times at once, and no longer than so many times what
 * was asked for. */
static void intervals_stay_within_reason(void **state)
{
    static const uint64_t least[] = {BURST_PARTS, UINT32_MAX * (uint64_t)BURST_PARTS};
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(burst_interval(least[i], least[i], UINT64_MAX / 1000, 0, 8000),
                         least[i] * 4);
        assert_int_equal(burst_interval(least[i] * 9, least[i], 0, 1000000000, 8000),
                         least[i] * 9 / 2);
        uint64_t interval = least[i];
        for (unsigned k = 0; k < 20; k++)
            interval = burst_interval(interval, least[i], 1000000, 0, 8000);
        assert_int_equal(interval, least[i] * BURST_INTERVAL_MOST);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_equal),
        cmocka_unit_test(without_it_they_are_not),
        cmocka_unit_test(never_more_than_asked_for),
        cmocka_unit_test(far_skips_are_paid_for),
        cmocka_unit_test(known_code_is_free),
        cmocka_unit_test(bursts_keep_to_their_share),
        cmocka_unit_test(intervals_stay_within_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

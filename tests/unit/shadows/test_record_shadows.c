/* The collector's half of shadows, with seats as a program leaves them that is killed at any moment
 * of a fork. */
#include "collector/record_shadows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

#include "../profile/sample.h"
#include "sigsafe/settings.h"
#include "sigsafe/spool_shadow.h"

static struct spool_shadows *killed_program(struct spool *s)
{
    *s = sample_spool_new(1 << 20);
    settings_sampling_as(s)->carrier = CARRIER_SHADOW;
    spool_header(s)->load_milli = 2000;
    struct spool_process *p = sample_process(s, 0); /* no process has this number */
    struct spool_shadows *of = spool_alloc_as(s, sizeof *of);
    p->shadows = spool_ref_of(s, of);
    return of;
}

static void taken(const struct spool *s, struct spool_shadows *of, unsigned seat, uint64_t number)
{
    of->seats[seat].number = number;
    of->seats[seat].state = SEAT_TAKEN;
    spool_header(s)->shadows_active++;
}

static void of_every_moment(bool counted)
{
    struct spool s;
    struct spool_shadows *of = killed_program(&s);
    of->started = 4;
    of->ended[END_COMPLETE] = 3;
    taken(&s, of, 0, 4);
    taken(&s, of, 1, 5);
    of->started += counted;
    record_shadows_end(&s);
    assert_int_equal(of->started, 5);
    assert_int_equal(of->ended[END_PROGRAM], 2);
    assert_int_equal(spool_header(&s)->shadows_active, 0);
    record_shadows_end(&s);
    assert_int_equal(of->ended[END_PROGRAM], 2);
    sample_spool_free(&s);
}

static void killed_before_it_was_counted(void **state)
{
    (void)state;
    of_every_moment(false);
}

static void killed_after_it_was_counted(void **state)
{
    (void)state;
    of_every_moment(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_before_it_was_counted),
        cmocka_unit_test(killed_after_it_was_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Which kernels may have events inside them. */
#include "collector/perf_event.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

static void hazard_is(const char *release, const char *what)
{
    const char *hazard = perf_hazard_of(release);
    if (!what)
        assert_null(hazard);
    else
        assert_true(hazard && strstr(hazard, what));
}

static void test_interrupting(void **state)
{
    (void)state;
    hazard_is("5.10.0-34-amd64", "interrupt");
    hazard_is("6.1.0-28-amd64", "interrupt");
    hazard_is("6.10.14", "interrupt");
    hazard_is("2.6.58", "interrupt");
    hazard_is("", "interrupt");
    hazard_is("strange", "interrupt");
}

static void test_hanging(void **state)
{
    (void)state;
    hazard_is("6.11.11", "hang");
    hazard_is("6.12.23", "hang");
    hazard_is("6.12.0-55.el10.x86_64", "hang");
    hazard_is("6.13.11-arch1", "hang");
    hazard_is("6.14.0-27-generic", "hang");
    hazard_is("6.14", "hang");
}

static void test_sound(void **state)
{
    (void)state;
    hazard_is("6.12.24", NULL);
    hazard_is("6.12.38+deb13-amd64", NULL);
    hazard_is("6.13.12", NULL);
    hazard_is("6.14.8\n", NULL);
    hazard_is("6.15.0-rc1", NULL);
    hazard_is("6.18.44", NULL);
    hazard_is("7.0", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interrupting),
        cmocka_unit_test(test_hanging),
        cmocka_unit_test(test_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

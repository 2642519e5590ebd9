/* Which kernels may have events inside them. */
#include "collector/perf_event.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#include "../folder.h"

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

/* line NULL: there is no such file. */
static void signed_is(const char *release, const char *line, const char *what)
{
    char path[96];
    snprintf(path, sizeof path, "%s/version_signature", folder);
    FILE *out = line ? fopen(path, "we") : NULL;
    if (line) {
        assert_non_null(out);
        fputs(line, out);
        assert_int_equal(fclose(out), 0);
    }
    const char *hazard = perf_hazard_by(release, path);
    if (!what)
        assert_null(hazard);
    else
        assert_true(hazard && strstr(hazard, what));
    folder_clear();
}

static void test_signed(void **state)
{
    (void)state;
    const char *release = "6.14.0-27-generic";
    signed_is(release, "Ubuntu 6.14.0-27.27-generic 6.14.8\n", NULL);
    signed_is(release, "Ubuntu 6.14.0-27.27-generic 6.14.8", NULL);
    signed_is(release, "Ubuntu 6.14.0-15.15-generic 6.14.2\n", "hang");
    signed_is("6.11.0-29-generic", "Ubuntu 6.11.0-29.29~24.04.1-generic 6.11.11\n", "hang");
    signed_is(release, "", "hang");
    signed_is(release, "6.14.8\n", "hang");
    signed_is(release, "Ubuntu \n", "interrupt");
    signed_is(release, NULL, "hang");
    /* Where the release tells, nobody asks the file. */
    signed_is("6.8.0-64-generic", "Ubuntu 6.8.0-64.67-generic 6.14.8\n", "interrupt");
    signed_is("6.18.44", "Ubuntu 6.14.0-15.15-generic 6.14.2\n", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interrupting),
        cmocka_unit_test(test_hanging),
        cmocka_unit_test(test_sound),
        cmocka_unit_test(test_signed),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}

/* LD_PRELOAD with our library in it: where it stands, and that what was there comes back. */
#include "sigsafe/preload.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define OURS "/usr/lib/penumbra/libpenumbra-rt.so"

static void test_places(void **state)
{
    static const struct {
        const char *theirs, *first, *with;
    } cases[] = {
        {"", "", OURS},
        {"a.so", "", OURS ":a.so"},
        {"a.so b.so:c.so", "", OURS ":a.so b.so:c.so"},
        {"", "libasan.so.8", "libasan.so.8 " OURS},
        {"a.so", "libasan.so.8", "a.so:libasan.so.8 " OURS},
        {"a.so b.so", "libtsan.so.2", "a.so b.so:libtsan.so.2 " OURS},
        {"libasan.so.8", "", "libasan.so.8:" OURS},
        {"/x/libclang_rt.asan-x86_64.so a.so", "", "/x/libclang_rt.asan-x86_64.so a.so:" OURS},
        {"a.so /x/liblsan.so.0", "", "a.so /x/liblsan.so.0:" OURS},
        {"libasan.so.8", "libasan.so.8", "libasan.so.8:libasan.so.8 " OURS},
        {"/libasan.so/a.so", "", OURS ":/libasan.so/a.so"},
    };
    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t size = strlen(cases[i].theirs) + preload_room_as(OURS, cases[i].first);
        char *value = malloc(size); /* a sanitizer's build sees what is written behind it */
        assert_non_null(value);
        strcpy(value, cases[i].theirs);
        preload_add_as(value, OURS, cases[i].first);
        assert_string_equal(value, cases[i].with);
        assert_true(preload_remove_as(value, OURS));
        assert_string_equal(value, cases[i].theirs);
        assert_false(preload_remove_as(value, OURS));
        free(value);
    }
}

/* What somebody has made of the list on the way. */
static void test_changed(void **state)
{
    static const char *const cases[][2] = {
        {"a.so:" OURS ":b.so", "a.so:b.so"},
        {"a.so " OURS, "a.so"},
        {"a.so:libasan.so.8 " OURS " b.so", "a.so b.so"},
        {"libasan.so.8 " OURS ":b.so", "b.so"},
        {OURS " b.so", "b.so"},
    };
    char value[256];
    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        strcpy(value, cases[i][0]);
        assert_true(preload_remove_as(value, OURS));
        assert_string_equal(value, cases[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_places),
                                       cmocka_unit_test(test_changed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

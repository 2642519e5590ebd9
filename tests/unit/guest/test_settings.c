/* Blocks of settings: a reader finds its own, by type, version and size, and nothing else. */
#include "sigsafe/settings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

enum { SIZE = 1 << 20 };

static struct spool spool_make(void)
{
    struct spool s = {.mapped = SIZE};
    s.base = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(s.base != MAP_FAILED);
    struct spool_header *h = spool_header(&s);
    h->size = h->limit = SIZE;
    h->next = SPOOL_HEADER_SIZE;
    return s;
}

static struct spool_settings *first(const struct spool *s)
{
    return spool_at(s, spool_header(s)->settings, sizeof(struct spool_settings));
}

static void test_round_trip(void **state)
{
    (void)state;
    struct spool s = spool_make();
    struct settings in = {.sampling = {.period = 7, .runtime_path = "/lib/rt.so"},
                          .burst = {.length = 8}, .shadow = {.seed = 9}, .values = {.capture = 10}};
    struct settings out;
    assert_false(settings_get(&s, &out)); /* none is there */
    assert_int_equal(out.sampling.period, 0);
    assert_true(settings_put(&s, &in));
    assert_true(settings_get(&s, &out));
    assert_memory_equal(&in.sampling, &out.sampling, sizeof in.sampling);
    assert_int_equal(out.burst.length, 8);
    assert_int_equal(out.shadow.seed, 9);
    assert_int_equal(out.values.capture, 10);
    assert_ptr_equal(settings_sampling(&s), settings_sampling_as(&s));
    munmap(s.base, s.mapped);
}

/* Blocks of a type that nobody here knows are passed over. */
static void test_unknown(void **state)
{
    (void)state;
    struct spool s = spool_make();
    assert_non_null(settings_add(&s, 999, 1, 48));
    struct burst_settings *burst = settings_add(&s, SETTINGS_BURST, 1, sizeof *burst);
    burst->length = 5;
    assert_non_null(settings_add(&s, 1000, 77, 0));
    assert_ptr_equal(settings_burst_as(&s), burst);
    assert_null(settings_shadow_as(&s));
    munmap(s.base, s.mapped);
}

/* Of another version, or too short for its reader, a block is not there; a longer one is. */
static void test_versions(void **state)
{
    (void)state;
    struct spool s = spool_make();
    assert_non_null(settings_add(&s, SETTINGS_BURST, 2, sizeof(struct burst_settings)));
    assert_null(settings_burst_as(&s));
    assert_non_null(settings_add(&s, SETTINGS_BURST, 1, sizeof(struct burst_settings) - 8));
    assert_null(settings_burst_as(&s));
    void *longer = settings_add(&s, SETTINGS_BURST, 1, sizeof(struct burst_settings) + 64);
    assert_ptr_equal(settings_burst_as(&s), longer);
    munmap(s.base, s.mapped);
}

/* What the program has written over them. */
static void test_hostile(void **state)
{
    (void)state;
    struct spool s = spool_make();
    assert_non_null(settings_add(&s, SETTINGS_BURST, 1, sizeof(struct burst_settings)));
    first(&s)->size = UINT32_MAX; /* beyond the spool */
    assert_null(settings_burst_as(&s));
    first(&s)->type = 999;
    first(&s)->next = spool_header(&s)->settings; /* a circle */
    assert_null(settings_burst_as(&s));
    first(&s)->next = UINT32_MAX;
    assert_null(settings_burst_as(&s));
    spool_header(&s)->settings = 1; /* in the header */
    assert_null(settings_burst_as(&s));
    assert_int_equal(settings_sampling(&s)->period, 0);
    munmap(s.base, s.mapped);
}

static void test_full(void **state)
{
    (void)state;
    struct spool s = spool_make();
    spool_header(&s)->limit = SPOOL_HEADER_SIZE + 64;
    assert_false(settings_put(&s, &(struct settings){0}));
    munmap(s.base, s.mapped);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_versions), cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

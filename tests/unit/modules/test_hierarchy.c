/* Boundaries between levels from samples made up, and the file that remembers them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "modules/hierarchy.h"
#include "modules/hierarchy_file.h"

enum { COUNT = 1000, COST = 52 };

static uint32_t ticks[HIERARCHY_LEVELS + 1][COUNT];
static struct hierarchy_samples of[HIERARCHY_LEVELS], nothing;

static struct hierarchy_samples around(uint32_t *out, uint32_t middle, uint32_t spread)
{
    for (uint32_t i = 0; i < COUNT; i++)
        out[i] = COST + middle - spread + (i * 7919u) % (2 * spread + 1);
    return (struct hierarchy_samples){ out, COUNT };
}

static void usual(void)
{
    static const uint32_t middles[] = { 5, 16, 50, 300, 4000 }, spreads[] = { 2, 4, 10, 80, 900 };
    for (uint32_t i = 0; i < HIERARCHY_LEVELS; i++)
        of[i] = around(ticks[i], middles[i], spreads[i]);
    nothing = around(ticks[HIERARCHY_LEVELS], 0, 1);
}

static const char *name_at(const struct hierarchy *h, uint64_t at)
{
    return hierarchy_names[hierarchy_place(h, at)];
}

static void levels_are_told_apart(void **state)
{
    (void)state;
    struct hierarchy h;
    usual();
    hierarchy_judge(&h, nothing, of);
    assert_int_equal(h.cost, COST);
    assert_int_equal(h.step, 1);
    for (unsigned i = 0; i < HIERARCHY_LEVELS; i++) {
        assert_true(h.levels[i].present && h.levels[i].apart);
        assert_int_equal(h.levels[i].wrong, 0);
    }
    assert_int_equal(h.levels[HIERARCHY_L3].median, 50);
    assert_string_equal(name_at(&h, 0), "L1");
    assert_string_equal(name_at(&h, 7), "L1");
    assert_string_equal(name_at(&h, 12), "L2");
    assert_string_equal(name_at(&h, 39), "L2");
    assert_string_equal(name_at(&h, 40), "L3");
    assert_string_equal(name_at(&h, 219), "L3");
    assert_string_equal(name_at(&h, 220), "memory");
    assert_string_equal(name_at(&h, 3100), "fault");
    assert_string_equal(name_at(&h, UINT64_MAX), "fault");
}

/* Few samples that are far away do not move a boundary. */
static void outliers(void **state)
{
    (void)state;
    struct hierarchy h;
    usual();
    for (uint32_t l = 0; l < HIERARCHY_LEVELS; l++)
        for (uint32_t i = 0; i < COUNT; i += 50)
            of[l].ticks[i] = i % 100 ? 100000 + i : COST;
    hierarchy_judge(&h, nothing, of);
    assert_in_range(h.levels[HIERARCHY_L2].from, 8, 12);
    assert_in_range(h.levels[HIERARCHY_MEMORY].from, 61, 220);
    assert_in_range(h.levels[HIERARCHY_MEMORY].wrong, 10000, 40000);
    assert_true(h.levels[HIERARCHY_MEMORY].apart);
}

/* A counter that runs in steps of 26: the first two levels look alike. */
static void a_coarse_clock(void **state)
{
    (void)state;
    struct hierarchy h;
    usual();
    for (uint32_t l = 0; l < HIERARCHY_LEVELS; l++)
        for (uint32_t i = 0; i < COUNT; i++)
            of[l].ticks[i] = (of[l].ticks[i] + i * 31 % 26) / 26 * 26;
    for (uint32_t i = 0; i < COUNT; i++)
        nothing.ticks[i] = i % 4 ? 52 : 78;
    hierarchy_judge(&h, nothing, of);
    assert_int_equal(h.step, 26);
    assert_int_equal(h.cost, 52);
    assert_false(h.levels[HIERARCHY_L2].apart);
    assert_true(h.levels[HIERARCHY_MEMORY].apart);
    assert_string_equal(name_at(&h, 0), "L1/L2");
    assert_string_equal(name_at(&h, 26), "L1/L2");
    assert_string_equal(name_at(&h, 52), "L3");
    assert_string_equal(name_at(&h, 312), "memory");
}

static void a_level_that_is_not_there(void **state)
{
    (void)state;
    struct hierarchy h;
    usual();
    of[HIERARCHY_L3].count = 0;
    hierarchy_judge(&h, nothing, of);
    assert_false(h.levels[HIERARCHY_L3].present);
    assert_string_equal(name_at(&h, 50), "L2");
    assert_string_equal(name_at(&h, 300), "memory");

    usual(); /* indistinguishable from its neighbour, and between two that are not told apart */
    of[HIERARCHY_L3] = around(ticks[HIERARCHY_L3], 300, 80);
    hierarchy_judge(&h, nothing, of);
    assert_string_equal(name_at(&h, 300), "L3/memory");
    of[HIERARCHY_L2].count = 0;
    of[HIERARCHY_L1] = around(ticks[HIERARCHY_L1], 300, 80);
    hierarchy_judge(&h, nothing, of);
    assert_string_equal(name_at(&h, 300), "L1/L2/L3/memory");
}

static void runs_have_names(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < HIERARCHY_NAMES; i++) {
        char name[64] = "";
        uint32_t first, last;
        hierarchy_run(i, &first, &last);
        for (uint32_t l = first; l <= last; l++)
            snprintf(name + strlen(name), sizeof name - strlen(name), "%s%s", l > first ? "/" : "",
                     hierarchy_level_names[l]);
        assert_string_equal(name, hierarchy_names[i]);
    }
    assert_null(hierarchy_names[HIERARCHY_NAMES]);
}

/* What is measured, whatever it is, is well formed, remembered and found again. */
static void this_machine(void **state)
{
    (void)state;
    struct hierarchy h, again;
    struct err err = { .code = ERR_NONE };
    char folder[] = "/tmp/penumbra-hierarchy-XXXXXX", command[100];
    assert_non_null(mkdtemp(folder));
    setenv("XDG_CACHE_HOME", folder, 1);
    assert_false(hierarchy_load(&again));
    assert_true(hierarchy_measure(&h, &err));
    assert_true(h.hz > 1000000);
    assert_true(h.levels[HIERARCHY_L1].present && h.levels[HIERARCHY_MEMORY].present);
    for (uint64_t at = 0; at < 10000; at++)
        assert_true(hierarchy_place(&h, at) <= hierarchy_place(&h, at + 1));
    assert_true(hierarchy_save(&h, &err));
    assert_true(hierarchy_load(&again));
    assert_string_equal(h.machine, again.machine);
    for (uint64_t at = 0; at < 10000; at++)
        assert_int_equal(hierarchy_place(&h, at), hierarchy_place(&again, at));
    assert_int_equal(h.cost, again.cost);
    assert_int_equal(h.hz, again.hz);
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    assert_int_equal(system(command), 0);
}

static void damage(void **state)
{
    (void)state;
    static const char good[] =
        "penumbra-hierarchy 1\nmachine A B, c\nclock 2600000000 26 52\n"
        "level L1 0 0 0 1 1\nlevel L2 26 13 370000 1 0\nlevel L3 52 39 1 1 1\n"
        "level memory 364 280 1 1 1\nlevel fault 2000 1400 1 1 1\n";
    struct hierarchy h;
    char text[sizeof good];
    assert_true(hierarchy_parse(good, &h));
    assert_string_equal(h.machine, "A B, c");
    assert_int_equal(h.levels[HIERARCHY_FAULT].from, 1400);
    for (size_t cut = 0; cut < sizeof good - 20; cut++) {
        memcpy(text, good, cut);
        text[cut] = 0;
        assert_false(hierarchy_parse(text, &h));
    }
    memcpy(text, good, sizeof good);
    memcpy(strstr(text, "1400"), "0200", 4); /* below the level before it */
    assert_false(hierarchy_parse(text, &h));
    memcpy(text, good, sizeof good);
    text[strlen("penumbra-hierarchy ")] = '2';
    assert_false(hierarchy_parse(text, &h));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_are_told_apart), cmocka_unit_test(outliers),
        cmocka_unit_test(a_coarse_clock),        cmocka_unit_test(a_level_that_is_not_there),
        cmocka_unit_test(runs_have_names),       cmocka_unit_test(this_machine),
        cmocka_unit_test(damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

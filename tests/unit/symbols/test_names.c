/* Demangling, address ranges, and symbols of JIT code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "symbols/demangle.h"
#include "symbols/ranges.h"
#include "symbols/symbols.h"

static void demangles(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "main", "main" },
        { "_Z3fooi", "foo(int)" },
        { "_ZN3std6vectorIiE4pushERKi", "std::vector<int>::push(int const&)" },
        { "_Z3fooi.isra.0", "foo(int) [clone .isra.0]" },
        { "_Z3fooi.cold", "foo(int)" },
        { "work.cold.12", "work" },
        { "work.part.0", "work.part.0" },
        { "_RNvC6_123foo3bar", "123foo::bar" },
        { "_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar" },
        { "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad" },
        { "_Znot_a_name", "_Znot_a_name" },
        { "_Z", "_Z" },
        { ".cold", ".cold" },
        { "", "" },
    };
    struct pool pool = { 0 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(demangle(&pool, cases[i][0]), cases[i][1]);
    assert_true(pool_ok(&pool));
    pool_free(&pool);
}

/* Nesting that would overflow a recursive demangler's stack, and names without end. */
static void hostile_names_do_no_harm(void **state)
{
    (void)state;
    struct pool pool = { 0 };
    static char name[1 << 20];
    const char *const repeated[] = { "P", "F", "I", "N", "St", "_Z", "S_" };
    for (size_t r = 0; r < sizeof repeated / sizeof *repeated; r++) {
        for (size_t length = 1000; length < sizeof name; length *= 8) {
            strcpy(name, "_Z1f");
            size_t unit = strlen(repeated[r]);
            for (size_t at = 4; at + unit < length; at += unit)
                memcpy(name + at, repeated[r], unit + 1);
            assert_true(demangle(&pool, name)[0] != 0);
        }
    }
    pool_free(&pool);
}

static void equal_strings_are_one(void **state)
{
    (void)state;
    struct pool pool = { 0 };
    const char *first = pool_intern(&pool, "name 1");
    char name[32];
    for (int i = 0; i < 5000; i++) {
        snprintf(name, sizeof name, "name %d", i);
        assert_string_equal(pool_intern(&pool, name), name);
    }
    assert_ptr_equal(pool_intern(&pool, "name 1"), first);
    pool_free(&pool);
}

static void innermost_range_wins(void **state)
{
    (void)state;
    struct ranges r = { 0 };
    assert_int_equal(ranges_find(&r, 5), RANGES_NONE);
    assert_true(ranges_add(&r, 100, 200, 1));
    assert_true(ranges_add(&r, 120, 140, 2));
    assert_true(ranges_add(&r, 120, 130, 3));
    assert_true(ranges_add(&r, 300, 310, 4));
    assert_true(ranges_add(&r, 400, 400, 5));
    ranges_sort(&r);
    const struct {
        uint64_t address;
        uint32_t id;
    } cases[] = { { 99, RANGES_NONE }, { 100, 1 }, { 119, 1 }, { 120, 3 },
                  { 129, 3 }, { 130, 2 }, { 140, 1 }, { 199, 1 },
                  { 200, RANGES_NONE }, { 309, 4 }, { 310, RANGES_NONE }, { 400, RANGES_NONE } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(ranges_find(&r, cases[i].address), cases[i].id);
    ranges_free(&r);
}

/* Against a linear search. */
static void ranges_agree_with_search(void **state)
{
    (void)state;
    struct ranges r = { 0 };
    uint64_t random = 1;
    for (uint32_t i = 0; i < 500; i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        uint64_t lo = (random >> 33) % 10000;
        assert_true(ranges_add(&r, lo, lo + (random >> 20) % 300, i));
    }
    ranges_sort(&r);
    for (uint64_t a = 0; a < 11000; a++) {
        const struct range *best = NULL;
        for (size_t i = 0; i < r.count; i++)
            if (r.items[i].lo <= a && a < r.items[i].hi
                && (!best || r.items[i].lo > best->lo
                    || (r.items[i].lo == best->lo && r.items[i].hi <= best->hi)))
                best = &r.items[i];
        assert_int_equal(ranges_find(&r, a), best ? best->id : RANGES_NONE);
    }
    ranges_free(&r);
}

/* Two processes with different JIT code at the same address. */
static void jit_code_is_of_its_process(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    p->processes = calloc(2, sizeof *p->processes);
    p->process_count = 2;
    p->threads = calloc(2, sizeof *p->threads);
    p->thread_count = 2;
    const char *names[] = { "LazyCompile:~run script.js:1", "_Z3jitv" };
    for (uint32_t i = 0; i < 2; i++) {
        struct profile_process *process = &p->processes[i];
        process->name = strdup("");
        process->command = strdup("");
        process->jit = calloc(1, sizeof *process->jit);
        process->jit[0] = (struct profile_jit_symbol){ 0x5000, 0x100, strdup(names[i]) };
        process->jit_count = 1;
        struct profile_thread *t = &p->threads[i];
        t->process = i;
        t->name = strdup("");
        t->nodes = calloc(3, sizeof *t->nodes);
        t->nodes[0] = (struct profile_node){ .parent = UINT32_MAX, .image = PROFILE_IMAGE_PSEUDO };
        t->nodes[1] = (struct profile_node){ .image = PROFILE_IMAGE_NONE, .offset = 0x50ff };
        t->nodes[2] = (struct profile_node){ .image = PROFILE_IMAGE_NONE, .offset = 0x5100 };
        t->node_count = 3;
    }
    struct err e = { 0 };
    struct symbols *s = symbols_load(p, false, &e);
    assert_non_null(s);
    const char *expected[] = { names[0], "jit()" };
    for (uint32_t i = 0; i < 2; i++) {
        const struct profile_process *process = &p->processes[i];
        struct symbol_location in = symbols_find(s, process, PROFILE_IMAGE_NONE, 0x50ff);
        assert_string_equal(in.frames[0].function, expected[i]);
        assert_int_equal(in.frames[0].start, 0x5000);
        struct symbol_location out = symbols_find(s, process, PROFILE_IMAGE_NONE, 0x5100);
        assert_string_equal(out.frames[0].function, "[unknown]");
    }
    symbols_free(s);
    profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(demangles),
        cmocka_unit_test(hostile_names_do_no_harm),
        cmocka_unit_test(equal_strings_are_one),
        cmocka_unit_test(innermost_range_wins),
        cmocka_unit_test(ranges_agree_with_search),
        cmocka_unit_test(jit_code_is_of_its_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

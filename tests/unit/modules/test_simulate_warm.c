/* Words between windows: what a string instruction leaves in the caches, however often it says that
 * it is repeated. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "collector/machine_file.h"
#include "crack/crack.h"
#include "modules/simulate_warm.h"
#include "sigsafe/warm.h"

#define NEAR UINT64_C(0x10000000)
#define ELSEWHERE UINT64_C(0x20000000)
#define FROM UINT64_C(0x100000000)
#define TO UINT64_C(0x700000000000)
enum { CODE = 0x400000, BLOCK = 3 };

static const struct tuple_insn insns[] = {
    {.address = CODE, .bytes = {0xf3, 0xa4}, .length = 2, .memories = 2},        /* rep movsb */
    {.address = CODE + 2, .bytes = {0xf2, 0xae}, .length = 2, .memories = 1},    /* repne scasb */
    {.address = CODE + 4, .bytes = {0x48, 0x8b, 0x06}, .length = 3, .memories = 1}, /* mov */
};
enum { MOVES, COMPARES, LOADS };

static const struct tuple_insn *find(void *data, uint32_t id)
{
    (void)data;
    return id < sizeof insns / sizeof *insns ? &insns[id] : NULL;
}

struct warmed {
    struct machine machine;
    struct model_core *core;
    struct simulate_blocks *blocks;
    struct simulate_warm at;
};

static void warmed_init(struct warmed *w)
{
    struct err e = {0};
    memset(w, 0, sizeof *w);
    if (!machine_file_load(MACHINES "/zen4.conf", NULL, &w->machine, &e))
        fail_msg("%s", e.message);
    w->core = model_core_new(&w->machine);
    assert_non_null(w->core);
}

static void warmed_fini(struct warmed *w)
{
    simulate_blocks_free(w->blocks);
    model_core_free(w->core);
}

/* A block of that instruction, repeated so often. */
static void execute(struct warmed *w, uint32_t insn, uint64_t repeat, uint64_t first,
                    uint64_t second)
{
    uint64_t words[] = {
        warm_word(WARM_DEFINE, UINT64_C(1) << WARM_COUNT_SHIFT | (BLOCK + insn)), insn,
        warm_word(WARM_ENTER, BLOCK + insn), warm_word(WARM_REPEAT, repeat),
        warm_word(0, first), warm_word(1, second),
    };
    struct simulate_records records = {find, NULL};
    uint32_t count = sizeof words / sizeof *words;
    assert_int_equal(simulate_warm_words(&w->blocks, records, w->core, &w->at, words, count), 1);
}

static bool loads_from_l1(struct warmed *w, uint64_t address)
{
    struct uop_insn insn;
    struct model_cost cost = {0};
    assert_true(crack(insns[LOADS].bytes, 3, w->machine.vector_bytes, &insn));
    struct uop_executed x = {.pc = CODE + 4, .next = CODE + 7, .repeat = 1, .follower = &insn,
                             .known = {true}, .address = {address}};
    model_step(w->core, &insn, &x, &cost);
    assert_int_equal(cost.events[COST_EVENT_LOADS], 1);
    return !cost.events[COST_EVENT_L1D_MISSES];
}

/* The load before lets time pass: lines arrive. */
static bool is_cached(struct warmed *w, uint64_t address)
{
    loads_from_l1(w, ELSEWHERE);
    return loads_from_l1(w, address);
}

/* Up to the first difference, of any number of elements. */
static void comparisons_touch_one_element(void **state)
{
    struct warmed w;
    (void)state;
    warmed_init(&w);
    execute(&w, LOADS, 1, NEAR, 0);
    execute(&w, COMPARES, UINT64_MAX, FROM, 0);
    assert_true(is_cached(&w, NEAR));
    assert_true(is_cached(&w, FROM));
    warmed_fini(&w);
}

static void nothing_is_touched_no_times(void **state)
{
    struct warmed w;
    (void)state;
    warmed_init(&w);
    execute(&w, COMPARES, 0, FROM, 0);
    execute(&w, MOVES, 0, TO, TO);
    assert_false(is_cached(&w, FROM));
    assert_false(is_cached(&w, TO));
    warmed_fini(&w);
}

/* What is longer than all caches leaves its end there, and nothing of what was there before. */
static void moves_leave_their_end(void **state)
{
    enum { LINE = 64 };
    const uint64_t size = UINT64_C(1) << 32;
    struct warmed w;
    (void)state;
    warmed_init(&w);
    execute(&w, LOADS, 1, NEAR, 0);
    execute(&w, MOVES, size, FROM, TO);
    assert_true(is_cached(&w, TO + size - LINE));
    assert_false(is_cached(&w, TO));
    assert_false(is_cached(&w, NEAR));
    warmed_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comparisons_touch_one_element),
        cmocka_unit_test(nothing_is_touched_no_times),
        cmocka_unit_test(moves_leave_their_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

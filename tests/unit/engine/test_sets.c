/* Several tools in one engine: each sees what it sees alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "callbacks.h"
#include "engine/ring.h"
#include "functions.h"
#include "run.h"
#include "tools/list.h"

static struct tool_set set_of(const struct tool *first, const struct tool *second,
                              const struct tool *third)
{
    return (struct tool_set){
        .count = third ? 3 : 2,
        .of = { { first, 1 }, { second, 2 }, { third, 3 } },
    };
}

static void all_functions(struct rig *r)
{
    for (int round = 0; round < 2; round++)
        for (const struct function *f = functions; f->name; f++) {
            uint64_t n = f->most / 2;
            assert_int_equal(rig_call(r, (const void *)(uintptr_t)f->call, n, 0, 0, 0), f->call(n));
        }
}

static struct flushed flushed_by(struct tool_set set)
{
    struct rig r;
    memset(&flushed, 0, sizeof flushed);
    memset(&marked, 0, sizeof marked);
    rig_make(&r, &(struct engine_config){ .tools = set });
    all_functions(&r);
    rig_free(&r);
    return flushed;
}

/* Whatever their order, and whoever else observes. */
static void each_gets_its_records(void **state)
{
    (void)state;
    const struct flushed alone = flushed_by(tool_set_of(&tool_appending));
    assert_true(alone.records > 1000);
    const struct tool_set sets[] = {
        set_of(&tool_appending, &tool_marking, NULL),
        set_of(&tool_marking, &tool_appending, NULL),
        set_of(&tool_edges, &tool_marking, &tool_appending),
    };
    for (unsigned i = 0; i < sizeof sets / sizeof *sets; i++) {
        const struct flushed both = flushed_by(sets[i]);
        assert_int_equal(both.records, alone.records);
        assert_int_equal(both.instructions, alone.instructions);
        assert_int_equal(both.wrong + marked.wrong, 0);
        assert_int_equal(marked.records, alone.instructions);
        assert_int_equal(marked.ends, both.ends);
    }
}

/* Both say what was executed, and it is counted once. */
static void a_loose_budget_is_counted_once(void **state)
{
    enum { OVER = 512 };
    struct rig r;
    (void)state;
    rig_make(&r, &(struct engine_config){.tools = set_of(&tool_appending, &tool_marking, NULL),
                                         .budget = true,
                                         .loose = true});
    memset(&flushed, 0, sizeof flushed);
    memset(&marked, 0, sizeof marked);
    int64_t sum = 0;
    const struct function *f = functions;
    rig_prepare(&r, (const void *)(uintptr_t)f->call, f->most, 0, 0, 0);
    for (int64_t budget = 1; r.thread->stop != STOP_ADDRESS; budget += budget / 4 + 1) {
        r.thread->budget = budget;
        engine_run_as(r.thread);
        assert_int_equal(flushed.instructions, sum + budget - r.thread->budget);
        assert_int_equal(marked.records, flushed.instructions);
        sum = (int64_t)flushed.instructions;
        if (r.thread->stop == STOP_BUDGET)
            assert_in_range(-r.thread->budget, 0, OVER);
    }
    assert_int_equal(flushed.wrong + marked.wrong, 0);
    rig_free(&r);
}

static uint64_t counted(struct tool_set set)
{
    struct rig r;
    uint64_t total = 0;
    rig_make(&r, &(struct engine_config){ .tools = set });
    all_functions(&r);
    for (uint32_t i = 0; i < 8192; i++)
        total += *hook_counter(r.thread, i);
    rig_free(&r);
    return total;
}

/* Counters of one word, and of two where one tool has leads. */
static void counts_add_up(void **state)
{
    (void)state;
    uint64_t blocks = counted(tool_set_of(&tool_blocks)), edges = counted(tool_set_of(&tool_edges));
    assert_true(blocks > 1000 && edges > 1000);
    assert_int_equal(counted(set_of(&tool_blocks, &tool_edges, NULL)), blocks + edges);
    assert_int_equal(counted(set_of(&tool_edges, &tool_blocks, &tool_blocks)), 2 * blocks + edges);
    assert_int_equal(counted(set_of(&tool_edges, &tool_blocks, &tool_gates)), blocks + edges);
}

static struct gated gated_by(struct tool_set set, uint64_t *total)
{
    struct rig r;
    gated = (struct gated){ 0 };
    rig_make(&r, &(struct engine_config){ .tools = set, .shared = true, .budget = true });
    r.thread->budget = INT64_C(1) << 40;
    all_functions(&r);
    *total = 0;
    for (uint32_t i = 0; i < 8192; i++)
        *total += *hook_counter(r.thread, i);
    rig_free(&r);
    return gated;
}

/* A gate skips its own tool's hooks, and nobody else's: there is none where others hook single
 * instructions. */
static void gates_skip_their_own_hooks_only(void **state)
{
    uint64_t blocks, total;
    struct gated alone, set;
    (void)state;
    alone = gated_by(tool_set_of(&tool_gates), &total);
    assert_int_equal(alone.wrong, 0);
    gated_by(tool_set_of(&tool_blocks), &blocks);
    set = gated_by(set_of(&tool_blocks, &tool_gates, NULL), &total);
    assert_int_equal(set.wrong, 0);
    assert_int_equal(set.blocks, alone.blocks);
    assert_int_equal(set.observed, alone.observed);
    asked = (struct asked){ 0 };
    set = gated_by(set_of(&tool_all_points, &tool_gates, NULL), &total);
    assert_int_equal(set.blocks, 0);
    assert_true(asked.calls > 1000);
}

/* What a tool watches is in the thread: there is room for one that does. */
static void one_watcher_is_enough(void **state)
{
    struct rig r;
    enum stop_reason why = STOP_COUNT;
    (void)state;
    watched = (struct watched){ 0 };
    rig_make(&r, &(struct engine_config){
                     .tools = set_of(&tool_blocks, &tool_watching, &tool_appending)});
    all_functions(&r);
    assert_int_equal(watched.wrong, 0);
    assert_true(watched.called > 0);
    rig_free(&r);
    struct engine_config two = {.tools = set_of(&tool_waste, &tool_watching, NULL),
                                .carrier = &rig_carrier};
    assert_null(engine_make_as(&two, &why));
    assert_int_equal(why, STOP_UNSUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_gets_its_records),
        cmocka_unit_test(a_loose_budget_is_counted_once),
        cmocka_unit_test(counts_add_up),
        cmocka_unit_test(gates_skip_their_own_hooks_only),
        cmocka_unit_test(one_watcher_is_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

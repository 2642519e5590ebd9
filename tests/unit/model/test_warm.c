/* Functional warming: after it a core is in the state in which the same instructions, executed,
 * would have left it. What it executes next misses as often, level by level, and is mispredicted as
 * often. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "kernels.h"
#include "model/memory.h"
#include "model/warm.h"

enum { NO = UOP_REGISTERS, INSNS = 3000, STEPS = 400000, LATER = 10000, WAITS = 4 };
#define LOADED UINT64_C(0x10000000)
#define STORED UINT64_C(0x20000000)

static uint64_t mixed(uint64_t x)
{
    x = (x ^ x >> 31) * UINT64_C(0x9e3779b97f4a7c15);
    return x ^ x >> 29;
}

/* Half of the code is loads, stores and branches. */
static void make_code(struct kernel *k, const char *const *sets)
{
    kernel_init(k, sets);
    for (unsigned i = 0; i < INSNS; i++) {
        struct uop_insn *insn = kernel_add(k);
        switch (mixed(i) % 8) {
        case 0: case 1: kernel_uop(insn, UOP_LOAD, NO, NO); break;
        case 2:
            kernel_uop(insn, UOP_STORE_ADDRESS, NO, NO);
            kernel_uop(insn, UOP_STORE_DATA, NO, NO);
            break;
        case 3:
            insn->transfer = TRANSFER_BRANCH;
            kernel_uop(insn, UOP_BRANCH, NO, NO);
            break;
        default: kernel_uop(insn, UOP_ALU, 1, NO); break;
        }
    }
    kernel_close(k, 1);
}

/* The n-th instruction executed is `at`: where it goes. Some branches are taken always, some
 * seldom. */
static unsigned next_of(const struct kernel *k, unsigned at, uint64_t n)
{
    if (at + 1 == k->count)
        return 0;
    bool taken = k->body[at].transfer == TRANSFER_BRANCH &&
                 (mixed(at) & 16 ? mixed(n) % 16 == 0 : mixed(at) & 32);
    return taken && at + 20 < k->count ? at + 20 : at + 1;
}

/* Most are near each other; lines that are stored to are not loaded. */
static uint64_t address_of(const struct kernel *k, unsigned at, uint64_t n)
{
    bool store = k->body[at].uops[0].class == UOP_STORE_ADDRESS;
    uint64_t range = mixed(n + 1) % 4 ? 1 << 14 : 1 << 20;
    return (store ? STORED : LOADED) + mixed(n) % range / 8 * 8;
}

static void execute(struct kernel *k, struct model_core *core, unsigned at, unsigned next,
                    uint64_t n)
{
    struct uop_executed x = {.pc = CODE + LENGTH * at, .next = CODE + LENGTH * next, .repeat = 1,
                             .follower = &k->body[next], .known = {true},
                             .address = {address_of(k, at, n)}};
    model_step(core, &k->body[at], &x, &k->cost);
}

static void warm(const struct kernel *k, struct model_core *core, unsigned at, unsigned next,
                 uint64_t n)
{
    const struct uop_insn *insn = &k->body[at];
    uint64_t pc = CODE + LENGTH * at;
    model_warm_code(core, pc, pc + LENGTH);
    if (insn->uops[0].class == UOP_LOAD || insn->uops[0].class == UOP_STORE_ADDRESS)
        model_warm_data(core, pc, address_of(k, at, n), 8, insn->uops[0].class != UOP_LOAD);
    if (insn->transfer != TRANSFER_NONE)
        model_warm_branch(core, (enum uop_transfer)insn->transfer, pc, pc + LENGTH,
                          CODE + LENGTH * next);
}

/* Whatever is on its way arrives: a hit does not depend on when it is. */
static void wait_for_all(struct kernel *k, struct model_core *core, unsigned at)
{
    struct uop_insn serial = {.length = LENGTH, .flags = INSN_SERIAL, .count = 1,
                              .uops = {{.class = UOP_COMPLEX}}};
    struct uop_executed x = {.pc = CODE + LENGTH * at, .next = CODE + LENGTH * at};
    for (unsigned i = 0; i < WAITS; i++)
        model_step(core, &serial, &x, &k->cost);
}

/* Events of LATER steps after STEPS that were executed, warmed, or neither. */
enum way { EXECUTED, WARMED, COLD };
static void events_of(struct kernel *k, enum way way, uint64_t events[COST_EVENT_COUNT])
{
    struct model_core *core = model_core_new(&k->machine);
    unsigned at = 0;
    assert_non_null(core);
    for (uint64_t n = 0; n < STEPS + LATER; n++) {
        if (n >= STEPS)
            wait_for_all(k, core, at);
        if (n == STEPS)
            memset(&k->cost, 0, sizeof k->cost);
        unsigned next = next_of(k, at, n);
        if (way == EXECUTED || n >= STEPS)
            execute(k, core, at, next, n);
        else if (way == WARMED)
            warm(k, core, at, next, n);
        at = next;
    }
    memcpy(events, k->cost.events, sizeof k->cost.events);
    model_core_free(core);
}

static void warmed_is_as_executed(void **state)
{
    (void)state;
    static struct kernel k;
    uint64_t executed[COST_EVENT_COUNT], warmed[COST_EVENT_COUNT], cold[COST_EVENT_COUNT];
    static const char *const sets[][4] = {
        {"l1d_prefetcher=none", "l2_prefetcher=none", "branch_predictor=tage"},
        {"l1d_prefetcher=none", "l2_prefetcher=none", "branch_predictor=tournament"},
        {"l1d_prefetcher=none", "l2_prefetcher=none", "l2_size=256K"}};
    for (unsigned i = 0; i < sizeof sets / sizeof *sets; i++) {
        make_code(&k, sets[i]);
        events_of(&k, EXECUTED, executed);
        events_of(&k, WARMED, warmed);
        events_of(&k, COLD, cold);
        for (unsigned e = 0; e < COST_EVENT_COUNT; e++)
            assert_int_equal(executed[e], warmed[e]);
        assert_true(cold[COST_EVENT_MEMORY_LOADS] > 2 * executed[COST_EVENT_MEMORY_LOADS]);
        assert_true(cold[COST_EVENT_MISPREDICTED] > executed[COST_EVENT_MISPREDICTED]);
        assert_true(executed[COST_EVENT_L1D_MISSES] > 100);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(warmed_is_as_executed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

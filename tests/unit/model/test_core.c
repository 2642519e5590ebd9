/* The model against loops whose cycles can be worked out by hand: within 2%. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "kernels.h"
#include "model/memory.h"

enum { NO = UOP_REGISTERS };

/* ---- dependency chains, independent streams ---- */

static unsigned more(unsigned a, unsigned b)
{
    return a > b ? a : b;
}

static void chains_take_each_class_s_latency(void **state)
{
    (void)state;
    static struct kernel k;
    for (unsigned class = 0; class < UOP_TIMED_COUNT; class++) {
        kernel_init(&k, NULL);
        kernel_uop(kernel_add(&k), class, 1, 1);
        kernel_close(&k, 200);
        double right = more(k.machine.latency[class], k.machine.busy[class]);
        assert_near(kernel_run(&k, 20) / 200, right);
        if (right > 2)
            assert_true(k.cost.parts[COST_DEPENDENCY] > cost_parts(&k.cost) / 2);
    }
}

static void independent_ones_take_their_ports(void **state)
{
    (void)state;
    static struct kernel k;
    for (unsigned class = 0; class < UOP_TIMED_COUNT; class++) {
        kernel_init(&k, NULL);
        kernel_uop(kernel_add(&k), class, NO, NO);
        kernel_close(&k, 600);
        unsigned ports = (unsigned)__builtin_popcount(k.machine.ports[class]);
        unsigned busy = k.machine.busy[class];
        assert_near(kernel_run(&k, 20) / 600, busy > 1 ? busy : 1.0 / ports);
        assert_true(k.cost.parts[COST_PORTS] || ports > 3);
    }
}

static void streams_take_the_narrowest_width(void **state)
{
    (void)state;
    static struct kernel k;
    static const char *const sets[][4] = {
        {"dispatch_width=1"}, {"dispatch_width=2"}, {"dispatch_width=4"}, {"dispatch_width=6"},
        {"retire_width=3"}, {"uop_cache_width=2"}, {"uop_cache_size=0", "fetch_width=3"},
        {"uop_cache_size=0", "fetch_width=8", "fetch_bytes=8"}};
    static const double rights[] = {1, 2, 4, 6, 3, 2, 3, 2};
    for (unsigned i = 0; i < sizeof sets / sizeof *sets; i++) {
        kernel_init(&k, sets[i]);
        kernel_uop(kernel_add(&k), UOP_NONE, NO, NO);
        kernel_close(&k, 1199);
        assert_near(kernel_run(&k, 20), 1200 / rights[i]);
    }
}

static void renaming_does_moves_and_zeros(void **state)
{
    (void)state;
    static struct kernel k;
    static const char *const off[] = {"move_elimination=no", "zero_elimination=no", NULL};
    for (unsigned eliminated = 0; eliminated < 2; eliminated++) {
        kernel_init(&k, eliminated ? NULL : off);
        kernel_uop(kernel_add(&k), UOP_ALU, 1, 1)->flags = UOP_COPY;
        kernel_close(&k, 1200);
        assert_near(kernel_run(&k, 20), eliminated ? 200 : 1200);
        kernel_init(&k, eliminated ? NULL : off);
        kernel_uop(kernel_add(&k), UOP_ALU, 1, NO)->flags = UOP_ZERO;
        kernel_close(&k, 1200);
        assert_near(kernel_run(&k, 20), eliminated ? 200 : 300);
    }
}

/* ---- memory ---- */

static uint64_t footprint; /* lines; a power of two */

/* Each line once, in an order without a stride. */
static uint64_t scattered(unsigned i, uint64_t n)
{
    (void)i;
    return 0x10000000 + (n * 40503 & (footprint - 1)) * 64;
}

static void chase(const char *const *sets, uint64_t lines, double right, unsigned level)
{
    static struct kernel k;
    kernel_init(&k, sets);
    kernel_uop(kernel_add(&k), UOP_LOAD, 1, 1);
    kernel_close(&k, 1023);
    k.address = scattered;
    footprint = lines;
    double cycles = kernel_run(&k, (unsigned)(4 * lines / 1024 + 4)) / 1023;
    assert_near(cycles, right);
    assert_true(k.cost.parts[level] > cost_parts(&k.cost) / 2);
}

static void chased_loads_take_each_level_s_latency(void **state)
{
    (void)state;
    static const char *const sets[] = {"l1d_prefetcher=none", "l2_prefetcher=none",
                                       "dtlb_size=65536", "dtlb_ways=64", "l2_size=256K",
                                       "l3_size=2M", NULL};
    chase(sets, 256, 4, COST_L1);
    chase(sets, 2048, 14, COST_L2);
    chase(sets, 16384, 50, COST_L3);
    chase(sets, 131072, 380, COST_MEMORY);
}

static void translations_take_time_besides(void **state)
{
    (void)state;
    static const char *const near[] = {"l1d_prefetcher=none", "l2_prefetcher=none", "dtlb_size=8",
                                       "dtlb_ways=8", NULL};
    static const char *const far[] = {"l1d_prefetcher=none", "l2_prefetcher=none", "dtlb_size=8",
                                      "dtlb_ways=8", "stlb_size=16", "stlb_ways=16", NULL};
    chase(near, 8192, 14 + 7, COST_L2);
    chase(far, 8192, 14 + 7 + 25, COST_TLB);
}

static void misses_wait_for_a_free_register(void **state)
{
    (void)state;
    static struct kernel k;
    static const char *const sets[] = {"l1d_prefetcher=none", "l2_prefetcher=none",
                                       "dtlb_size=65536", "dtlb_ways=64", "l2_size=256K",
                                       "l3_size=1M", "memory_interval=1", "l1d_mshr_size=10",
                                       NULL};
    kernel_init(&k, sets);
    kernel_uop(kernel_add(&k), UOP_LOAD, NO, NO);
    kernel_close(&k, 1023);
    k.address = scattered;
    footprint = 65536;
    assert_near(kernel_run(&k, 300) / 1023, 380.0 / 10);
}

static void memory_gives_a_line_an_interval(void **state)
{
    (void)state;
    static struct kernel k;
    static const char *const sets[] = {"l1d_prefetcher=none", "l2_prefetcher=none",
                                       "dtlb_size=65536", "dtlb_ways=64", "l2_size=256K",
                                       "l3_size=1M", "memory_interval=30", NULL};
    for (unsigned stores = 0; stores < 2; stores++) {
        kernel_init(&k, sets);
        struct uop_insn *insn = kernel_add(&k);
        if (stores) {
            kernel_uop(insn, UOP_STORE_ADDRESS, NO, NO);
            kernel_uop(insn, UOP_STORE_DATA, NO, NO)->flags = UOP_FUSED;
        } else {
            kernel_uop(insn, UOP_LOAD, NO, NO);
        }
        kernel_close(&k, 1023);
        k.address = scattered;
        footprint = 65536;
        /* A line that is written to comes and goes. */
        assert_near(kernel_run(&k, 300) / 1023, stores ? 60 : 30);
        assert_true(!stores || k.cost.parts[COST_STORES] > cost_parts(&k.cost) / 2);
    }
}

static uint64_t in_steps(unsigned i, uint64_t n)
{
    (void)i;
    return 0x10000000 + (n & 0x3ffff) * 64;
}

static void strides_are_fetched_ahead(void **state)
{
    (void)state;
    static struct kernel k;
    static const char *const sets[2][4] = {{"l1d_prefetcher=none", "l2_prefetcher=none"},
                                           {"l1d_prefetcher=stride", "l1d_prefetch_degree=8"}};
    double cycles[2];
    for (unsigned ahead = 0; ahead < 2; ahead++) {
        kernel_init(&k, sets[ahead]);
        kernel_uop(kernel_add(&k), UOP_LOAD, 1, 1);
        kernel_close(&k, 1);
        k.address = in_steps;
        cycles[ahead] = kernel_run(&k, 20000);
    }
    assert_true(cycles[1] < cycles[0] / 4);
}

static uint64_t always_there(unsigned i, uint64_t n)
{
    (void)i;
    (void)n;
    return 0x10000040;
}

static uint64_t in_the_middle(unsigned i, uint64_t n)
{
    (void)n;
    return 0x10000040 + (i % 2 ? 4 : 0);
}

static void stores_are_forwarded_or_block(void **state)
{
    (void)state;
    static struct kernel k;
    for (unsigned whole = 0; whole < 2; whole++) {
        kernel_init(&k, NULL);
        struct uop_insn *store = kernel_add(&k);
        kernel_uop(store, UOP_STORE_ADDRESS, NO, NO);
        kernel_uop(store, UOP_STORE_DATA, NO, 1)->flags = UOP_FUSED;
        kernel_uop(kernel_add(&k), UOP_LOAD, 1, NO);
        kernel_close(&k, 200);
        k.address = whole ? always_there : in_the_middle;
        double cycles = kernel_run(&k, 20) / 200;
        /* Data, commit, drain; or data, and the load that waits for it. */
        if (whole)
            assert_near(cycles, 1 + k.machine.forward_latency);
        else
            assert_near(cycles, 1 + 1 + k.machine.l1d_latency + k.machine.forward_penalty);
        assert_true(k.cost.parts[COST_FORWARD] > cost_parts(&k.cost) / 2);
        assert_true(k.cost.events[whole ? COST_EVENT_FORWARDED : COST_EVENT_BLOCKED] > 1990);
    }
}

static void stores_drain_at_their_width(void **state)
{
    (void)state;
    static struct kernel k;
    static const char *const sets[2][2] = {{"store_drain_width=1"}, {"store_drain_width=2"}};
    for (unsigned width = 1; width <= 2; width++) {
        kernel_init(&k, sets[width - 1]);
        struct uop_insn *store = kernel_add(&k);
        kernel_uop(store, UOP_STORE_ADDRESS, NO, NO);
        kernel_uop(store, UOP_STORE_DATA, NO, NO)->flags = UOP_FUSED;
        kernel_close(&k, 600);
        k.address = always_there;
        assert_near(kernel_run(&k, 20) / 600, 1.0 / width);
    }
}

/* Two lines by turns, though two stores of a line could drain a cycle. */
static uint64_t two_lines(unsigned i, uint64_t n)
{
    (void)n;
    return 0x10000000 + i % 2 * 64;
}

static void stores_of_a_cycle_go_to_one_line(void **state)
{
    (void)state;
    static struct kernel k;
    const char *const sets[] = {"store_drain_width=2", NULL};
    kernel_init(&k, sets);
    struct uop_insn *store = kernel_add(&k);
    kernel_uop(store, UOP_STORE_ADDRESS, NO, NO);
    kernel_uop(store, UOP_STORE_DATA, NO, NO)->flags = UOP_FUSED;
    kernel_close(&k, 600);
    k.address = two_lines;
    assert_near(kernel_run(&k, 20) / 600, 1.0);
}

static uint64_t three_words(unsigned i, uint64_t n)
{
    (void)n;
    return 0x10000000 + i % 3 * 8;
}

/* Three ports, two loads of one word a cycle, three of three. */
static void loads_of_a_bank_wait(void **state)
{
    (void)state;
    static struct kernel k;
    const char *const sets[] = {"l1d_bank_loads=2", "load_ports=9 10 11", NULL};
    for (unsigned words = 0; words < 2; words++) {
        kernel_init(&k, sets);
        kernel_uop(kernel_add(&k), UOP_LOAD, NO, NO);
        kernel_close(&k, 600);
        k.address = words ? three_words : always_there;
        assert_near(kernel_run(&k, 20) / 600, words ? 1.0 / 3 : 1.0 / 2);
    }
}

/* ---- the window ---- */

static void a_full_reorder_buffer_waits(void **state)
{
    (void)state;
    static struct kernel k;
    static const char *const sets[] = {"l1d_prefetcher=none", "l2_prefetcher=none",
                                       "dtlb_size=65536", "dtlb_ways=64", "l2_size=256K",
                                       "l3_size=1M", NULL};
    kernel_init(&k, sets);
    kernel_uop(kernel_add(&k), UOP_LOAD, NO, NO);
    while (k.count < k.machine.rob_size - 1)
        kernel_uop(kernel_add(&k), UOP_NONE, NO, NO);
    kernel_close(&k, 1);
    k.address = scattered;
    footprint = 65536;
    /* One load in the buffer at a time: issue a cycle after dispatch, room a cycle after commit. */
    assert_near(kernel_run(&k, 2000), 380 + 2);
}

static void a_full_scheduler_waits(void **state)
{
    (void)state;
    static struct kernel k;
    static const char *const sets[] = {"scheduler_size=4", NULL};
    /* A chain of divisions, and additions of which only three fit beside what waits. */
    kernel_init(&k, sets);
    for (unsigned i = 0; i < 4; i++)
        kernel_uop(kernel_add(&k), UOP_DIV32, 1, 1);
    for (unsigned i = 0; i < 40; i++)
        kernel_uop(kernel_add(&k), UOP_ALU, NO, NO);
    kernel_close(&k, 10);
    assert_near(kernel_run(&k, 20) / 10, 4 * k.machine.latency[UOP_DIV32]);
}

/* ---- branches ---- */

/* A branch whose way alternates, and from both ways a jump back to it. */
static double alternate(const struct machine *m, unsigned rounds, struct model_cost *cost)
{
    struct uop_insn branch = {.length = LENGTH, .transfer = TRANSFER_BRANCH};
    struct uop_insn jump = {.length = LENGTH, .transfer = TRANSFER_JUMP};
    struct model_core *core = model_core_new(m);
    uint64_t begin = 0;
    memset(cost, 0, sizeof *cost);
    kernel_uop(&branch, UOP_BRANCH, NO, NO);
    kernel_uop(&jump, UOP_BRANCH, NO, NO);
    for (unsigned i = 0; i < rounds; i++) {
        uint64_t to = CODE + (i % 2 ? 4u : 0x1000u);
        if (i == rounds / 2)
            begin = model_cycles(core);
        model_step(core, &branch, &(struct uop_executed){.pc = CODE, .next = to}, cost);
        model_step(core, &jump, &(struct uop_executed){.pc = to, .next = CODE}, cost);
    }
    double cycles = (double)(model_cycles(core) - begin) / (rounds - rounds / 2);
    model_core_free(core);
    return cycles;
}

static void mispredictions_take_their_penalty(void **state)
{
    (void)state;
    struct model_cost cost;
    static struct kernel k;
    static const char *const bimodal[] = {"branch_predictor=bimodal", NULL};
    kernel_init(&k, bimodal);
    /* Two bits that begin at "not taken" are always wrong. The jump takes a cycle of fetch, the
     * branch one to issue and one to execute. */
    assert_near(alternate(&k.machine, 2000, &cost), k.machine.mispredict_penalty + 3);
    assert_int_equal(cost.events[COST_EVENT_MISPREDICTED], 2000);
    assert_true(cost.parts[COST_BRANCH] > cost_parts(&cost) / 2);
}

static void history_predicts_what_alternates(void **state)
{
    (void)state;
    struct model_cost cost;
    static struct kernel k;
    static const char *const sets[][2] = {{"branch_predictor=gshare"},
                                          {"branch_predictor=tournament"},
                                          {"branch_predictor=tage"},
                                          {"branch_predictor=perfect"}};
    for (unsigned i = 0; i < 4; i++) {
        kernel_init(&k, sets[i]);
        alternate(&k.machine, 4000, &cost);
        assert_true(cost.events[COST_EVENT_MISPREDICTED] < 100);
    }
}

/* A loop's branch, taken so often and then not. */
static uint64_t loop_misses(const char *const *sets, unsigned trips)
{
    static struct kernel k;
    struct uop_insn branch = {.length = LENGTH, .transfer = TRANSFER_BRANCH};
    struct model_cost cost = {0};
    kernel_init(&k, sets);
    kernel_uop(&branch, UOP_BRANCH, NO, NO);
    struct model_core *core = model_core_new(&k.machine);
    for (unsigned i = 0; i < 100 * trips; i++) {
        bool taken = i % trips != trips - 1;
        model_step(core, &branch,
                   &(struct uop_executed){.pc = CODE, .next = taken ? CODE : CODE + LENGTH}, &cost);
        if (!taken) {
            struct uop_insn jump = {.length = LENGTH, .transfer = TRANSFER_JUMP};
            kernel_uop(&jump, UOP_BRANCH, NO, NO);
            model_step(core, &jump, &(struct uop_executed){.pc = CODE + LENGTH, .next = CODE},
                       &cost);
        }
    }
    model_core_free(core);
    return cost.events[COST_EVENT_MISPREDICTED];
}

static void tage_knows_long_loops(void **state)
{
    (void)state;
    static const char *const bimodal[] = {"branch_predictor=bimodal", NULL};
    static const char *const tage[] = {"branch_predictor=tage", NULL};
    assert_in_range(loop_misses(bimodal, 50), 98, 105);
    assert_in_range(loop_misses(tage, 50), 0, 40);
}

/* Jumps to the next one, at equal distances; cycles that each takes. */
static double jumps(const char *const *sets, enum uop_transfer transfer, unsigned count,
                    unsigned distance)
{
    static struct kernel k;
    struct uop_insn jump = {.length = LENGTH, .transfer = (uint8_t)transfer};
    enum { ROUNDS = 10 };
    uint64_t begin = 0;
    kernel_init(&k, sets);
    kernel_uop(&jump, UOP_BRANCH, NO, NO);
    struct model_core *core = model_core_new(&k.machine);
    for (unsigned i = 0; i < ROUNDS * count; i++) {
        uint64_t from = CODE + i % count * distance, to = CODE + (i + 1) % count * distance;
        if (i == ROUNDS / 2 * count)
            begin = model_cycles(core);
        model_step(core, &jump, &(struct uop_executed){.pc = from, .next = to}, &k.cost);
    }
    double cycles = (double)(model_cycles(core) - begin) / (ROUNDS - ROUNDS / 2) / count;
    model_core_free(core);
    return cycles;
}

static double aligned_jumps(unsigned count, unsigned distance)
{
    static const char *const sets[] = {"btb_size=2048", "btb_ways=8", NULL};
    return jumps(sets, TRANSFER_JUMP, count, distance);
}

/* A circle of jumps that the first level of the BTB has no room for takes the second level's time
 * for each. */
static void levels_of_the_btb_have_their_times(void **state)
{
    (void)state;
    static const char *const two[] = {"btb_l1_size=128", "btb_l1_ways=4", "btb_l2_penalty=3", NULL};
    assert_near(jumps(two, TRANSFER_JUMP, 64, 32), 1);
    assert_near(jumps(two, TRANSFER_JUMP, 512, 32), 4);
    static const char *const one[] = {"btb_l1_size=0", "btb_l2_penalty=3", NULL};
    assert_near(jumps(one, TRANSFER_JUMP, 512, 32), 1);
}

static void predicted_indirect_jumps_and_returns_have_their_bubbles(void **state)
{
    (void)state;
    static const char *const sets[] = {"indirect_penalty=2", "return_penalty=4", NULL};
    static const char *const both[] = {"indirect_penalty=2", "btb_l1_size=32", "btb_l1_ways=4",
                                       "btb_l2_penalty=1", NULL};
    assert_near(jumps(sets, TRANSFER_JUMP, 64, 32), 1);
    assert_near(jumps(sets, TRANSFER_JUMP_INDIRECT, 64, 32), 3);
    assert_near(jumps(both, TRANSFER_JUMP_INDIRECT, 64, 32), 3); /* the longer one, not both */
    static struct kernel k;
    struct uop_insn call = {.length = LENGTH, .transfer = TRANSFER_CALL};
    struct uop_insn back = {.length = LENGTH, .transfer = TRANSFER_RETURN};
    struct uop_insn again = {.length = LENGTH, .transfer = TRANSFER_JUMP};
    enum { CALLS = 100, ROUNDS = 10, FUNCTION = CODE + 0x1000, END = CODE + CALLS * LENGTH };
    kernel_init(&k, sets);
    kernel_uop(&call, UOP_BRANCH, NO, NO);
    kernel_uop(&back, UOP_BRANCH, NO, NO);
    kernel_uop(&again, UOP_BRANCH, NO, NO);
    struct model_core *core = model_core_new(&k.machine);
    uint64_t begin = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        if (round == ROUNDS / 2)
            begin = model_cycles(core);
        for (uint64_t at = CODE; at < END; at += LENGTH) {
            uint64_t behind = at + LENGTH;
            model_step(core, &call, &(struct uop_executed){.pc = at, .next = FUNCTION}, &k.cost);
            model_step(core, &back, &(struct uop_executed){.pc = FUNCTION, .next = behind},
                       &k.cost);
        }
        model_step(core, &again, &(struct uop_executed){.pc = END, .next = CODE}, &k.cost);
    }
    assert_near((double)(model_cycles(core) - begin) / (ROUNDS - ROUNDS / 2) / CALLS, 1 + 1 + 4);
    model_core_free(core);
}

/* As many jumps as half of the BTB has entries are in it, wherever they are. */
static void aligned_branches_have_all_of_the_btb(void **state)
{
    (void)state;
    assert_near(aligned_jumps(1024, 16), 1);
    assert_near(aligned_jumps(1024, 32), 1);
    assert_near(aligned_jumps(512, 64), 1);
}

static void returns_and_targets_are_remembered(void **state)
{
    (void)state;
    static struct kernel k;
    struct model_cost cost = {0};
    struct uop_insn call = {.length = LENGTH, .transfer = TRANSFER_CALL};
    struct uop_insn back = {.length = LENGTH, .transfer = TRANSFER_RETURN};
    struct uop_insn jump = {.length = LENGTH, .transfer = TRANSFER_JUMP_INDIRECT};
    kernel_init(&k, NULL);
    kernel_uop(&call, UOP_BRANCH, NO, NO);
    kernel_uop(&back, UOP_BRANCH, NO, NO);
    kernel_uop(&jump, UOP_BRANCH, NO, NO);
    struct model_core *core = model_core_new(&k.machine);
    for (unsigned i = 0; i < 1000; i++) { /* two call sites of one function */
        uint64_t at = CODE + i % 2 * 0x100, other = CODE + (i + 1) % 2 * 0x100;
        model_step(core, &call, &(struct uop_executed){.pc = at, .next = CODE + 0x1000}, &cost);
        model_step(core, &back, &(struct uop_executed){.pc = CODE + 0x1000, .next = at + LENGTH},
                   &cost);
        model_step(core, &jump, &(struct uop_executed){.pc = at + LENGTH, .next = other}, &cost);
    }
    model_core_free(core);
    assert_in_range(cost.events[COST_EVENT_MISPREDICTED], 0, 10);
}

/* ---- all ---- */

/* Any instructions: the model's own assertions hold, and twice the same is the same. */
static void random_ones_are_deterministic(void **state)
{
    (void)state;
    static struct kernel k;
    double cycles[2];
    struct model_cost cost[2];
    static const char *const sets[] = {"scheduler_size=20", "rob_size=64", "lq_size=10",
                                       "sq_size=8", NULL};
    for (unsigned twice = 0; twice < 2; twice++) {
        uint32_t chance = 1;
        kernel_init(&k, sets);
        while (k.count < 1000) {
            struct uop_insn *insn = kernel_add(&k);
            chance = chance * 1103515245u + 12345u;
            unsigned class = (chance >> 16) % (UOP_CLASS_COUNT + 1), a = chance >> 8 & 15;
            if (class == UOP_STORE_ADDRESS || class == UOP_STORE_DATA) {
                kernel_uop(insn, UOP_STORE_ADDRESS, NO, a);
                kernel_uop(insn, UOP_STORE_DATA, NO, a / 2)->flags = a & 1 ? UOP_FUSED : 0;
            } else {
                kernel_uop(insn, class, chance >> 12 & 15, a);
            }
            insn->flags = chance >> 20 & 63 ? 0 : chance >> 21 & 1 ? INSN_LOCKED : INSN_SERIAL;
        }
        kernel_close(&k, 1);
        k.address = scattered;
        footprint = 4096;
        cycles[twice] = kernel_run(&k, 100);
        cost[twice] = k.cost;
    }
    assert_true(cycles[0] == cycles[1]);
    assert_memory_equal(&cost[0], &cost[1], sizeof cost[0]);
}

static void repeated_strings_take_their_bytes(void **state)
{
    (void)state;
    static struct kernel k;
    struct model_cost cost = {0};
    struct uop_insn insn = {.length = LENGTH, .flags = INSN_REPEATED};
    kernel_init(&k, NULL);
    kernel_uop(&insn, UOP_STORE_ADDRESS, NO, NO)->size = 1;
    kernel_uop(&insn, UOP_STORE_DATA, NO, NO)->flags = UOP_FUSED;
    insn.uops[1].size = 1;
    kernel_uop(&insn, UOP_ALU, NO, NO);
    struct model_core *core = model_core_new(&k.machine);
    struct uop_executed x = {.pc = CODE, .next = CODE + LENGTH, .known = {true}, .repeat = 64000,
                             .address = {0x10000000}};
    model_step(core, &insn, &x, &cost);
    assert_int_equal(cost.events[COST_EVENT_UOPS], 64000 / 32 + 1);
    x.repeat = 0;
    model_step(core, &insn, &x, &cost);
    assert_int_equal(cost.events[COST_EVENT_UOPS], 64000 / 32 + 2);
    model_core_free(core);
}

/* A store and a load to and fro: the load's address says so early, if it is written alike. */
static void stores_are_renamed(void **state)
{
    (void)state;
    static const char *const sets[][2] = {{"memory_renaming=no", NULL},
                                          {"memory_renaming=yes", NULL}};
    for (unsigned alike = 0; alike < 2; alike++)
        for (unsigned renamed = 0; renamed < 2; renamed++) {
            static struct kernel k;
            kernel_init(&k, sets[renamed]);
            k.address = always_there;
            kernel_uop(kernel_add(&k), UOP_ALU, 0, 0);
            struct uop_insn *store = kernel_add(&k), *load = kernel_add(&k);
            kernel_uop(store, UOP_STORE_ADDRESS, NO, NO);
            kernel_uop(store, UOP_STORE_DATA, NO, 0)->flags = UOP_FUSED;
            store->uops[0].form = store->uops[1].form = 1;
            kernel_uop(load, UOP_LOAD, 0, NO)->form = alike ? 1 : 2;
            kernel_close(&k, 20);
            assert_near(kernel_run(&k, 400) / 20, alike && renamed ? 1 : 1 + 1 + 4);
        }
}

/* Additions of constants take no time where renaming does them. */
static void constants_are_added(void **state)
{
    (void)state;
    const char *const sets[] = {"add_elimination=yes", NULL};
    static struct kernel k;
    kernel_init(&k, sets);
    kernel_uop(kernel_add(&k), UOP_ALU, 0, 0)->flags = UOP_ADDS;
    kernel_close(&k, 599);
    assert_near(kernel_run(&k, 100) / 600, 1.0 / 6);
}

/* Ten of eleven, by 11 bits with a sign; and a shift of what is still to be added takes longer. */
static void small_constants_are_added_in_time(void **state)
{
    (void)state;
    const char *const sets[] = {"add_elimination=yes", NULL};
    static struct kernel k;
    kernel_init(&k, sets);
    struct uop *add = kernel_uop(kernel_add(&k), UOP_ALU, 0, 0);
    add->flags = UOP_ADDS;
    add->adds = 1000;
    kernel_close(&k, 600);
    assert_near(kernel_run(&k, 100) / 600, 1.0 / 2);
    kernel_init(&k, sets);
    add = kernel_uop(kernel_add(&k), UOP_ALU, 0, 0);
    add->flags = UOP_ADDS;
    add->adds = 1;
    kernel_uop(kernel_add(&k), UOP_SHIFT, 0, 0);
    kernel_close(&k, 300);
    assert_near(kernel_run(&k, 100) / 300, k.machine.latency[UOP_SHIFT] + 2);
}

/* As the count is that of a copy that went wrong: the program faults, the model goes on. */
static void a_hostile_count_comes_to_an_end(void **state)
{
    (void)state;
    static struct kernel k;
    struct model_cost cost = {0};
    struct uop_insn insn = {.length = LENGTH, .flags = INSN_REPEATED};
    const char *const sets[] = {"string_bytes=64", NULL};
    kernel_init(&k, sets);
    kernel_uop(&insn, UOP_LOAD, NO, NO);
    struct model_core *core = model_core_new(&k.machine);
    struct uop_executed x = {.pc = CODE, .next = CODE + LENGTH, .repeat = UINT64_MAX};
    model_step(core, &insn, &x, &cost);
    assert_int_equal(cost.events[COST_EVENT_UOPS], (1 << 30) / 64);
    model_core_free(core);
}

/* Two lines of one set are used in turn, and a third takes the place of the older, also where the
 * numbers of uses run out. */
static void uses_are_numbered_without_end(void **state)
{
    (void)state;
    struct set_table t;
    uint64_t evicted;
    bool hit;
    assert_true(set_table_make(&t, 2, 2));
    t.clock = UINT32_MAX - 5;
    for (uint64_t tag = 1; tag < 20; tag++) {
        set_table_find(&t, tag, true, &hit, &evicted);
        assert_false(hit);
        assert_int_equal(evicted, tag > 2 ? tag - 2 + 1 : 0);
        set_table_find(&t, tag > 1 ? tag - 1 : tag, true, &hit, &evicted);
        assert_true(hit);
        set_table_find(&t, tag, true, &hit, &evicted);
        assert_true(hit);
    }
    set_table_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains_take_each_class_s_latency),
        cmocka_unit_test(independent_ones_take_their_ports),
        cmocka_unit_test(streams_take_the_narrowest_width),
        cmocka_unit_test(renaming_does_moves_and_zeros),
        cmocka_unit_test(chased_loads_take_each_level_s_latency),
        cmocka_unit_test(translations_take_time_besides),
        cmocka_unit_test(misses_wait_for_a_free_register),
        cmocka_unit_test(memory_gives_a_line_an_interval),
        cmocka_unit_test(strides_are_fetched_ahead),
        cmocka_unit_test(stores_are_forwarded_or_block),
        cmocka_unit_test(stores_drain_at_their_width),
        cmocka_unit_test(a_full_reorder_buffer_waits),
        cmocka_unit_test(a_full_scheduler_waits),
        cmocka_unit_test(mispredictions_take_their_penalty),
        cmocka_unit_test(history_predicts_what_alternates),
        cmocka_unit_test(tage_knows_long_loops),
        cmocka_unit_test(aligned_branches_have_all_of_the_btb),
        cmocka_unit_test(levels_of_the_btb_have_their_times),
        cmocka_unit_test(predicted_indirect_jumps_and_returns_have_their_bubbles),
        cmocka_unit_test(returns_and_targets_are_remembered),
        cmocka_unit_test(random_ones_are_deterministic),
        cmocka_unit_test(repeated_strings_take_their_bytes),
        cmocka_unit_test(stores_are_renamed),
        cmocka_unit_test(constants_are_added),
        cmocka_unit_test(small_constants_are_added_in_time),
        cmocka_unit_test(stores_of_a_cycle_go_to_one_line),
        cmocka_unit_test(loads_of_a_bank_wait),
        cmocka_unit_test(a_hostile_count_comes_to_an_end),
        cmocka_unit_test(uses_are_numbered_without_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

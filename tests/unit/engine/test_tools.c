/* Tools count exactly, and change nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "callbacks.h"
#include "functions.h"
#include "run.h"
#include "tools/kernel_reads.h"
#include "tools/list.h"

static const char *const names[] = {"null",    "count",   "blocks", "edges", "path",
                                    "results", "written", "waste",  "times"};

static void nothing_changes(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        struct rig r;
        rig_make(&r, &(struct engine_config){ .tools = tool_set_of(tool_named(names[i])) });
        for (int round = 0; round < 2; round++)
            for (const struct function *f = functions; f->name; f++)
                for (uint64_t n = 0; n < f->most; n += 1 + f->most / 4) {
                    uint64_t native = f->call(n);
                    uint64_t got = rig_call(&r, (const void *)(uintptr_t)f->call, n, 0, 0, 0);
                    if (native != got)
                        fail_msg("%s: %s(%lu) is %lx natively, %lx translated", names[i], f->name,
                                 n, native, got);
                }
        rig_free(&r);
    }
}

static void every_point_is_reached(void **state)
{
    (void)state;
    struct rig r;
    memset(&asked, 0, sizeof asked);
    rig_make(&r, &(struct engine_config){ .tools = tool_set_of(&tool_all_points) });
    for (const struct function *f = functions; f->name; f++) {
        uint64_t n = f->most / 2;
        assert_int_equal(rig_call(&r, (const void *)(uintptr_t)f->call, n, 0, 0, 0), f->call(n));
    }
    assert_true(*hook_counter(r.thread, 0) > 1000);
    assert_int_equal(*hook_counter(r.thread, 0), *hook_counter(r.thread, 1));
    assert_int_equal(*hook_counter(r.thread, 0), asked.calls);
    assert_true(*hook_counter(r.thread, 2) < asked.calls);
    rig_free(&r);
}

/* Executes its loop body n times, one of three ways each. */
__attribute__((noinline, used)) static uint64_t loop(uint64_t n)
{
    uint64_t a = 0;
    __asm__ volatile("    testq %1, %1\n"
                     "    jz 3f\n"
                     "1:  testq $1, %1\n"
                     "    jz 2f\n"
                     "    addq $3, %0\n"
                     "2:  call 4f\n"
                     "    subq $1, %1\n"
                     "    jnz 1b\n"
                     "    jmp 3f\n"
                     "4:  ret\n"
                     "3:\n"
                     : "+r"(a), "+r"(n)
                     :
                     : "cc", "memory");
    return a;
}

/* A block as long as they become, n times. */
__attribute__((noinline, used)) static uint64_t straight(uint64_t n)
{
    uint64_t a = 0;
    __asm__ volatile("1:  .rept 60\n"
                     "    addq %1, %0\n"
                     "    .endr\n"
                     "    decq %1\n"
                     "    jnz 1b\n"
                     : "+r"(a), "+r"(n)
                     :
                     : "cc", "memory");
    return a;
}

static uint64_t sum(const struct rig *r)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < 4096; i++)
        total += *hook_counter(r->thread, i);
    return total;
}

static uint64_t counted(const char *tool, uint64_t n)
{
    struct rig r;
    rig_make(&r, &(struct engine_config){ .tools = tool_set_of(tool_named(tool)) });
    rig_call(&r, (const void *)(uintptr_t)loop, n, 0, 0, 0);
    uint64_t total = sum(&r);
    rig_free(&r);
    return total;
}

/* An iteration executes 4 transfers, whether n is even or odd: jz, call, ret, jnz; and as many
 * blocks, the one behind each. */
static void counts_are_exact(void **state)
{
    (void)state;
    assert_int_equal(counted("edges", 1002) - counted("edges", 2), 1000 * 4);
    assert_int_equal(counted("edges", 1001) - counted("edges", 1), 1000 * 4);
    /* 2: is a block of its own where jz goes, and a part of the one behind jz where it falls
     * through. */
    assert_int_equal(counted("blocks", 1002) - counted("blocks", 2), 500 * 4 + 500 * 4);
}

static void all_functions(const struct engine_config *config)
{
    struct rig r;
    rig_make(&r, config);
    r.thread->budget = INT64_C(1) << 40;
    for (const struct function *f = functions; f->name; f++)
        assert_int_equal(rig_call(&r, (const void *)(uintptr_t)f->call, f->most / 2, 0, 0, 0),
                         f->call(f->most / 2));
    rig_free(&r);
}

/* Whatever registers and flags are live, a lead calls when it has to, and then only. */
static void check_leads(const struct engine_config *config)
{
    led = (struct led){0};
    all_functions(config);
    assert_true(led.of_r15 > 0);
    assert_int_equal(led.wrong, 0);
    assert_in_range(led.calls, led.results / 20, led.results - led.results / 20);
}

static void leads_call_when_they_have_to(void **state)
{
    (void)state;
    check_leads(&(struct engine_config){ .tools = tool_set_of(&tool_leads) });
}

/* r15 is not the program's then: its results are found elsewhere. */
static void leads_with_a_loose_budget(void **state)
{
    (void)state;
    check_leads(
        &(struct engine_config){.tools = tool_set_of(&tool_leads), .budget = true, .loose = true});
}

/* Whatever flags are live, a block is observed when its gate says so, and does the same if it is
 * not. */
static void check_gates(const struct engine_config *config)
{
    gated = (struct gated){0};
    all_functions(config);
    assert_int_equal(gated.wrong, 0);
    assert_in_range(gated.observed, gated.blocks / 100, gated.blocks - gated.blocks / 4);
    assert_in_range(gated.asked, gated.observed / 10, gated.observed);
}

static void gates_observe_when_they_have_to(void **state)
{
    (void)state;
    check_gates(
        &(struct engine_config){.tools = tool_set_of(&tool_gates), .shared = true, .budget = true});
}

static void gates_with_a_loose_budget(void **state)
{
    (void)state;
    check_gates(&(struct engine_config){ .tools = tool_set_of(&tool_gates), .shared = true,
                                        .budget = true, .loose = true, .paired = true });
}

/* What is behind a gate is paid for in front of it, wherever the budget ends. */
static void gates_count_the_budget_once(void **state)
{
    struct rig r;
    (void)state;
    for (unsigned gates = 0; gates < 2; gates++) {
        static int64_t left[2];
        rig_make(&r,
                 &(struct engine_config){.tools = tool_set_of(gates ? &tool_gates : &tool_blocks),
                                         .shared = true,
                                         .budget = true});
        r.thread->budget = INT64_C(1) << 40;
        rig_call(&r, (const void *)(uintptr_t)loop, 20000, 0, 0, 0);
        left[gates] = r.thread->budget;
        rig_free(&r);
        assert_int_equal(left[gates], left[0]);
    }
}

/* Whatever registers and flags are live, and wherever the operand is. */
static void check_watches(const struct engine_config *config)
{
    watched = (struct watched){0};
    all_functions(config);
    assert_int_equal(watched.wrong, 0);
    assert_in_range(watched.called, watched.accesses / 100, watched.accesses / 2);
    assert_in_range(watched.returns_called, watched.returns / 10,
                    watched.returns - watched.returns / 10);
    assert_in_range(watched.alarms, watched.executed / 200, watched.executed / 10);
}

static void watches_call_when_they_have_to(void **state)
{
    (void)state;
    check_watches(&(struct engine_config){ .tools = tool_set_of(&tool_watching) });
    check_watches(&(struct engine_config){
        .tools = tool_set_of(&tool_watching), .budget = true, .loose = true});
}

/* A whole run executes one copy of its blocks or the other, whatever is live where it changes. */
static void watching_chooses_the_copy(void **state)
{
    (void)state;
    memset(&asked, 0, sizeof asked);
    all_functions(&(struct engine_config){ .tools = tool_set_of(&tool_copies) });
    assert_int_equal(copies.wrong, 0);
    assert_int_equal(copies.ungated, 0);
    assert_true(copies.changes > 1000);
    assert_in_range(copies.observed, copies.charged[0] / 2, copies.charged[0] * 2);
    assert_true(asked.calls >= copies.observed);
}

/* A block for whose hooks there is no room becomes several: no execution is missed. */
static void crowded_blocks_are_divided(void **state)
{
    (void)state;
    struct rig r;
    memset(&asked, 0, sizeof asked);
    rig_make(&r, &(struct engine_config){ .tools = tool_set_of(&tool_all_points) });
    rig_call(&r, (const void *)(uintptr_t)straight, 5, 0, 0, 0);
    uint64_t executed = asked.calls;
    rig_free(&r);
    memset(&asked, 0, sizeof asked);
    rig_make(&r, &(struct engine_config){ .tools = tool_set_of(&tool_crowding) });
    assert_int_equal(rig_call(&r, (const void *)(uintptr_t)straight, 5, 0, 0, 0), straight(5));
    assert_int_equal(*hook_counter(r.thread, 0), 16 * executed);
    assert_int_equal(asked.calls, 16 * executed);
    assert_true(asked.crowded > 0 && executed > 5 * 60);
    rig_free(&r);
}

/* What of the program's memory the kernel reads. */
static void system_calls_read_what_is_said(void **state)
{
    static const struct { uint64_t number, pieces[6]; } calls[] = {
        { SYS_getpid, { 0 } },
        { SYS_read, { 0 } },
        { SYS_write, { 2000, 3000 } },
        { SYS_openat, { 2000, 4096 } },
        { SYS_poll, { 1000, 8 * 2000 } },
        { SYS_sendto, { 2000, 3000, 5000, 6000 } },
        { SYS_recvfrom, { 6000, 4 } },
        { SYS_futex, { 1000, 4, 4000, 16, 5000, 4 } },
    };
    struct rig r;
    struct kernel_read reads[KERNEL_READS];
    unsigned count;
    (void)state;
    rig_make(&r, NULL);
    const uint8_t order[] = {ENGINE_RDI, ENGINE_RSI, ENGINE_RDX, ENGINE_R10, ENGINE_R8, ENGINE_R9};
    for (unsigned i = 0; i < 6; i++)
        r.thread->gpr[order[i]] = 1000 * (i + 1);
    for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++) {
        r.thread->gpr[ENGINE_RAX] = calls[i].number;
        assert_true(kernel_reads_as(r.thread, reads, &count));
        for (unsigned k = 0; k < KERNEL_READS; k++) {
            assert_int_equal(calls[i].pieces[2 * k] != 0, k < count);
            if (k < count) {
                assert_int_equal(reads[k].address, calls[i].pieces[2 * k]);
                assert_int_equal(reads[k].bytes, calls[i].pieces[2 * k + 1]);
            }
        }
    }
    r.thread->gpr[ENGINE_RAX] = SYS_ioctl;
    assert_false(kernel_reads_as(r.thread, reads, &count));
    rig_free(&r);
}

/* Calls each of four functions n times, from one place. */
__attribute__((noinline, used)) static uint64_t in_turn(uint64_t n, void *const *callees)
{
    __asm__ volatile("1: xorl %%ecx, %%ecx\n"
                     "2: call *(%1, %%rcx, 8)\n"
                     "   addl $1, %%ecx\n"
                     "   cmpl $4, %%ecx\n"
                     "   jne 2b\n"
                     "   subq $1, %0\n"
                     "   jnz 1b\n"
                     : "+r"(n)
                     : "r"(callees)
                     : "rcx", "cc", "memory");
    return n;
}

/* Where the same transfer goes to several places, each has its count: also places that share an
 * entry of the thread's table (target.c), as those do that are 64 kB apart. */
static void targets_are_counted_each(void **state)
{
    (void)state;
    enum { TIMES = 1000, APART = 1 << 16 };
    uint8_t *code = mmap(NULL, 3 * APART, PROT_READ | PROT_WRITE | PROT_EXEC,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(code != MAP_FAILED);
    uint8_t *callees[4] = { code, code + APART, code + 2 * APART, code + 64 };
    for (unsigned i = 0; i < 4; i++)
        *callees[i] = 0xc3; /* ret */
    struct rig r;
    rig_make(&r, &(struct engine_config){ .tools = tool_set_of(&tool_edges) });
    rig_call(&r, (const void *)(uintptr_t)in_turn, TIMES, (uint64_t)(uintptr_t)callees, 0, 0);
    unsigned calls_and_returns = 0;
    for (uint32_t i = 0; i < 4096; i++)
        calls_and_returns += *hook_counter(r.thread, i) == TIMES;
    assert_int_equal(calls_and_returns, 2 * 4 + 1); /* and the inner loop's end */
    rig_free(&r);
    munmap(code, 3 * APART);
}

/* The carriers' defaults, and each tool's code where its row says that it runs. */
static void the_list_is_whole(void **state)
{
    (void)state;
    assert_int_equal(tool_default(1u << CARRIER_HANDLER), TOOL_STACKS);
    assert_int_equal(tool_default(1u << CARRIER_EXACT), TOOL_BLOCKS);
    assert_int_equal(tool_default(1u << CARRIER_BURST | 1u << CARRIER_SHADOW), TOOL_BLOCKS);
    assert_int_equal(tool_default(UINT32_MAX), TOOL_KIND_COUNT);
    assert_int_equal(tool_of_modules(), TOOL_VALUES);
    assert_null(tool_about(TOOL_KIND_COUNT));
    assert_null(tool_of_kind(TOOL_KIND_COUNT));
    for (uint32_t i = 0; i < TOOL_KIND_COUNT; i++) {
        const struct tool_about *tool = tool_about(i);
        assert_int_equal(tool_of_kind(i) != NULL, (tool->carriers & TOOL_TRANSLATED) != 0);
        assert_int_equal(tool->instead != NULL, !tool_of_kind(i));
        assert_true(tool->stretch <= tool_sample(tool));
        for (uint32_t k = 0; k < i; k++)
            assert_string_not_equal(tool->name, tool_about(k)->name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_list_is_whole),
        cmocka_unit_test(nothing_changes),
        cmocka_unit_test(every_point_is_reached),
        cmocka_unit_test(counts_are_exact),
        cmocka_unit_test(watches_call_when_they_have_to),
        cmocka_unit_test(watching_chooses_the_copy),
        cmocka_unit_test(crowded_blocks_are_divided),
        cmocka_unit_test(system_calls_read_what_is_said),
        cmocka_unit_test(leads_call_when_they_have_to),
        cmocka_unit_test(leads_with_a_loose_budget),
        cmocka_unit_test(gates_observe_when_they_have_to),
        cmocka_unit_test(gates_with_a_loose_budget),
        cmocka_unit_test(gates_count_the_budget_once),
        cmocka_unit_test(targets_are_counted_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

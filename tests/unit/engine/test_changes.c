/* Code that changes, goes away, or does not fit. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "callbacks.h"
#include "functions.h"
#include "run.h"

static struct rig rig;
static uint8_t *code;

enum { CODE = 8192 };

/*  mov eax, value; ret */
static void put_value(uint8_t *at, uint32_t value)
{
    at[0] = 0xb8;
    memcpy(at + 1, &value, 4);
    at[5] = 0xc3;
}

static uint64_t call_code(const uint8_t *at)
{
    uint64_t value = rig_call(&rig, at, 1, 2, 3, 4);
    assert_int_equal(rig.thread->stop, STOP_ADDRESS);
    return value;
}

static void checked_code_follows_every_change(void **state)
{
    (void)state;
    rig.code_lo = (uint64_t)(uintptr_t)code;
    rig.code_hi = rig.code_lo + CODE;
    for (uint32_t i = 0; i < 1000; i++) {
        put_value(code + 64, i / 3);
        assert_int_equal(call_code(code + 64), i / 3);
    }
}

/* How often the carrier is asked about two blocks that are made from code, then about one more. */
static void asked_for(enum trust trust, uint64_t out[2])
{
    rig.code_lo = (uint64_t)(uintptr_t)code;
    rig.code_hi = rig.code_lo + CODE;
    rig.code_trust = trust;
    for (uint32_t i = 0; i < 3; i++)
        put_value(code + 64 * i, i);
    assert_int_equal(call_code(code), 0);
    assert_int_equal(call_code(code + 64), 1);
    put_value(code + 64, 9);
    assert_int_equal(call_code(code + 64), 9);
    out[0] = rig.asked;
    engine_unmapped_as(rig.engine);
    assert_int_equal(call_code(code + 128), 2);
    out[1] = rig.asked - out[0];
}

static void what_stays_mapped_is_asked_for_once(void **state)
{
    uint64_t questions[2];
    (void)state;
    asked_for(TRUST_MAPPED, questions);
    assert_int_equal(questions[0], 1);
    assert_int_equal(questions[1], 1);
}

static void what_may_go_is_asked_for_each_time(void **state)
{
    uint64_t questions[2];
    (void)state;
    asked_for(TRUST_CHECKED, questions);
    assert_int_equal(questions[0], 3);
    assert_int_equal(questions[1], 1);
}

/* Instructions that write what comes behind them: the third argument to where the first one points;
 * then mov eax, imm32 (which they change) and ret. */
static void blocks_that_change_themselves(void **state)
{
    (void)state;
    static const struct { uint8_t size, bytes[8]; } stores[] = {
        {2, {0x89, 0x17}},                                     /* mov [rdi], edx */
        {2, {0x01, 0x17}},                                     /* add [rdi], edx */
        {6, {0x89, 0x15, 1, 0, 0, 0}},                         /* mov [rip + 1], edx */
        {3, {0x92, 0xab, 0x90}},                               /* xchg eax, edx; stosd */
        {3, {0x52, 0x8f, 0x07}},                               /* push rdx; pop [rdi] */
    };
    rig.code_lo = (uint64_t)(uintptr_t)code;
    rig.code_hi = rig.code_lo + CODE;
    for (uint32_t i = 0; i < sizeof stores / sizeof stores[0]; i++) {
        uint8_t *at = code + 64 * i, *value = at + stores[i].size + 1;
        memset(at, 0xc3, 32); /* what is written may be longer */
        memcpy(at, stores[i].bytes, stores[i].size);
        for (uint32_t n = 1; n < 50; n++) {
            put_value(at + stores[i].size, 0);
            uint64_t got =
                rig_call(&rig, at, (uint64_t)(uintptr_t)value, 2, 0xc3c3c30000000000 | n, 4);
            assert_int_equal(rig.thread->stop, STOP_ADDRESS);
            assert_int_equal(got, n);
        }
    }
}

/* nops of every length before it: every number of bytes is compared to the last. */
static void all_bytes_are_compared(void **state)
{
    (void)state;
    rig.code_lo = (uint64_t)(uintptr_t)code;
    rig.code_hi = rig.code_lo + CODE;
    for (uint32_t before = 0; before < 40; before++) {
        memset(code, 0x90, before);
        put_value(code + before, 7);
        assert_int_equal(call_code(code), 7);
        put_value(code + before, 0x7000007);
        assert_int_equal(call_code(code), 0x7000007);
    }
}

static void trusted_code_changes_when_told(void **state)
{
    (void)state;
    put_value(code + 64, 1);
    put_value(code + 128, 5);
    assert_int_equal(call_code(code + 64), 1);
    assert_int_equal(call_code(code + 128), 5);
    put_value(code + 64, 2);
    put_value(code + 128, 6);
    assert_int_equal(call_code(code + 64), 1); /* that is what trust means */
    engine_invalidate_as(rig.engine, (uint64_t)(uintptr_t)code + 66,
                         (uint64_t)(uintptr_t)code + 67);
    assert_int_equal(call_code(code + 64), 2);
    assert_int_equal(call_code(code + 128), 5);
}

/* A jump to another page, whose code overwrites the flags that the jump leaves, and then reads
 * them. What was known of them is known no more, though the code before the jump has not changed;
 * of code that may change at any time nothing is. */
static void flags_behind_a_jump_change(void **state)
{
    /* cmp edi, 7; lea eax, [rdi + 5]; jmp */
    static const uint8_t jump[] = {0x83, 0xff, 0x07, 0x8d, 0x47, 0x05, 0xe9, 0xf5, 0x0f, 0, 0};
    /* xor eax, eax; ret */
    static const uint8_t overwrite[] = {0x31, 0xc0, 0xc3};
    /* sete al; movzx eax, al; ret */
    static const uint8_t read[] = {0x0f, 0x94, 0xc0, 0x0f, 0xb6, 0xc0, 0xc3};
    uint8_t *there = code + CODE / 2;
    (void)state;
    memcpy(code, jump, sizeof jump);
    memcpy(there, overwrite, sizeof overwrite);
    /* so that the jump is not laid in front of it */
    assert_int_equal(rig_call(&rig, there, 7, 0, 0, 0), 0);
    assert_int_equal(rig_call(&rig, code, 7, 0, 0, 0), 0);
    memcpy(there, read, sizeof read);
    if (!rig.code_hi)
        engine_invalidate_as(rig.engine, (uint64_t)(uintptr_t)there,
                             (uint64_t)(uintptr_t)code + CODE);
    for (uint64_t n = 5; n < 10; n++)
        assert_int_equal(rig_call(&rig, code, n, 0, 0, 0), n == 7);
}

static void flags_behind_a_checked_jump(void **state)
{
    rig.code_lo = (uint64_t)(uintptr_t)code;
    rig.code_hi = rig.code_lo + CODE;
    flags_behind_a_jump_change(state);
}

/* a: jmp b (laid behind), b: jz c; b's other way: d. Each is changed and dropped by itself. */
static void links_are_undone(void **state)
{
    (void)state;
    static const uint8_t a[] = { 0x85, 0xff, 0x74, 0x1c }; /* test edi, edi; jz a + 32 */
    for (uint32_t round = 0; round < 30; round++) {
        uint8_t *way = code + (round & 1 ? 4 : 32);
        memcpy(code, a, sizeof a);
        if (!round) {
            put_value(code + 4, 100);
            put_value(code + 32, 200);
        }
        put_value(way, 1000 + round);
        engine_invalidate_as(rig.engine, (uint64_t)(uintptr_t)way,
                             (uint64_t)(uintptr_t)way + 1);
        for (int i = 0; i < 3; i++)
            assert_int_equal(rig_call(&rig, code, round & 1, 0, 0, 0), 1000 + round);
    }
    assert_true(engine_figures_as(rig.engine).unlinked >= 28);
}

/* What is looked through for a block does not grow with what has changed, and what is dropped is
 * not kept. */
static void changes_cost_the_same(void **state)
{
    (void)state;
    enum { ROUNDS = 150000, PLACES = CODE / 64 };
    rig.code_lo = (uint64_t)(uintptr_t)code;
    rig.code_hi = rig.code_lo + CODE;
    rig.code_trust = TRUST_MAPPED;
    for (uint32_t places = 1; places <= PLACES; places *= PLACES) {
        for (uint32_t i = 0; i < ROUNDS; i++) {
            uint8_t *at = code + i % places * 64;
            put_value(at, i);
            assert_int_equal(call_code(at), i);
        }
        struct engine_figures f = engine_figures_as(rig.engine);
        assert_true(f.slots < 10 * PLACES);
        assert_true(f.indirect_entries < 10 * PLACES);
        assert_true(f.code_bytes < 32 << 20);
        assert_true(f.resets >= 1);
    }
}

/* An engine with the smallest cache uses it anew when it is full. */
static void a_full_cache_begins_anew(void **state)
{
    (void)state;
    enum { SIZE = 6, PLACES = CODE / SIZE };
    for (uint32_t made = 0; engine_figures_as(rig.engine).resets < 3; made++) {
        uint8_t *at = code + made % PLACES * SIZE;
        if (at == code)
            engine_invalidate_as(rig.engine, (uint64_t)(uintptr_t)code,
                                 (uint64_t)(uintptr_t)code + CODE);
        put_value(at, made);
        assert_int_equal(rig_call(&rig, at, 0, 0, 0, 0), made);
        assert_int_equal(rig.thread->stop, STOP_ADDRESS);
        assert_true(made < 1000000);
    }
}

/* One that must not, stops, and says so. */
static void a_full_cache_stops(void **state)
{
    (void)state;
    enum { SIZE = 6, PLACES = CODE / SIZE };
    uint64_t made = 0;
    struct rig r;
    rig_make(&r, &(struct engine_config){ .cache_size = 4 << 20, .shared = true });
    for (; made < 1000000; made++) {
        uint8_t *at = code + made % PLACES * SIZE;
        if (at == code)
            engine_invalidate_as(r.engine, (uint64_t)(uintptr_t)code,
                                 (uint64_t)(uintptr_t)code + CODE);
        put_value(at, (uint32_t)made);
        uint64_t value = rig_call(&r, at, 0, 0, 0, 0);
        if (r.thread->stop == STOP_CACHE_FULL)
            break;
        assert_int_equal(value, made);
    }
    assert_true(made > 10000 && made < 1000000);
    rig_free(&r);
}

static void *thread_main(void *argument)
{
    struct rig *r = argument;
    uint64_t wrong = 0;
    for (int round = 0; round < 3; round++)
        for (const struct function *f = functions; f->name; f++) {
            if (f->steps == 0) /* uses static data */
                continue;
            uint64_t n = f->most / 2;
            wrong += rig_call(r, (const void *)(uintptr_t)f->call, n, 0, 0, 0) != f->call(n);
        }
    return (void *)(uintptr_t)wrong;
}

static void threads_share_a_cache(void **state)
{
    (void)state;
    struct rig rigs[4];
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        rig_share(&rigs[i], &rig);
        assert_int_equal(pthread_create(&threads[i], NULL, thread_main, &rigs[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
        rig_unshare(&rigs[i]);
    }
}

static uint32_t threads_end;

/* Runs what does not change, until the others have done: loops, calls, and returns. */
static void *loop_main(void *argument)
{
    struct rig *r = argument;
    uint64_t wrong = 0;
    while (!__atomic_load_n(&threads_end, __ATOMIC_ACQUIRE))
        wrong += thread_main(r) != NULL;
    return (void *)(uintptr_t)wrong;
}

/* The cache is used anew while other threads are in it, or sleep. */
static void threads_wait_for_a_reset(void **state)
{
    (void)state;
    struct rig rigs[3];
    pthread_t threads[2];
    rig.code_lo = (uint64_t)(uintptr_t)code;
    rig.code_hi = rig.code_lo + CODE;
    for (int i = 0; i < 3; i++)
        rig_share(&rigs[i], &rig); /* the last one runs nothing */
    __atomic_store_n(&threads_end, 0, __ATOMIC_RELEASE);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, loop_main, &rigs[i]), 0);
    for (uint32_t i = 0; engine_figures_as(rig.engine).resets < 3; i++) {
        put_value(code + i % 64 * 64, i);
        assert_int_equal(call_code(code + i % 64 * 64), i);
    }
    __atomic_store_n(&threads_end, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < 2; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
    for (int i = 0; i < 3; i++)
        rig_unshare(&rigs[i]);
}

enum { CALLS = 30000, MANY = CALLS * 5 + 16 };

/* lea rdi, [rdi + 1]; ret, called from so many places that calls and returns are paired. */
static uint8_t *many_make(void)
{
    uint8_t *many = mmap(NULL, MANY, PROT_READ | PROT_WRITE | PROT_EXEC,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(many != MAP_FAILED);
    memcpy(many, "\x48\x8d\x7f\x01\xc3", 5);
    uint8_t *at = many + 8;
    for (int i = 0; i < CALLS; i++, at += 5) {
        int32_t back = (int32_t)(many - (at + 5));
        *at = 0xe8;
        memcpy(at + 1, &back, sizeof back);
    }
    memcpy(at, "\x48\x8d\x07\xc3", 4); /* lea rax, [rdi]; ret */
    return many;
}

static void many_calls_are_paired(void **state)
{
    (void)state;
    uint8_t *many = many_make();
    struct rig own;
    rig_make(&own, NULL);
    assert_int_equal(rig_call(&own, (const void *)(uintptr_t)functions[0].call, 12,
                              0, 0, 0), functions[0].call(12));
    for (uint64_t round = 0; round < 3; round++) {
        assert_int_equal(rig_call(&own, many + 8, round, 0, 0, 0), round + CALLS);
        assert_int_equal(own.thread->stop, STOP_ADDRESS);
        assert_true(engine_figures_as(own.engine).paired);
    }
    assert_int_equal(rig_call(&own, (const void *)(uintptr_t)functions[0].call, 12,
                              0, 0, 0), functions[0].call(12));
    /* Code from before the change goes away. */
    engine_invalidate_as(own.engine, (uint64_t)(uintptr_t)many, (uint64_t)(uintptr_t)many + MANY);
    many[3] = 3;
    assert_int_equal(rig_call(&own, many + 8, 1, 0, 0, 0), 1 + 3 * CALLS);
    rig_free(&own);
    munmap(many, MANY);
}

/* Of a shared engine: who was there before finds returns that are paired. */
static void many_calls_of_others_are_paired(void **state)
{
    (void)state;
    uint8_t *many = many_make();
    struct rig own, other;
    rig_make(&own, &(struct engine_config){ .shared = true });
    other = own;
    other.thread = engine_thread_share_as(own.engine, 0, NULL);
    assert_non_null(other.thread);
    other.thread->carrier = &other;
    assert_int_equal(rig_call(&own, many + 8, 1, 0, 0, 0), 1 + CALLS);
    assert_true(engine_figures_as(own.engine).paired);
    assert_int_equal(rig_call(&other, many + 8, 2, 0, 0, 0), 2 + CALLS);
    assert_int_equal(other.thread->stop, STOP_ADDRESS);
    rig_free(&own);
    munmap(many, MANY);
}

static bool paired;
static const struct tool *tool; /* NULL: none */

static int setup(void **state)
{
    (void)state;
    rig_make(&rig, &(struct engine_config){
                       .cache_size = 4 << 20, .paired = paired, .tools = tool_set_of(tool)});
    code = mmap(NULL, CODE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(code != MAP_FAILED);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rig_free(&rig);
    munmap(code, CODE);
    return 0;
}

static int setup_paired(void **state)
{
    paired = true;
    return setup(state);
}

static int setup_leads(void **state)
{
    paired = false;
    tool = &tool_leads;
    return setup(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(checked_code_follows_every_change, setup, teardown),
        cmocka_unit_test_setup_teardown(what_stays_mapped_is_asked_for_once, setup, teardown),
        cmocka_unit_test_setup_teardown(what_may_go_is_asked_for_each_time, setup, teardown),
        cmocka_unit_test_setup_teardown(blocks_that_change_themselves, setup, teardown),
        cmocka_unit_test_setup_teardown(all_bytes_are_compared, setup, teardown),
        cmocka_unit_test_setup_teardown(trusted_code_changes_when_told, setup, teardown),
        cmocka_unit_test_setup_teardown(links_are_undone, setup, teardown),
        cmocka_unit_test_setup_teardown(changes_cost_the_same, setup, teardown),
        cmocka_unit_test_setup_teardown(a_full_cache_begins_anew, setup, teardown),
        cmocka_unit_test_setup_teardown(a_full_cache_stops, setup, teardown),
        cmocka_unit_test_setup_teardown(threads_share_a_cache, setup, teardown),
        cmocka_unit_test_setup_teardown(threads_wait_for_a_reset, setup, teardown),
        cmocka_unit_test(many_calls_are_paired),
        cmocka_unit_test(many_calls_of_others_are_paired),
        cmocka_unit_test_setup_teardown(checked_code_follows_every_change, setup_paired, teardown),
        cmocka_unit_test_setup_teardown(trusted_code_changes_when_told, setup_paired, teardown),
        cmocka_unit_test_setup_teardown(links_are_undone, setup_paired, teardown),
        cmocka_unit_test_setup_teardown(changes_cost_the_same, setup_paired, teardown),
        cmocka_unit_test_setup_teardown(a_full_cache_begins_anew, setup_paired, teardown),
        cmocka_unit_test_setup_teardown(threads_wait_for_a_reset, setup_paired, teardown),
        cmocka_unit_test_setup_teardown(threads_share_a_cache, setup_paired, teardown),
        cmocka_unit_test_setup_teardown(flags_behind_a_jump_change, setup_leads, teardown),
        cmocka_unit_test_setup_teardown(flags_behind_a_checked_jump, setup_leads, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Who runs when in a shadow that has all threads: decided by the seed and the shadow's number
 * alone, and by the rules of futexes. Threads are states without code; the test plays the engine,
 * and lets each do what it wants. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/carrier/shadow/shadow.h"
#include "runtime/carrier/shadow/shadow_barrier.h"
#include "runtime/carrier/shadow/shadow_threads.h"
#include "runtime/carrier/shadow/shadow_vectors.h"
#include "runtime/thread.h"

enum { OTHERS = 7, FIRST = 100, STEPS = 400 };

/* ---- what the scheduler stands on ---- */

struct rt rt;
struct shadow_self shadow_self;
static struct barrier_place places[OTHERS];
static struct rt_thread rebuilt[OTHERS];
static ucontext_t contexts[OTHERS];
static uint64_t flushes;
static jmp_buf at_end;
static enum shadow_end ended;

const struct barrier_place *shadow_barrier_places(uint32_t *count)
{
    *count = OTHERS;
    return places;
}

bool shadow_vectors_begin_as(const void *frame)
{
    return !frame;
}

void *shadow_vectors_area_as(void)
{
    static char area;
    return &area;
}

void shadow_vectors_save(void *area)
{
    (void)area;
}

void shadow_vectors_load(const void *area)
{
    (void)area;
}

void engine_flush_as(struct engine_thread *t, bool ends)
{
    (void)t;
    flushes += ends;
}

_Noreturn void shadow_end_as(enum shadow_end why)
{
    ended = why;
    longjmp(at_end, 1);
}

_Noreturn void shadow_call_ends_as(const struct engine_thread *t, enum shadow_end why)
{
    (void)t;
    shadow_end_as(why);
}

enum shadow_file shadow_file_of(uint64_t fd)
{
    return fd == 3 || fd == 4 ? FILE_PIPE : FILE_REGULAR;
}

uint32_t shadow_file_flags(uint64_t fd)
{
    return fd == 4 ? O_NONBLOCK : 0;
}

void shadow_call_done(struct engine_thread *t, long result)
{
    t->gpr[ENGINE_RAX] = (uint64_t)result;
}

/* ---- a shadow ---- */

const struct shadow_settings *shadow_settings;
static struct engine_thread engine;
static uint64_t fs;
static struct spool_shadows sums;
static struct spool_seat seat = {.verdict = VERDICT_WHOLE};

/* The interrupted thread is FIRST; of the others the last one sleeps in a read, and can never
 * run. */
static void begin(uint64_t seed, uint64_t number)
{
    static struct shadow_settings settings;
    static ucontext_t interrupted;
    const struct shadow_start start = {
        .context = &interrupted, .seat = &seat, .tid = FIRST, .number = number, .whole = true};
    settings = (struct shadow_settings){.flags = SHADOW_THREADS, .seed = seed};
    shadow_settings = &settings;
    syscall(SYS_arch_prctl, 0x1003 /* ARCH_GET_FS */, &fs);
    for (int i = 0; i < OTHERS; i++) {
        contexts[i].uc_mcontext.gregs[REG_RIP] = 0x1000 + i;
        rebuilt[i].carrier.barrier =
            (struct rt_barrier){.joined = 1, .context = &contexts[i], .fs = fs};
        places[i] = (struct barrier_place){.thread = &rebuilt[i], .tid = FIRST + 1 + i,
                                           .stopped = i < OTHERS - 1, .call = SYS_read};
    }
    memset(&engine, 0, sizeof engine);
    shadow_self = (struct shadow_self){.tid = FIRST, .record = &sums};
    sums = (struct spool_shadows){0};
    flushes = 0;
    assert_true(shadow_threads_begin_as(&start));
}

struct step {
    int32_t tid;
    uint64_t turn;
};

/* What a run is made of: how long each turn is, and who has it. */
static void record(struct step *steps)
{
    for (int i = 0; i < STEPS; i++) {
        steps[i].turn = shadow_threads_turn(UINT64_MAX);
        shadow_threads_next_as(&engine);
        steps[i].tid = shadow_self.tid;
    }
}

static void test_same_seed(void **state)
{
    (void)state;
    static struct step first[STEPS], again[STEPS], other[STEPS];
    bool seen[OTHERS + 1] = {false};
    begin(7, 3);
    record(first);
    assert_true(flushes > STEPS / 2); /* a tool sees each turn for itself */
    begin(7, 3);
    record(again);
    assert_memory_equal(first, again, sizeof first);
    begin(8, 3);
    record(other);
    assert_memory_not_equal(first, other, sizeof first);
    begin(7, 4);
    record(other);
    assert_memory_not_equal(first, other, sizeof first);
    for (int i = 0; i < STEPS; i++) {
        assert_in_range(first[i].tid, FIRST, FIRST + OTHERS);
        assert_in_range(first[i].turn, 1 << 15, 3 << 15);
        seen[first[i].tid - FIRST] = true;
    }
    for (int i = 0; i <= OTHERS; i++)
        assert_int_equal(seen[i], i < OTHERS); /* all but the one without registers */
}

/* ---- with system calls ---- */

static uint32_t word;

static bool calls(uint64_t number, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    engine.gpr[ENGINE_RAX] = number;
    engine.gpr[ENGINE_RDI] = a;
    engine.gpr[ENGINE_RSI] = b;
    engine.gpr[ENGINE_RDX] = c;
    engine.gpr[ENGINE_R10] = d;
    return shadow_threads_call_as(&engine);
}

/* Whoever runs waits, wakes one, yields or goes on until its turn is over, as its own number
 * says. */
static void record_calls(struct step *steps)
{
    uint64_t at = (uint64_t)&word;
    for (int i = 0; i < STEPS; i++) {
        uint64_t x = ((uint64_t)i * 2654435761u ^ (uint64_t)shadow_self.tid) % 8;
        if (x < 2 && i + 1 < STEPS)
            assert_true(calls(SYS_futex, at, FUTEX_WAIT_PRIVATE, 0, (uint64_t)"limit"));
        else if (x < 5)
            assert_true(calls(SYS_futex, at, FUTEX_WAKE_PRIVATE, 1 + x % 2, 0));
        else if (x == 5)
            calls(SYS_sched_yield, 0, 0, 0, 0);
        else
            shadow_threads_next_as(&engine);
        steps[i] = (struct step){shadow_self.tid, engine.gpr[ENGINE_RAX]};
    }
}

static void test_same_calls(void **state)
{
    (void)state;
    static struct step first[STEPS], again[STEPS], other[STEPS];
    begin(1, 0);
    record_calls(first);
    begin(1, 0);
    record_calls(again);
    assert_memory_equal(first, again, sizeof first);
    begin(2, 0);
    record_calls(other);
    assert_memory_not_equal(first, other, sizeof first);
}

/* Who has waited longest is woken first; where all wait without a limit the shadow ends, and is
 * said to wait. */
static void test_order(void **state)
{
    (void)state;
    int32_t waited[OTHERS] = {0};
    begin(5, 0);
    for (int i = 0; i < OTHERS - 1; i++) {
        waited[i] = shadow_self.tid;
        assert_true(calls(SYS_futex, (uint64_t)&word, FUTEX_WAIT_PRIVATE, 0, 0));
    }
    for (int i = 0; i < 2; i++) {
        struct shadow_thread *next = shadow_threads_waiter((uint64_t)&word, UINT32_MAX);
        assert_int_equal(next->tid, waited[i]);
        assert_true(calls(SYS_futex, (uint64_t)&word, FUTEX_WAKE_PRIVATE, 1, 0));
        assert_int_equal(engine.gpr[ENGINE_RAX], 1);
    }
    if (!setjmp(at_end)) {
        for (int i = 0; i < OTHERS; i++)
            calls(SYS_futex, (uint64_t)&word, FUTEX_WAIT_PRIVATE, 0, 0);
        fail_msg("all wait, and the shadow goes on");
    }
    assert_int_equal(ended, END_WAIT);
}

/* Who waits for input sleeps while others run; calls that do not wait are left to the table. */
static void test_input(void **state)
{
    (void)state;
    const struct timespec none = {0, 0};
    begin(3, 0);
    int32_t self = shadow_self.tid;
    assert_false(calls(SYS_read, 4, 0, 0, 0)); /* O_NONBLOCK */
    assert_false(calls(SYS_read, 5, 0, 0, 0)); /* a file */
    assert_false(calls(SYS_poll, 0, 0, 0, 0));
    assert_false(calls(SYS_epoll_wait, 9, 0, 1, 0));
    assert_false(calls(SYS_ppoll, 0, 0, (uint64_t)&none, 0));
    assert_false(calls(SYS_recvfrom, 3, 0, 0, MSG_DONTWAIT));
    assert_false(calls(SYS_wait4, UINT64_MAX, 0, WNOHANG, 0));
    assert_int_equal(shadow_self.tid, self);
    assert_true(calls(SYS_read, 3, 0, 0, 0));
    assert_int_not_equal(shadow_self.tid, self);
    for (int i = 0; i < 100; i++) {
        shadow_threads_next_as(&engine);
        assert_int_not_equal(shadow_self.tid, self);
    }
    assert_true(calls(SYS_poll, 0, 0, (uint64_t)-1, 0));
    assert_true(calls(SYS_epoll_wait, 9, 0, 1, 100));
    assert_true(calls(SYS_rt_sigtimedwait, 0, 0, 0, 0));
    assert_true(calls(SYS_pause, 0, 0, 0, 0));
    assert_true(calls(SYS_futex, (uint64_t)&word, FUTEX_WAIT_PRIVATE, 0, (uint64_t)"limit"));
    assert_null(shadow_threads_waiter(0, UINT32_MAX)); /* no futex wakes them */
    self = shadow_self.tid;
    assert_true(calls(SYS_accept, 3, 0, 0, 0)); /* now only the time limit is left */
    assert_int_not_equal(shadow_self.tid, self);
    assert_int_equal((int64_t)engine.gpr[ENGINE_RAX], -ETIMEDOUT);
    assert_false(calls(SYS_accept, 3, 0, 0, 0)); /* nobody: the table ends the shadow */
    shadow_threads_figures(&sums);
    assert_int_equal(sums.fell_asleep, 6);
    assert_int_equal(sums.asleep_in[SYS_read], 1);
    assert_int_equal(sums.asleep, 1);
}

/* A copy that may be of two moments does not begin. */
static void test_torn(void **state)
{
    (void)state;
    seat.verdict = VERDICT_TORN;
    if (!setjmp(at_end)) {
        begin(1, 0);
        fail_msg("it has begun");
    }
    seat.verdict = VERDICT_WHOLE;
    assert_int_equal(ended, END_TORN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_seed), cmocka_unit_test(test_same_calls),
        cmocka_unit_test(test_order), cmocka_unit_test(test_input), cmocka_unit_test(test_torn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

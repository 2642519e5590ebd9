/* Rows for functions without CFI (code.h), and walks by them, compared with the truth at every
 * instruction: functions of code_functions.S run under single-step, and the caller has noted where
 * its frame ends and what rbp is. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <cmocka.h>

#include "self_index.h"
#include "sigsafe/key.h"
#include "unwind/compile.h"
#include "unwind/table.h"

uint64_t code_call(void (*function)(void)); /* rbp afterwards */
extern uint64_t code_rbp, code_cfa;
extern void code_returned(void); /* where functions return to */
void code_callee(void);

#define FUNCTION(name) extern void code_##name(void), code_##name##_end(void);
#define PARTLY(name)                                                                               \
    FUNCTION(name) extern void code_##name##_unknown_lo(void), code_##name##_unknown_hi(void);
FUNCTION(kernel)
FUNCTION(pushes)
FUNCTION(leaf)
FUNCTION(frame_pointer)
FUNCTION(variable)
PARTLY(realigned)
PARTLY(disagree)
FUNCTION(tail)
PARTLY(table)
FUNCTION(inside)
FUNCTION(calls)
PARTLY(popped)
FUNCTION(enters)
PARTLY(entered)
FUNCTION(outer)
extern void code_call_end(void);

static struct self_index self;
static const struct unwind_image *image;
static const struct unwind_table *table;

/* What the current function's steps showed. */
static struct {
    uint64_t lo, hi, unknown_lo, unknown_hi;
    unsigned right, wrong, missing, unexpected, rbp_lost, walks, ended, astray;
    uint64_t first_bad;
} now;

static void bad(unsigned *count, uint64_t pc)
{
    if (!now.first_bad)
        now.first_bad = pc - now.lo;
    ++*count;
}

static void check(const struct unwind_regs *regs, uint32_t rule)
{
    uint64_t pc = regs->r[UNWIND_RIP], rbp = regs->r[UNWIND_RBP];
    uint64_t cfa = regs->r[rule_code_register(rule)] + 8 * (uint64_t)rule_code_offset(rule);
    if (rule_slot(rule) == RULE_SLOT_LOST)
        now.rbp_lost++;
    else if (rule_slot(rule))
        memcpy(&rbp, (const void *)(cfa - 8 * (uint64_t)rule_slot(rule)), 8);
    bool lost = rule_slot(rule) == RULE_SLOT_LOST;
    if (cfa == code_cfa && (lost || rbp == code_rbp))
        now.right++;
    else
        bad(&now.wrong, pc);
}

/* Rows end a walk, or lead it to the caller; never elsewhere. */
static void check_walk(const struct unwind_regs *regs, bool unknown)
{
    enum { FRAMES = 64 };
    static struct unwind_thread thread;
    static struct unwind_frame frames[FRAMES];
    const uint64_t caller = key_make(image->number, (uint64_t)code_returned - 1 - image->bias);
    struct unwind_result walk = unwind_walk_as(&thread, self.index, regs, frames, FRAMES);
    uint32_t i = 0;
    while (i < walk.frames && (frames[i].key & ~KEY_GUESSED) != caller)
        i++;
    now.walks++;
    if (walk.truncation == TRUNC_NONE && i < walk.frames &&
        (i == 0 || frames[i - 1].cfa == code_cfa))
        return;
    if (unknown && walk.truncation == TRUNC_NO_CFI && walk.frames == 1)
        now.ended++;
    else
        bad(&now.astray, regs->r[UNWIND_RIP]);
}

static void on_step(int number, siginfo_t *info, void *context)
{
    struct unwind_regs regs = self_regs(context);
    uint64_t pc = regs.r[UNWIND_RIP];
    (void)number, (void)info;
    if (pc >= (uint64_t)code_call && pc < (uint64_t)code_call_end)
        return;
    check_walk(&regs, pc >= now.unknown_lo && pc < now.unknown_hi);
    if (pc < now.lo || pc >= now.hi)
        return;
    uint32_t rule = unwind_table_find_as(table, table->size, pc - image->bias);
    bool unknown = pc >= now.unknown_lo && pc < now.unknown_hi;
    if (rule_kind(rule) != RULE_CODE)
        unknown ? (void)now.right++ : bad(&now.missing, pc);
    else if (unknown)
        bad(&now.unexpected, pc);
    else
        check(&regs, rule);
}

static void step(void (*function)(void), void (*lo)(void), void (*hi)(void),
                 void (*unknown_lo)(void), void (*unknown_hi)(void))
{
    memset(&now, 0, sizeof now);
    now.unknown_lo = (uint64_t)unknown_lo;
    now.unknown_hi = (uint64_t)unknown_hi;
    now.hi = (uint64_t)hi;
    now.lo = (uint64_t)lo;
    uint64_t rbp = code_call(function);
    assert_int_equal(rbp, code_rbp);
    unsigned bad_ones = now.wrong + now.missing + now.unexpected + now.astray;
    if (bad_ones)
        print_error("%u wrong, %u missing, %u not to be known, %u walks astray; first at +%#lx\n",
                    now.wrong, now.missing, now.unexpected, now.astray,
                    (unsigned long)now.first_bad);
    assert_int_equal(bad_ones, 0);
    assert_true(now.walks > 1);
}

#define STEP(name) step(code_##name, code_##name, code_##name##_end, NULL, NULL)
#define STEP_PARTLY(name)                                                                          \
    step(code_##name, code_##name, code_##name##_end, code_##name##_unknown_lo,                    \
         code_##name##_unknown_hi)
#define WALK(name) step(code_##name, NULL, NULL, NULL, NULL)

static void known(void **state)
{
    (void)state;
    STEP(kernel);
    assert_int_equal(now.rbp_lost, 0);
    STEP(pushes);
    assert_int_equal(now.rbp_lost, 0);
    STEP(leaf);
    STEP(frame_pointer);
    STEP(variable);
    STEP(tail);
    STEP(outer);
}

static void partly_known(void **state)
{
    (void)state;
    STEP_PARTLY(realigned);
    STEP_PARTLY(disagree);
    STEP_PARTLY(table);
    STEP_PARTLY(popped);
    STEP_PARTLY(entered);
    step(code_enters, code_enters, code_enters_end, code_entered_unknown_lo,
         code_entered_unknown_hi);
    /* there is no row, but reading on from where it stands tells (ahead.h) */
    assert_int_equal(now.ended, 0);
}

/* With a use for rbx, so that it is saved. */
__attribute__((noinline)) void code_callee(void)
{
    __asm__ volatile("xor %%ebx, %%ebx" ::: "rbx", "memory");
}

/* From what these functions call, or from a subroutine in them. */
static void further(void **state)
{
    (void)state;
    STEP(calls);
    WALK(inside);
}

static uint32_t rule_at(uint64_t pc)
{
    return unwind_table_find_as(table, table->size, pc - image->bias);
}

/* Inside a subroutine the CFA is the subroutine's, and when it has returned rbp is only where it
 * was saved. */
static void subroutines(void **state)
{
    const uint64_t lo = (uint64_t)code_inside, hi = (uint64_t)code_inside_end;
    const uint32_t rsp = UNWIND_RSP << RULE_CODE_SHIFT;
    (void)state;
    /* push, push, sub, call, nop: 1, 1, 4, 5 bytes */
    assert_int_equal(rule_at(lo + 6), rule_make(RULE_CODE, 2, rsp | 6));
    assert_int_equal(rule_at(lo + 11), rule_make(RULE_CODE, 2, rsp | 6));
    /* ..., push rbp, nop, pop rbp, ret */
    assert_int_equal(rule_at(hi - 1), rule_make(RULE_CODE, RULE_SLOT_LOST, rsp | 1));
    assert_int_equal(rule_at(hi - 2), rule_make(RULE_CODE, RULE_SLOT_LOST, rsp | 2));
    assert_int_equal(rule_kind(rule_at(hi)), RULE_NONE);
}

static void with_cfi(void **state)
{
    (void)state;
    assert_int_equal(rule_kind(rule_at((uint64_t)with_cfi)), RULE_RSP);
    assert_true(table->code_rows > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known),
        cmocka_unit_test(partly_known),
        cmocka_unit_test(further),
        cmocka_unit_test(subroutines),
        cmocka_unit_test(with_cfi),
    };
    struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    void *block;
    size_t size;
    struct err e = {0};
    self = self_index_build(true);
    image = unwind_index_find_as(self.index, (uint64_t)code_call);
    if (!image || !unwind_compile_file("/proc/self/exe", NULL, 0, &block, &size, &e))
        return 1;
    table = block;
    sigaction(SIGTRAP, &action, NULL);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(block);
    self_index_free(&self);
    return failed;
}

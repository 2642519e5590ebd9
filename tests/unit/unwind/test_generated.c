/* Walks from code in no image (ahead.h), compared with the truth at every instruction: the
 * functions of generated_functions.S run under single-step from memory that they were copied to. A
 * stack of calls, kept by looking at the instructions that run, is the truth. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "self_index.h"
#include "sigsafe/key.h"
#include "unwind/ahead.h"
#include "x86/insn.h"

extern const uint8_t generated_lo[], generated_hi[], generated_called[], generated_returned[];
extern const uint8_t generated_interpreter_jump[];
uint64_t generated_call(const void *function, void *first, void *second); /* rbp afterwards */

#define FUNCTION(name) extern const uint8_t generated_##name[];
#define PARTLY(name)                                                                               \
    FUNCTION(name)                                                                                 \
    extern const uint8_t generated_##name##_unknown_lo[], generated_##name##_unknown_hi[];
FUNCTION(leaf)
FUNCTION(pushes)
FUNCTION(frame_pointer)
FUNCTION(compiled)
PARTLY(realigned)
FUNCTION(leave)
PARTLY(table)
FUNCTION(tail)
PARTLY(pushed)
PARTLY(argument)
FUNCTION(switched)
PARTLY(interpreter)
FUNCTION(last)

enum { DEPTH_MAX = 32, FRAMES = 128, AREA = 1 << 16, PAGE = 4096 };

static struct self_index self;
static struct unwind_thread thread;
static uint8_t *copy; /* of generated_lo */
static uint8_t area[AREA] __attribute__((aligned(64))); /* another stack */
static uint64_t old_stack;

static struct {
    uint64_t unknown_lo, unknown_hi;
    struct {
        uint64_t slot, caller;
    } call[DEPTH_MAX];
    int depth;
    bool call_next; /* the instruction that runs next is a call */
    unsigned steps, right, ended, wrong;
    uint64_t first_wrong;
} now;

static const uint8_t *copied(const uint8_t *function)
{
    return copy + (function - generated_lo);
}

static uint64_t key_at(uint64_t pc)
{
    const struct unwind_image *image = unwind_index_find_as(self.index, pc);
    return image ? key_make(image->number, pc - image->bias) : key_make(0, pc);
}

/* How many frames of the walk are as they should be, of depth + 1. */
static int agreeing(const struct unwind_frame *frames, uint32_t count, uint64_t pc)
{
    uint64_t key = key_at(pc);
    for (int i = now.depth, n = 0;; i--, n++) {
        if ((uint32_t)n == count || (frames[n].key & ~KEY_GUESSED) != key)
            return n;
        if (i == 0)
            return n + 1;
        if (frames[n].cfa != now.call[i - 1].slot + 8)
            return n + (frames[n].cfa == 0); /* of the last frame it may be unknown */
        if (!key_guessed(frames[n].key))
            return n;
        key = key_at(now.call[i - 1].caller - 1);
    }
}

static bool unknown(uint64_t key)
{
    uint64_t pc = key & ~KEY_GUESSED;
    return pc >= key_make(0, now.unknown_lo) && pc < key_make(0, now.unknown_hi);
}

static void check(const struct unwind_regs *regs)
{
    static struct unwind_frame frames[FRAMES];
    uint64_t pc = regs->r[UNWIND_RIP];
    struct unwind_result walk = unwind_walk_as(&thread, self.index, regs, frames, FRAMES);
    int good = agreeing(frames, walk.frames, pc);
    if (good == now.depth + 1 && walk.truncation == TRUNC_NONE) {
        now.right++;
    } else if (walk.truncation == TRUNC_NO_CFI && (uint32_t)good == walk.frames &&
               unknown(frames[good - 1].key)) {
        now.ended++;
    } else {
        now.first_wrong = now.wrong++ ? now.first_wrong : pc - (uint64_t)copy;
    }
}

static void on_step(int number, siginfo_t *info, void *context)
{
    struct unwind_regs regs = self_regs(context);
    uint64_t pc = regs.r[UNWIND_RIP], rsp = regs.r[UNWIND_RSP];
    struct x86_insn insn;
    (void)number, (void)info;
    bool inside = pc >= (uint64_t)copy && pc < (uint64_t)copied(generated_hi);
    if (now.call_next) {
        now.call[now.depth].slot = rsp;
        memcpy(&now.call[now.depth++].caller, (const void *)rsp, 8);
        now.call_next = false;
    }
    /* then calls made on the first stack are still there */
    bool other = rsp - (uint64_t)area < AREA;
    while (now.depth && now.call[now.depth - 1].slot < rsp &&
           other == (now.call[now.depth - 1].slot - (uint64_t)area < AREA))
        now.depth--;
    /* A return takes what it pops off the stack. */
    if (!other)
        while (now.depth && now.call[now.depth - 1].slot - (uint64_t)area < AREA)
            now.depth--;
    if (pc == (uint64_t)generated_called)
        now.call_next = true;
    if (!inside)
        return;
    now.steps++;
    check(&regs);
    x86_decode_as((const uint8_t *)pc, (uint64_t)copied(generated_hi) - pc, &insn);
    now.call_next = insn.kind == X86_CALL;
    if (pc == (uint64_t)copied(generated_interpreter_jump)) {
        now.call[now.depth].slot = rsp;
        memcpy(&now.call[now.depth++].caller, (const void *)rsp, 8);
    }
}

static void run(const uint8_t *function, const uint8_t *unknown_lo, const uint8_t *unknown_hi)
{
    memset(&now, 0, sizeof now);
    now.unknown_lo = unknown_lo ? (uint64_t)copied(unknown_lo) : 0;
    now.unknown_hi = unknown_hi ? (uint64_t)copied(unknown_hi) : 0;
    assert_int_equal(generated_call(copied(function), area + AREA - 64, &old_stack), 0x5eed);
    if (now.wrong)
        print_error("%u of %u wrong, first at generated_lo + %#lx\n", now.wrong, now.steps,
                    (unsigned long)now.first_wrong);
    assert_int_equal(now.wrong, 0);
    assert_true(now.right > 2);
}

#define RUN(name) run(generated_##name, NULL, NULL)
#define RUN_PARTLY(name)                                                                           \
    run(generated_##name, generated_##name##_unknown_lo, generated_##name##_unknown_hi)

static void frames(void **state)
{
    (void)state;
    RUN(leaf);
    RUN(pushes);
    RUN(frame_pointer);
    RUN(compiled);
    RUN(leave);
    assert_true(now.steps > 60);
    RUN(last);
}

static void ways(void **state)
{
    (void)state;
    RUN_PARTLY(table);
    assert_int_equal(now.ended, 1);
    RUN(tail);
    RUN_PARTLY(realigned);
    RUN_PARTLY(pushed);
    assert_int_equal(now.ended, 2);
    RUN_PARTLY(argument);
    RUN(switched);
    RUN_PARTLY(interpreter);
}

/* Code that was replaced at the same address is read anew. */
static void replaced(void **state)
{
    /* add $0x18, pop rbp, ret */
    static const uint8_t first[] = {0x48, 0x83, 0xc4, 0x18, 0x5d, 0xc3, 0xcc, 0xcc};
    static const uint8_t second[] = {0x48, 0x83, 0xc4, 0x28, 0xc3, 0xcc, 0xcc, 0xcc};
    static uint8_t code[64] __attribute__((aligned(16)));
    struct unwind_memory memory;
    struct unwind_ahead found;
    (void)state;
    unwind_memory_init_as(&memory, &thread, (uint64_t)&memory);
    memcpy(code, first, sizeof first);
    for (int twice = 0; twice < 2; twice++) {
        assert_true(ahead_find_as(&memory, (uint64_t)code, true, &found));
        assert_true(found.cfa.kind == AHEAD_REGISTER && found.cfa.reg == UNWIND_RSP &&
                    found.cfa.plus == 0x28);
        assert_true(found.rbp.kind == AHEAD_WORD && found.rbp.at == 0x18 && found.rbp.plus == 0);
    }
    memcpy(code, second, sizeof second);
    assert_true(ahead_find_as(&memory, (uint64_t)code, true, &found));
    assert_true(found.cfa.plus == 0x30 && found.rbp.kind == AHEAD_REGISTER &&
                found.rbp.reg == UNWIND_RBP);
    /* not readable */
    assert_false(ahead_find_as(&memory, (uint64_t)copied(generated_hi), true, &found));
}

/* What does not end is left. */
static void endless(void **state)
{
    enum { LONG = 1 << 14 };
    static uint8_t code[LONG];
    struct unwind_memory memory;
    struct unwind_ahead found;
    (void)state;
    unwind_memory_init_as(&memory, &thread, (uint64_t)&memory);
    memset(code, 0x90, LONG);
    code[LONG - 1] = 0xc3;
    assert_false(ahead_find_as(&memory, (uint64_t)code, true, &found));
    code[AHEAD_INSTRUCTIONS - 1] = 0xc3;
    assert_true(ahead_find_as(&memory, (uint64_t)code + 1, true, &found));
    memcpy(code, "\x74\xfe\xeb\xfc", 4); /* je to itself, jmp to it */
    assert_false(ahead_find_as(&memory, (uint64_t)code, true, &found));
}

/* Functions that take off the stack as many words as a register says, and then return. */
static void moved_returns(void **state)
{
    /* mov %rbp,%rsp; pop %rbp; pop %r10; lea (%rsp,%rcx,8),%rsp; push %r10; ret */
    static const uint8_t code[64] __attribute__((aligned(16))) = {
        0x48, 0x89, 0xec, 0x5d, 0x41, 0x5a, 0x48, 0x8d, 0x24, 0xcc, 0x41, 0x52, 0xc3};
    enum { POP_RBP = 3, POP = 4, LEA = 6 };
    struct unwind_memory memory;
    struct unwind_ahead found;
    (void)state;
    unwind_memory_init_as(&memory, &thread, (uint64_t)&memory);
    assert_true(ahead_find_as(&memory, (uint64_t)code + POP_RBP, true, &found));
    assert_true(found.cfa.kind == AHEAD_REGISTER && found.cfa.reg == UNWIND_RSP &&
                found.cfa.plus == 16);
    assert_true(found.rbp.kind == AHEAD_WORD && found.rbp.at == 0 && !found.keeps_rbp);
    assert_true(ahead_find_as(&memory, (uint64_t)code + POP, true, &found));
    assert_true(found.cfa.plus == 8 && found.keeps_rbp);
    /* The address is in a register: nothing tells where it was, but rbp is the caller's. */
    assert_false(ahead_find_as(&memory, (uint64_t)code + LEA, true, &found));
    assert_true(found.keeps_rbp);
}

/* Functions that are about to make a frame by rbp, however far they are with that. */
static void entering(void **state)
{
    /* mov -8(%rcx),%rbx; test $1,(%rbx); je 1f; jmp *%r10; 1: push %rbp; mov %rsp,%rbp; push %rsi;
     * ret; mov %rsp,%rbp; pop %rbp; push %rbp; mov %rsp,%rbp */
    static const uint8_t code[64] __attribute__((aligned(16))) = {
        0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x48, 0x8b, 0x59, 0xf8,
        0xf6, 0x03, 0x01, 0x74, 0x03, 0x41, 0xff, 0xe2, 0x55, 0x48, 0x89, 0xe5,
        0x56, 0xc3, 0x48, 0x89, 0xe5, 0x5d, 0x55, 0x48, 0x89, 0xe5};
    enum { TEST = 12, JE = 15, JUMP = 17, PUSH = 20, MOVE = 21, MADE = 24, RETURN = 25,
          OTHER_MOVE = 26, POP = 29 };
    static const uint8_t before[] = {8, TEST, JE, PUSH},
                         not [] = {JUMP, MADE, RETURN, OTHER_MOVE, POP};
    struct unwind_memory memory;
    uint64_t depth;
    (void)state;
    unwind_memory_init_as(&memory, &thread, (uint64_t)&memory);
    for (unsigned i = 0; i < sizeof before; i++)
        assert_true(ahead_enters_as(&memory, (uint64_t)code + before[i], &depth) && depth == 0);
    assert_true(ahead_enters_as(&memory, (uint64_t)code + MOVE, &depth) && depth == 8);
    for (unsigned i = 0; i < sizeof not; i++)
        assert_false(ahead_enters_as(&memory, (uint64_t)code + not[i], &depth));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames),
        cmocka_unit_test(ways),
        cmocka_unit_test(replaced),
        cmocka_unit_test(endless),
        cmocka_unit_test(entering),
        cmocka_unit_test(moved_returns),
    };
    struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    size_t size = (size_t)(generated_hi - generated_lo), pages = (size + PAGE - 1) / PAGE * PAGE;
    uint8_t *memory =
        mmap(NULL, pages + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    copy = memory + pages - size;
    memcpy(copy, generated_lo, size);
    if (mprotect(memory, pages, PROT_READ | PROT_EXEC) || mprotect(memory + pages, PAGE, PROT_NONE))
        return 1;
    self = self_index_build(true);
    thread.stack_lo = (uint64_t)area;
    thread.stack_hi = (uint64_t)area + AREA;
    sigaction(SIGTRAP, &action, NULL);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    self_index_free(&self);
    munmap(memory, pages + PAGE);
    return failed;
}

/* Walks over made-up stacks: every way in which one can end, and every way to find a caller. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "self_index.h"
#include "synthetic.h"
#include "unwind/step.h"
#include "unwind/table.h"

/* The pretended image: 64 kB of real memory without meaning, so that code bytes can be read. */
enum {
    IMAGE_SIZE = 1 << 16, FUNCTION = 0x100, WORDS = 512, FRAMES = 64, NUMBER = 7,
    PLAIN = 0,     /* CFA = rsp + 16 */
    FRAMED = 1,    /* CFA = rbp + 16, rbp at CFA - 16 */
    BY_RBX = 2,    /* CFA = rbx + 16 */
    SAVES_RBX = 3, /* CFA = rsp + 24, rbx at CFA - 16 */
    ROOT = 4,      /* return address undefined */
    STUCK = 5,     /* the caller's rsp and rip are its own */
    BROKEN = 6,    /* restore_state with nothing remembered */
    UNCOVERED = 7  /* no FDE */
};

static uint8_t *code;
static struct synthetic frames_info;
static struct unwind_index *pretended; /* of one image */
static struct unwind_thread thread;
static uint64_t stack[WORDS];
static struct unwind_frame frames[FRAMES];

static struct unwind_index *index_new(uint32_t images)
{
    struct unwind_index *index = calloc(1, sizeof *index + images * sizeof index->image[0]);
    index->generation = 1;
    index->count = images;
    return index;
}

/* An address in the middle of a function. */
static uint64_t in(int function)
{
    return (uint64_t)code + (uint64_t)(function * FUNCTION + 0x40);
}

static int set_up(void **state)
{
    (void)state;
    code = mmap(NULL, IMAGE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    static const struct {
        const uint8_t *bytes;
        size_t size;
    } programs[] = {
        {BYTES("\x0e\x10")},
        {BYTES("\x0c\x06\x10\x86\x02")},
        {BYTES("\x0c\x03\x10")},
        {BYTES("\x0e\x18\x83\x02")},
        {BYTES("\x07\x10")},
        {BYTES("\x0f\x02\x77\x00\x16\x10\x02\x80\x00\x14\x07\x00")},
        {BYTES("\x0b")},
    };
    synthetic_start(&frames_info, "zR", USUAL_CIE);
    for (int i = 0; i < UNCOVERED; i++)
        synthetic_fde(&frames_info, (uint64_t)code + (uint64_t)(i * FUNCTION), FUNCTION,
                      programs[i].bytes, programs[i].size);
    pretended = index_new(1);
    pretended->image[0] =
        synthetic_image(&frames_info, (uint64_t)code, (uint64_t)code + IMAGE_SIZE);
    pretended->image[0].number = NUMBER;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(pretended);
    return munmap(code, IMAGE_SIZE);
}

static int prepare(void **state)
{
    (void)state;
    memset(stack, 0, sizeof stack);
    memset(&thread, 0, sizeof thread);
    memset(code, 0x90, IMAGE_SIZE);
    pretended->image[0].hidden = false;
    thread.stack_lo = (uint64_t)stack;
    thread.stack_hi = (uint64_t)(stack + WORDS);
    return 0;
}

static struct unwind_regs at(uint64_t pc, uint64_t *rsp)
{
    struct unwind_regs regs = {{0}};
    regs.r[UNWIND_RIP] = pc;
    regs.r[UNWIND_RSP] = (uint64_t)rsp;
    return regs;
}

static struct unwind_result walk(const struct unwind_regs *regs)
{
    return unwind_walk_as(&thread, pretended, regs, frames, FRAMES);
}

static void check(struct unwind_result r, uint32_t count, enum truncation truncation)
{
    assert_int_equal(r.frames, count);
    assert_int_equal(r.truncation, truncation);
}

static uint64_t key(uint64_t pc)
{
    return key_make(NUMBER, pc - (uint64_t)code);
}

static void ordinary(void **state)
{
    (void)state;
    stack[1] = in(FRAMED); /* PLAIN's return address */
    stack[10] = 0x1234;    /* FRAMED's saved rbp */
    stack[11] = in(ROOT);
    struct unwind_regs regs = at(in(PLAIN), stack);
    regs.r[UNWIND_RBP] = (uint64_t)&stack[10];
    for (int warm = 0; warm < 3; warm++) {
        check(walk(&regs), 3, TRUNC_NONE);
        assert_true(frames[0].key == key(in(PLAIN)));
        assert_true(frames[1].key == key(in(FRAMED) - 1));
        assert_true(frames[2].key == key(in(ROOT) - 1));
        assert_true(frames[0].cfa == (uint64_t)&stack[2]);
        assert_true(frames[1].cfa == (uint64_t)&stack[12]);
        assert_true(frames[2].cfa == (uint64_t)&stack[13]);
    }
}

static void cleared_return_address_is_a_root(void **state)
{
    (void)state;
    struct unwind_regs regs = at(in(PLAIN), stack);
    check(walk(&regs), 1, TRUNC_NONE);
    stack[1] = in(PLAIN);
    for (int warm = 0; warm < 3; warm++)
        check(walk(&regs), 2, TRUNC_NONE);
}

/* rbx is saved in a frame that the fast walk takes without following rbx: it must begin again. */
static void registers_that_the_fast_walk_does_not_follow(void **state)
{
    (void)state;
    stack[1] = in(SAVES_RBX);
    stack[3] = (uint64_t)&stack[20]; /* rbx of BY_RBX, saved by SAVES_RBX */
    stack[4] = in(BY_RBX);
    stack[21] = in(ROOT);
    struct unwind_regs regs = at(in(PLAIN), stack);
    regs.r[UNWIND_RBX] = 0xdead;
    for (int warm = 0; warm < 3; warm++) {
        check(walk(&regs), 4, TRUNC_NONE);
        assert_true(frames[2].key == key(in(BY_RBX) - 1));
        assert_true(frames[2].cfa == (uint64_t)&stack[22]);
    }
}

static void hidden_frames(void **state)
{
    (void)state;
    pretended->image[0].hidden = true;
    pretended->generation++;
    stack[1] = in(PLAIN);
    stack[3] = in(ROOT);
    struct unwind_regs regs = at(in(PLAIN), stack);
    for (int warm = 0; warm < 3; warm++)
        check(walk(&regs), 0, TRUNC_NONE);
}

static void depth(void **state)
{
    (void)state;
    for (int i = 0; i < WORDS / 2 - 1; i++)
        stack[2 * i + 1] = in(PLAIN);
    struct unwind_regs regs = at(in(PLAIN), stack);
    for (int warm = 0; warm < 3; warm++)
        check(walk(&regs), FRAMES, TRUNC_DEPTH);
    /* A stack that has exactly as many frames as are wanted is complete. */
    memset(stack + 2 * (FRAMES - 2) + 1, 0, sizeof *stack * 8);
    stack[2 * (FRAMES - 2) + 1] = in(ROOT);
    for (int warm = 0; warm < 3; warm++)
        check(walk(&regs), FRAMES, TRUNC_NONE);
}

static void bad_stacks(void **state)
{
    (void)state;
    /* The frame ends beyond the stack: what is there can be read or not, both are tried. */
    uint8_t *edge = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(edge + 4096, 4096);
    struct unwind_regs regs = at(in(PLAIN), (uint64_t *)(void *)(edge + 4096 - 8));
    check(walk(&regs), 1, TRUNC_BAD_STACK);
    regs.r[UNWIND_RSP] = (uint64_t)edge + 4096 - 13; /* across the edge, misaligned */
    check(walk(&regs), 1, TRUNC_BAD_STACK);
    thread.stack_lo = (uint64_t)edge;
    thread.stack_hi = (uint64_t)edge + 4096;
    regs.r[UNWIND_RSP] = (uint64_t)edge + 4096 - 8;
    check(walk(&regs), 1, TRUNC_BAD_STACK);
    static const uint64_t absurd[] = {0, 8, 4096, UINT64_C(1) << 47, UINT64_C(0x8000000000000000),
                                      UINT64_MAX - 7, UINT64_MAX - 15, UINT64_MAX - 23, UINT64_MAX,
                                      UINT64_C(0xffffffffff600000)};
    for (size_t i = 0; i < sizeof absurd / sizeof absurd[0]; i++) {
        regs = at(in(FRAMED), stack);
        regs.r[UNWIND_RBP] = absurd[i];
        struct unwind_result r = walk(&regs);
        assert_int_equal(r.frames, 1);
        assert_true(r.truncation == TRUNC_BAD_STACK || r.truncation == TRUNC_NO_PROGRESS);
        regs = at(in(PLAIN), (uint64_t *)absurd[i]);
        r = walk(&regs);
        assert_int_equal(r.frames, 1);
        assert_true(r.truncation == TRUNC_BAD_STACK || r.truncation == TRUNC_NO_PROGRESS);
    }
    munmap(edge, 4096);
}

static void no_progress(void **state)
{
    (void)state;
    struct unwind_regs regs = at(in(FRAMED), &stack[50]);
    stack[10] = (uint64_t)&stack[10];
    stack[11] = in(FRAMED);
    regs.r[UNWIND_RBP] = (uint64_t)&stack[10]; /* below rsp */
    check(walk(&regs), 1, TRUNC_NO_PROGRESS);
    regs.r[UNWIND_RSP] = (uint64_t)stack; /* a chain that bites its tail */
    for (int warm = 0; warm < 3; warm++)
        check(walk(&regs), 2, TRUNC_NO_PROGRESS);
    regs = at(in(STUCK), stack);
    check(walk(&regs), 1, TRUNC_NO_PROGRESS);
}

static void bad_information(void **state)
{
    (void)state;
    struct unwind_regs regs = at(in(BROKEN), stack);
    check(walk(&regs), 1, TRUNC_BAD_CFI);
    regs = at(in(UNCOVERED), stack);
    check(walk(&regs), 1, TRUNC_NO_CFI);
    assert_false(walk(&regs).images_missing);
}

/* Code without CFI, just called: the return address is on top of the stack. */
static void guess_by_the_top_of_the_stack(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
        bool call;
    } calls[] = {
#define CALL(literal, is) {literal, sizeof(literal) - 1, is}
        CALL("\xe8\x01\x02\x03\x04", true),
        CALL("\xff\xd0", true),
        CALL("\x41\xff\xd3", true),
        CALL("\xff\x10", true),
        CALL("\xff\x14\xc8", true),
        CALL("\xff\x50\x08", true),
        CALL("\xff\x54\x24\x08", true),
        CALL("\xff\x15\x01\x02\x03\x04", true),
        CALL("\xff\x93\x01\x02\x03\x04", true),
        CALL("\xff\x94\x24\x01\x02\x03\x04", true),
        CALL("\xff\x14\x25\x01\x02\x03\x04", true),
        CALL("\xe9\x01\x02\x03\x04", false), /* jmp */
        CALL("\xff\xe0", false),             /* jmp *%rax */
        CALL("\xff\x15\x01\x02", false),     /* cut short */
        CALL("\x90\x90\x90\x90\x90", false),
    };
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        memset(code, 0x90, IMAGE_SIZE);
        memcpy((uint8_t *)in(ROOT) - calls[i].size, calls[i].bytes, calls[i].size);
        stack[0] = in(ROOT);
        struct unwind_regs regs = at(in(UNCOVERED), stack);
        struct unwind_result r = walk(&regs);
        if (r.frames != (calls[i].call ? 2u : 1u))
            fail_msg("call form %zu: %u frames", i, r.frames);
        assert_int_equal(r.truncation, calls[i].call ? TRUNC_NONE : TRUNC_NO_CFI);
        assert_int_equal(r.guessed, calls[i].call);
        assert_int_equal(key_guessed(frames[0].key), calls[i].call);
        if (calls[i].call)
            assert_true(frames[0].cfa == (uint64_t)&stack[1] && !key_guessed(frames[1].key));
    }
}

/* Generated code, in no image, that keeps frame pointers and calls itself. */
static void guess_by_frame_pointers(void **state)
{
    (void)state;
    uint8_t *jit = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(jit + 64 - 5, "\xe8\x00\x00\x00\x00", 5);
    memcpy((uint8_t *)in(PLAIN) - 2, "\xff\xd0", 2);
    stack[4] = (uint64_t)&stack[8];
    stack[5] = (uint64_t)jit + 64;
    stack[8] = (uint64_t)&stack[30];
    stack[9] = in(PLAIN);
    stack[11] = in(ROOT);
    struct unwind_regs regs = at((uint64_t)jit + 128, stack);
    regs.r[UNWIND_RBP] = (uint64_t)&stack[4];
    struct unwind_result r = walk(&regs);
    check(r, 4, TRUNC_NONE);
    assert_true(r.guessed && r.images_missing && r.missing_pc == (uint64_t)jit + 128);
    assert_true(frames[0].key == (key_make(0, (uint64_t)jit + 128) | KEY_GUESSED));
    assert_true(frames[1].key == (key_make(0, (uint64_t)jit + 63) | KEY_GUESSED));
    assert_true(frames[2].key == key(in(PLAIN) - 1));
    /* The outermost frame of a goroutine: no frame pointer before it, and it returns to where
     * nobody called it. */
    stack[8] = 0;
    stack[9] = in(UNCOVERED);
    r = walk(&regs);
    check(r, 2, TRUNC_NONE);
    assert_true(r.guessed && frames[1].cfa == (uint64_t)&stack[10]);
    /* in no image, and behind nothing: an address there might end like a call */
    stack[9] = (uint64_t)&stack[20];
    check(walk(&regs), 2, TRUNC_NO_CFI);
    stack[8] = (uint64_t)&stack[30];
    stack[9] = in(UNCOVERED);
    check(walk(&regs), 2, TRUNC_NO_CFI);
    stack[9] = in(PLAIN);
    /* Not a frame pointer: misaligned, or below the stack pointer. */
    regs.r[UNWIND_RBP] = (uint64_t)&stack[4] + 4;
    check(walk(&regs), 1, TRUNC_NO_CFI);
    regs.r[UNWIND_RBP] = (uint64_t)&stack[4];
    regs.r[UNWIND_RSP] = (uint64_t)&stack[6];
    check(walk(&regs), 1, TRUNC_NO_CFI);
    munmap(jit, 4096);
}

/* What makecontext and its like make: a function that returns to where nobody has called it. */
static void planted_return_address_is_a_root(void **state)
{
    (void)state;
    uint64_t start = in(UNCOVERED);
    stack[1] = start;
    struct unwind_regs regs = at(in(PLAIN), stack);
    struct unwind_result r = walk(&regs);
    check(r, 2, TRUNC_NONE);
    assert_true(!r.guessed && frames[1].key == key(start) && frames[1].ra == 0);
    /* it has been called: its own caller is not known */
    memcpy((uint8_t *)start - 2, "\xff\xd0", 2);
    check(walk(&regs), 2, TRUNC_NO_CFI);
    assert_true(frames[1].key == key(start - 1));
    stack[1] = (uint64_t)&stack[20]; /* in no image: generated code, where anything may be a call */
    check(walk(&regs), 2, TRUNC_NO_CFI);
    stack[1] = in(BROKEN); /* information that is wrong is not none */
    check(walk(&regs), 2, TRUNC_BAD_CFI);
    memset((uint8_t *)start - 2, 0x90, 2);
    regs = at(start, stack); /* interrupted there: not a return address */
    check(walk(&regs), 1, TRUNC_NO_CFI);
}

/* A restorer that is known by its instructions only, right behind a function that has an FDE. */
static void restorer_without_information(void **state)
{
    (void)state;
    uint64_t restorer = (uint64_t)code + UNCOVERED * FUNCTION;
    memcpy((uint8_t *)restorer, "\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05", 9);
    ucontext_t *context = (ucontext_t *)(void *)&stack[2];
    context->uc_mcontext.gregs[REG_RSP] = (greg_t)&stack[300];
    context->uc_mcontext.gregs[REG_RIP] = (greg_t)((uint64_t)code + PLAIN * FUNCTION);
    stack[1] = restorer;
    stack[301] = in(ROOT);
    struct unwind_regs regs = at(in(PLAIN), stack);
    for (int warm = 0; warm < 3; warm++) {
        check(walk(&regs), 4, TRUNC_NONE);
        assert_true(frames[1].key == key(restorer - 1));
        assert_true(frames[2].key == key((uint64_t)code + PLAIN * FUNCTION)); /* exact */
        assert_true(frames[2].cfa == (uint64_t)&stack[302]);
    }
}

static void vsyscall(void **state)
{
    (void)state;
    stack[0] = in(ROOT);
    struct unwind_regs regs = at(UINT64_C(0xffffffffff600000), stack);
    struct unwind_result r = walk(&regs);
    check(r, 2, TRUNC_NONE);
    assert_false(r.images_missing);
}

static void finding_images(void **state)
{
    static const uint64_t ranges[][2] = {{100, 200}, {200, 300}, {400, 500}};
    static const int want[][2] = {{0, -1},  {99, -1},  {100, 0}, {199, 0}, {200, 1},
                                  {299, 1}, {300, -1}, {400, 2}, {499, 2}, {500, -1}};
    (void)state;
    struct unwind_index *index = index_new(3);
    for (int k = 0; k < 3; k++) {
        index->image[k].lo = ranges[k][0];
        index->image[k].hi = ranges[k][1];
    }
    for (size_t k = 0; k < sizeof want / sizeof want[0]; k++) {
        const struct unwind_image *got = unwind_index_find_as(index, (uint64_t)want[k][0]);
        assert_ptr_equal(got, want[k][1] < 0 ? NULL : &index->image[want[k][1]]);
    }
    index->count = 0;
    assert_null(unwind_index_find_as(index, 150));
    free(index);
}

/* Signals of this very process: on an alternate stack, and in a thread, bounds unknown. */
static struct {
    struct self_index self;
    struct unwind_thread thread;
    struct unwind_result result;
    struct unwind_frame frames[FRAMES];
} real;

static void on_signal(int number, siginfo_t *info, void *ucontext)
{
    struct unwind_regs regs = self_regs(ucontext);
    (void)number;
    (void)info;
    real.result = unwind_walk_as(&real.thread, real.self.index, &regs, real.frames, FRAMES);
}

static void raise_within(int number)
{
    (void)number;
    raise(SIGUSR2);
}

static void *raiser(void *argument)
{
    raise(SIGUSR1);
    return argument;
}

static void real_signals(void **state)
{
    static uint8_t alternate[65536];
    stack_t ss = {.ss_sp = alternate, .ss_size = sizeof alternate};
    struct sigaction outer = {.sa_handler = raise_within, .sa_flags = SA_ONSTACK};
    struct sigaction inner = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    (void)state;
    sigaltstack(&ss, NULL);
    sigaction(SIGUSR1, &outer, NULL);
    sigaction(SIGUSR2, &inner, NULL);
    for (int tables = 0; tables < 2; tables++) {
        real.self = self_index_build(tables == 1);
        raise(SIGUSR1); /* main ─> raise ─> signal ─> alternate stack: raise_within ─> raise */
        assert_int_equal(real.result.truncation, TRUNC_NONE);
        assert_true(real.result.frames >= 9 && !real.result.guessed);
        int switches = 0;
        for (uint32_t i = 1; i < real.result.frames; i++) {
            bool was = real.frames[i - 1].cfa - (uint64_t)alternate <= sizeof alternate;
            bool is = real.frames[i].cfa - (uint64_t)alternate <= sizeof alternate;
            switches += was != is;
        }
        assert_int_equal(switches, 1);
        pthread_t t;
        pthread_create(&t, NULL, raiser, NULL);
        pthread_join(t, NULL);
        assert_int_equal(real.result.truncation, TRUNC_NONE);
        assert_true(real.result.frames >= 8 && !real.result.images_missing);
        self_index_free(&real.self);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(ordinary, prepare),
        cmocka_unit_test_setup(cleared_return_address_is_a_root, prepare),
        cmocka_unit_test_setup(registers_that_the_fast_walk_does_not_follow, prepare),
        cmocka_unit_test_setup(hidden_frames, prepare),
        cmocka_unit_test_setup(depth, prepare),
        cmocka_unit_test_setup(bad_stacks, prepare),
        cmocka_unit_test_setup(no_progress, prepare),
        cmocka_unit_test_setup(bad_information, prepare),
        cmocka_unit_test_setup(guess_by_the_top_of_the_stack, prepare),
        cmocka_unit_test_setup(guess_by_frame_pointers, prepare),
        cmocka_unit_test_setup(planted_return_address_is_a_root, prepare),
        cmocka_unit_test_setup(restorer_without_information, prepare),
        cmocka_unit_test_setup(vsyscall, prepare),
        cmocka_unit_test(finding_images),
        cmocka_unit_test(real_signals),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

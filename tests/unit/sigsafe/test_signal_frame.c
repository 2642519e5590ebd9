/* What the kernel writes for a signal: its size by the processor's state, which is given here, and
 * where it is moved to. */
#include "sigsafe/signal_frame.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { AVX = 2, MASKS = 5, UPPER = 6, MORE = 7, KEYS = 9, TILE_SHAPES = 17, TILES = 18, BASIC = 3 };
enum { AROUND = 64 + 440 + 16 + 8 };

static const struct signal_frame_component components[SIGNAL_FRAME_COMPONENTS] = {
    [AVX] = {576, 256}, [MASKS] = {1088, 64}, [UPPER] = {1152, 512}, [MORE] = {1664, 1024},
    [KEYS] = {2688, 8}, [TILE_SHAPES] = {2752, 64}, [TILES] = {2816, 8192}};

static uint64_t bit(unsigned i)
{
    return UINT64_C(1) << i;
}

/* As on processors without xsave, with AVX, with AVX-512, and with AMX, permitted or not. */
static void sizes(void **state)
{
    (void)state;
    const uint64_t avx = BASIC | bit(AVX),
                   wide = avx | bit(MASKS) | bit(UPPER) | bit(MORE) | bit(KEYS);
    assert_int_equal(signal_frame_size(0, components), 512 + AROUND);
    assert_int_equal(signal_frame_size(BASIC, components), 576 + 4 + AROUND);
    assert_int_equal(signal_frame_size(avx, components), 832 + 4 + AROUND);
    assert_int_equal(signal_frame_size(wide, components), 2696 + 4 + AROUND);
    assert_int_equal(signal_frame_size(wide | bit(TILE_SHAPES) | bit(TILES), components),
                     11008 + 4 + AROUND);
    assert_true(signal_frame_size(wide, components) + 512 < 8192);
}

static uint64_t frame_bytes;
static stack_t set;

static void measure(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    uint64_t frame = (uint64_t)context - 8;
    const ucontext_t *u = context;
    frame_bytes = (uint64_t)set.ss_sp + set.ss_size - frame;
    /* Where the kernel has put it is where it belongs. */
    assert_int_equal(signal_frame_place(u, &set), frame);
    assert_true(signal_frame_is_on(frame, &set));
}

/* The kernel's own frame is no larger than what was calculated, and no smaller than without
 * alignment. */
static void here(void **state)
{
    (void)state;
    static uint8_t memory[65536];
    struct sigaction action = {.sa_sigaction = measure, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    set = (stack_t){.ss_sp = memory, .ss_size = sizeof memory};
    assert_int_equal(sigaltstack(&set, NULL), 0);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    assert_in_range(frame_bytes, signal_frame_size_here_as() - AROUND + 440,
                    signal_frame_size_here_as());
    set.ss_flags = SS_DISABLE;
    sigaltstack(&set, NULL);
}

static uint8_t from[4096] __attribute__((aligned(64))), to[8192] __attribute__((aligned(64)));

/* A frame as the kernel makes it, with so much state; 0: as without xsave. */
static ucontext_t *frame_make(uint32_t state)
{
    ucontext_t *u = (ucontext_t *)(void *)(from + 64);
    for (unsigned i = 0; i < sizeof from; i++)
        from[i] = (uint8_t)(i * 7);
    u->uc_mcontext.fpregs = (fpregset_t)(void *)(from + 1024);
    const uint32_t software[2] = {state ? 0x46505853 : 0, state};
    memcpy(from + 1024 + 464, software, sizeof software);
    return u;
}

static void moves(void **state)
{
    (void)state;
    const uint32_t sizes[] = {0, 580, 836, 2700};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        ucontext_t *u = frame_make(sizes[i]);
        uint64_t size = sizes[i] ? sizes[i] : 512, sp = (uint64_t)to + sizeof to - 8 * i;
        u->uc_mcontext.gregs[REG_RSP] = (greg_t)(sp + 128);
        uint64_t place = signal_frame_place(u, NULL);
        assert_int_equal(place % 16, 8);
        assert_true(place + 440 + size <= sp && place + 440 + size + 160 > sp);
        memset(to, 0, sizeof to);
        signal_frame_move_as(u, place);
        const ucontext_t *moved = (const ucontext_t *)(place + 8);
        uint64_t vectors = (uint64_t)moved->uc_mcontext.fpregs;
        assert_int_equal(vectors % 64, 0);
        assert_true(vectors >= place + 440 && vectors + size <= sp);
        assert_memory_equal((void *)vectors, from + 1024, size);
        /* siginfo */
        assert_memory_equal((const uint8_t *)moved + 304, (const uint8_t *)u + 304, 128);
        for (uint64_t at = (uint64_t)to; at < place; at++)
            assert_int_equal(*(uint8_t *)at, 0);
    }
}

/* On the alternate stack or not, beside it, and where it is too small. */
static void places(void **state)
{
    (void)state;
    ucontext_t *u = frame_make(836);
    stack_t stack = {.ss_sp = to, .ss_size = 4096};
    uint64_t top = (uint64_t)to + 4096;
    u->uc_mcontext.gregs[REG_RSP] = (greg_t)((uint64_t)from + 2048);
    assert_in_range(signal_frame_place(u, &stack), top - 1400, top - 440 - 836);
    u->uc_mcontext.gregs[REG_RSP] = (greg_t)(top - 1024);
    assert_in_range(signal_frame_place(u, &stack), top - 1024 - 128 - 1400,
                    top - 1024 - 128 - 440 - 836);
    assert_in_range(signal_frame_place(u, NULL), top - 1024 - 128 - 1400,
                    top - 1024 - 128 - 440 - 836);
    u->uc_mcontext.gregs[REG_RSP] = (greg_t)((uint64_t)to + 1024); /* nested, and no room */
    assert_int_equal(signal_frame_place(u, &stack), 0);
    stack.ss_size = 1024;
    u->uc_mcontext.gregs[REG_RSP] = (greg_t)((uint64_t)from + 2048);
    assert_int_equal(signal_frame_place(u, &stack), 0);
    stack.ss_flags = SS_DISABLE;
    assert_in_range(signal_frame_place(u, &stack), (uint64_t)from, (uint64_t)from + 2048);
    assert_false(signal_frame_is_on((uint64_t)to + 8, &stack));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sizes), cmocka_unit_test(here),
                                       cmocka_unit_test(moves), cmocka_unit_test(places)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

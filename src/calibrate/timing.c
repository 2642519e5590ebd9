#include "calibrate/timing.h"

#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <x86intrin.h>

enum {
    CODE_SIZE = 1 << 18, CHAIN_BEGIN = CODE_SIZE - 4096, CHAIN = 256, CHAIN_ROUNDS = 40,
    BATCH = 12, BATCHES_MOST = 60, STABLE = 3, ONCE = 200,
    HUGE = 2 << 20,
};
static const double near_enough = 0.003; /* of one: batches agree */

typedef void (*timed_function)(uint64_t rounds, void *data);

static const uint8_t saved[] = {X86_RBX, X86_RBP, X86_R12, X86_R13, X86_R14, X86_R15};

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- code ---- */

static uint8_t *open_loop(struct emit *e)
{
    for (unsigned i = 0; i < sizeof saved; i++)
        emit_push_r(e, saved[i]);
    emit_mov_rr(e, 8, TIMING_DATA, X86_RSI);
    emit_mov_rr(e, 8, TIMING_ROUNDS, X86_RDI);
    while ((uintptr_t)e->at % 64)
        emit_nop(e, 1);
    return e->at;
}

static void close_loop(struct emit *e, const uint8_t *loop)
{
    emit_alu_ri(e, EMIT_SUB, 8, TIMING_ROUNDS, 1);
    emit_jcc(e, EMIT_NZ, (uint64_t)(uintptr_t)loop);
    if (__builtin_cpu_supports("avx")) /* vzeroupper: halves that are in use slow SSE down */
        emit_copy(e, (const uint8_t[]){0xc5, 0xf8, 0x77}, 3);
    for (unsigned i = sizeof saved; i > 0; i--)
        emit_pop_r(e, saved[i - 1]);
    emit_op(e, EMIT_RET);
}

static bool protect(struct timing *t, int how)
{
    t->failed |= mprotect(t->code, CODE_SIZE, how) != 0;
    return !t->failed;
}

static void make_chain(struct timing *t)
{
    struct emit e = {.at = t->code + CHAIN_BEGIN, .end = t->code + CODE_SIZE};
    uint8_t *loop;
    t->chain = (timed_function)(uintptr_t)e.at;
    loop = open_loop(&e);
    for (unsigned i = 0; i < CHAIN; i++)
        emit_alu_rr(&e, EMIT_ADD, 8, X86_RAX, X86_RAX);
    close_loop(&e, loop);
}

bool timing_make(struct timing *t, size_t chase_bytes, double seconds, struct err *e)
{
    *t = (struct timing){.data_size = TIMING_DATA_SIZE + chase_bytes + HUGE};
    t->code = mmap(NULL, CODE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    t->data = mmap(NULL, t->data_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (t->code == MAP_FAILED || t->data == MAP_FAILED)
        return err_set(e, ERR_INTERNAL, "this machine cannot be measured: out of memory");
    madvise(t->data, t->data_size, MADV_HUGEPAGE);
    memset(t->data, 0, t->data_size);
    t->deadline = now_ns() + (uint64_t)(seconds * 1e9);
    make_chain(t);
    if (!protect(t, PROT_READ | PROT_EXEC))
        return err_set(e, ERR_INTERNAL, "this machine cannot be measured: it does not allow "
                                        "generated code (mprotect)");
    return true;
}

void timing_free(struct timing *t)
{
    if (t->code && t->code != MAP_FAILED)
        munmap(t->code, CODE_SIZE);
    if (t->data && t->data != MAP_FAILED)
        munmap(t->data, t->data_size);
}

struct emit *timing_begin(struct timing *t)
{
    protect(t, PROT_READ | PROT_WRITE);
    t->emit = (struct emit){.at = t->code, .end = t->code + CHAIN_BEGIN};
    t->loop = t->failed ? NULL : open_loop(&t->emit);
    return &t->emit;
}

static bool seal(struct timing *t)
{
    if (t->failed)
        return false;
    close_loop(&t->emit, t->loop);
    t->failed |= emit_failed(&t->emit);
    protect(t, PROT_READ | PROT_EXEC);
    return !t->failed;
}

/* ---- time ---- */

static double time_of(const struct timing *t, timed_function f, uint64_t rounds)
{
    _mm_lfence();
    uint64_t begin = __rdtsc();
    _mm_lfence();
    f(rounds, t->data);
    _mm_lfence();
    return (double)(__rdtsc() - begin);
}

static void keep_least(double *least, double value)
{
    if (*least == 0 || value < *least)
        *least = value;
}

/* The least of chain, once and twice: by rounds. */
struct fastest { double chain[2], loop[2]; };

static double quotient(const struct fastest *f, uint32_t rounds, double *cycle)
{
    *cycle = (f->chain[1] - f->chain[0]) / (CHAIN * CHAIN_ROUNDS);
    return (f->loop[1] - f->loop[0]) / rounds / *cycle;
}

double timing_cycle(struct timing *t)
{
    double least[2] = {0};
    for (unsigned i = 0; i < BATCH; i++)
        for (unsigned twice = 0; twice < 2; twice++)
            keep_least(&least[twice], time_of(t, t->chain, CHAIN_ROUNDS * (1 + twice)));
    return (least[1] - least[0]) / (CHAIN * CHAIN_ROUNDS);
}

double timing_end(struct timing *t, uint32_t rounds)
{
    if (!seal(t))
        return 0;
    timed_function loop = (timed_function)(uintptr_t)t->code;
    struct fastest f = {{0}, {0}};
    double last = 0;
    for (unsigned batch = 0, same = 0; batch < BATCHES_MOST && same < STABLE; batch++) {
        for (unsigned i = 0; i < BATCH; i++)
            for (unsigned twice = 0; twice < 2; twice++) {
                keep_least(&f.chain[twice], time_of(t, t->chain, CHAIN_ROUNDS * (1 + twice)));
                keep_least(&f.loop[twice], time_of(t, loop, rounds * (1 + twice)));
            }
        double now = quotient(&f, rounds, &t->cycle);
        same = now > last * (1 - near_enough) && now < last * (1 + near_enough) ? same + 1 : 0;
        last = now;
        if (now_ns() > t->deadline)
            break;
    }
    return last > 0 ? last : 0;
}

double timing_end_after(struct timing *t, uint32_t rounds, void (*before)(void *context),
                        void *context)
{
    if (!seal(t))
        return 0;
    timed_function loop = (timed_function)(uintptr_t)t->code;
    double least = 0;
    for (unsigned i = 0; i < ONCE && (i < BATCH || now_ns() < t->deadline); i++) {
        before(context);
        keep_least(&least, time_of(t, loop, rounds));
    }
    return t->cycle > 0 ? least / t->cycle / rounds : 0;
}

/* Front end, renaming, branches and the window. */
#include "calibrate/measure.h"

#include <string.h>
#include <x86intrin.h>

enum { ROUNDS = 40 };

double measure_nops(struct timing *t, unsigned bytes, unsigned count)
{
    struct emit *e = timing_begin(t);
    for (unsigned i = 0; i < count; i++)
        emit_nop(e, bytes);
    double all = timing_end(t, count > 1000 ? 2 : ROUNDS);
    return all > 0 ? count / all : 0;
}

/* Two pairs of instructions that may be one, and nops: two cycles, or more. */
enum { PAIRS = 2, TIMES = 20 };

static uint32_t fused(double cycles, unsigned width)
{
    return cycles > 0 && cycles < TIMES * (2 + (double)PAIRS / width / 2);
}

uint32_t measure_macro_fusion(struct timing *t, unsigned width)
{
    struct emit *e = timing_begin(t);
    emit_alu_rr(e, EMIT_XOR, 4, X86_RAX, X86_RAX);
    for (unsigned i = 0; i < TIMES; i++)
        for (unsigned pair = 0; pair < PAIRS; pair++) {
            emit_test_rr(e, 4, X86_RAX, X86_RAX);
            emit_jcc(e, EMIT_NZ, emit_here(e) + 6);
            for (unsigned k = 1; k < width; k++)
                emit_nop(e, 3);
        }
    return fused(timing_end(t, ROUNDS), width);
}

uint32_t measure_micro_fusion(struct timing *t, unsigned width)
{
    static const uint8_t to[] = {X86_RAX, X86_RCX};
    struct emit *e = timing_begin(t);
    for (unsigned i = 0; i < TIMES; i++)
        for (unsigned pair = 0; pair < PAIRS; pair++) {
            emit_alu_rm(e, EMIT_ADD, 8, to[pair], emit_at(TIMING_DATA, 0));
            for (unsigned k = 1; k < width; k++)
                emit_nop(e, 3);
        }
    return fused(timing_end(t, ROUNDS), width);
}

/* To and fro between two registers: a cycle each, unless renaming does them. */
uint32_t measure_moves(struct timing *t)
{
    struct emit *e = timing_begin(t);
    for (unsigned i = 0; i < 30; i++) {
        emit_mov_rr(e, 8, X86_RAX, X86_RCX);
        emit_mov_rr(e, 8, X86_RCX, X86_RAX);
    }
    double each = timing_end(t, ROUNDS) / 60;
    return each > 0 && each < 0.8;
}

/* A chain of additions of constants. */
uint32_t measure_adds(struct timing *t)
{
    struct emit *e = timing_begin(t);
    for (unsigned i = 0; i < 60; i++)
        emit_alu_ri(e, EMIT_ADD, 8, X86_RAX, 8);
    double each = timing_end(t, ROUNDS) / 60;
    return each > 0 && each < 0.8;
}

/* ---- mispredictions ---- */

enum { BITS_WORDS = 1 << 10, BITS_OF_WORD = 16 };

/* Other bits each time: predictors come to know thousands of them by heart. */
static void put_bits(void *context)
{
    static uint64_t chance = 1;
    uint64_t *words = context;
    for (unsigned i = 0; i < BITS_WORDS; i++) {
        chance = chance * 6364136223846793005u + 1442695040888963407u;
        words[i] = chance >> 20;
    }
}

static void put_zeros(void *context)
{
    memset(context, 0, BITS_WORDS * 8);
}

/* Branches on bits of words, one after the other; each goes where it would go without it. */
static double branch_on_bits(struct timing *t, void (*put)(void *context))
{
    struct emit *e = timing_begin(t);
    /* words from their end: r15 counts down to 1 */
    emit_mov_rm(e, 8, X86_RBX, emit_indexed(TIMING_DATA, TIMING_ROUNDS, 8, -8));
    for (unsigned i = 0; i < BITS_OF_WORD; i++) {
        emit_shift_ri(e, EMIT_SHR, 8, X86_RBX, 1);
        emit_jcc(e, EMIT_B, emit_here(e) + 6 + 3);
        emit_nop(e, 3);
    }
    return timing_end_after(t, BITS_WORDS, put, t->data) / BITS_OF_WORD;
}

/* Of random bits half are mispredicted. Each takes the penalty, and until the branch has its
 * result: dispatch to issue, shift, branch. */
double measure_misprediction(struct timing *t)
{
    enum { RESOLVED = 3 };
    double predicted = branch_on_bits(t, put_zeros), random = branch_on_bits(t, put_bits);
    put_zeros(t->data);
    return random > predicted ? (random - predicted) * 2 - RESOLVED : 0;
}

/* ---- the window ---- */

static void fill(struct emit *e, enum measure_filler filler, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct emit_mem m = emit_at(TIMING_DATA, (int32_t)(i % 64 * 8));
        if (filler == WINDOW_NOPS)
            emit_nop(e, 1);
        else if (filler == WINDOW_LOADS)
            emit_mov_rm(e, 8, X86_RDX, m);
        else
            emit_mov_mr(e, 8, m, X86_RDX);
    }
}

/* Two chases beside each other, through lines that are in no cache, so many instructions apart. */
enum { CHASE_ROUNDS = 48, CHASE_LINES = 128, CHASE_DISTANCE = 4096 + 64, AT_FIRST = 4096,
       AT_SECOND = 4096 + 64 };

static void put_chases(void *context)
{
    struct timing *t = context;
    uint8_t *first = t->data + TIMING_DATA_SIZE, *second = first;
    for (unsigned i = 0; i < CHASE_LINES / 2; i++)
        second = *(uint8_t **)(void *)second;
    for (unsigned i = 0; i < CHASE_LINES; i++)
        _mm_clflush(first + (size_t)i * CHASE_DISTANCE);
    memcpy(t->data + AT_FIRST, &first, sizeof first);
    memcpy(t->data + AT_SECOND, &second, sizeof second);
    _mm_mfence();
}

static void chase_one(struct emit *e, int32_t at, unsigned reg)
{
    emit_mov_rm(e, 8, reg, emit_at(TIMING_DATA, at));
    emit_mov_rm(e, 8, reg, emit_at(reg, 0));
    emit_mov_mr(e, 8, emit_at(TIMING_DATA, at), reg);
}

static double chase_apart(struct timing *t, enum measure_filler filler, unsigned count)
{
    struct emit *e = timing_begin(t);
    chase_one(e, AT_FIRST, X86_RBX);
    fill(e, filler, count);
    chase_one(e, AT_SECOND, X86_RBP);
    fill(e, filler, count);
    return timing_end_after(t, CHASE_ROUNDS, put_chases, t);
}

/* Both at once take one latency; one after the other two. Where it changes is searched: what
 * is between the first load and the second fills the queue. */
double measure_window(struct timing *t, enum measure_filler filler)
{
    enum { ROB_BESIDES = 3, QUEUE_BESIDES = 2 };
    static const unsigned most[] = {1024, 400, 220};
    unsigned low = 8, high = most[filler];
    measure_make_chase(t, CHASE_LINES * CHASE_DISTANCE, CHASE_DISTANCE);
    double together = chase_apart(t, filler, low), apart = chase_apart(t, filler, high);
    if (apart < together * 1.4)
        return 0;
    while (high - low > 1) {
        unsigned count = (low + high) / 2;
        if (chase_apart(t, filler, count) > (together + apart) / 2)
            high = count;
        else
            low = count;
    }
    return low + (filler == WINDOW_NOPS ? ROB_BESIDES : QUEUE_BESIDES);
}

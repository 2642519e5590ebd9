/* Taken branches that are predicted: how many a cycle, by level of the BTB and by kind. */
#include "calibrate/measure.h"

enum {
    ROUNDS = 40, FEW = 64, MANY = 1536, STEP = 8, DISTANCE = 16,
    TRANSFERS = 48, TRANSFER_DISTANCE = 32,
};

static void fill_up(struct emit *e, uint64_t to)
{
    enum { LONGEST_NOP = 9 };
    while (!emit_failed(e) && emit_here(e) < to) {
        uint64_t left = to - emit_here(e);
        emit_nop(e, left < LONGEST_NOP ? (unsigned)left : LONGEST_NOP);
    }
}

/* Each to the next one; cycles that one takes. */
static double jumps(struct timing *t, unsigned count)
{
    struct emit *e = timing_begin(t);
    for (unsigned i = 0; i < count; i++) {
        uint64_t next = emit_here(e) + DISTANCE;
        emit_jmp(e, next);
        fill_up(e, next);
    }
    return timing_end(t, ROUNDS) / count;
}

/* More jumps in a circle than the first level remembers all take the second level's time. */
struct measured_targets measure_targets(struct timing *t)
{
    double first = jumps(t, FEW), second = jumps(t, MANY);
    double whole = first > 1 ? first : 1;
    unsigned low = FEW, high = MANY;
    if (!(first > 0) || second < whole + 0.5)
        return (struct measured_targets){0};
    while (high - low > STEP) {
        unsigned count = (low + high) / 2;
        if (jumps(t, count) > (first + second) / 2)
            high = count;
        else
            low = count;
    }
    low -= low % STEP;
    return (struct measured_targets){low, second - whole};
}

/* Calls of one function that returns at once, and so many calls at equal distances. */
static double calls(struct timing *t)
{
    struct emit *e = timing_begin(t);
    uint64_t function = emit_here(e) + TRANSFER_DISTANCE / 2;
    uint64_t next = emit_here(e) + TRANSFER_DISTANCE;
    emit_jmp(e, next);
    fill_up(e, function);
    emit_op(e, EMIT_RET);
    for (unsigned i = 0; i < TRANSFERS; i++) {
        fill_up(e, next);
        next += TRANSFER_DISTANCE;
        emit_call(e, function);
    }
    return timing_end(t, ROUNDS) / TRANSFERS;
}

/* Each to the next one, by a register that is written before. */
static double indirect_jumps(struct timing *t)
{
    struct emit *e = timing_begin(t);
    for (unsigned i = 0; i < TRANSFERS; i++) {
        uint64_t next = emit_here(e) + TRANSFER_DISTANCE;
        emit_mov_ri(e, X86_RAX, next);
        emit_jmp_r(e, X86_RAX);
        fill_up(e, next);
    }
    return timing_end(t, ROUNDS) / TRANSFERS;
}

struct measured_bubbles measure_bubbles(struct timing *t)
{
    double jump = jumps(t, TRANSFERS), whole = jump > 1 ? jump : 1;
    return (struct measured_bubbles){calls(t) - 2 * whole, indirect_jumps(t) - whole};
}

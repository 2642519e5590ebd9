/* Instructions: latencies, and how often one can begin. */
#include "calibrate/measure.h"

#include <string.h>

enum {
    ROUNDS = 40, IN_A_ROW = 60,
    /* at TIMING_DATA: 16 bytes of each of the values */
    DOUBLES = 0, SINGLES = 32, DIVISION = 64, DOUBLES_AT_ONCE = 14,
};

/* Registers that a loop may write. */
static const uint8_t general[] = {X86_RAX, X86_RCX, X86_RDX, X86_RBX, X86_RBP, X86_RDI, X86_R8,
                                  X86_R9, X86_R10, X86_R11, X86_R12, X86_R13};
enum { GENERAL = sizeof general, GENERAL_FROM = X86_RSI, VECTOR_FROM = 15, MASK_FROM = 7 };

static unsigned register_of(const struct form *f, unsigned i)
{
    switch (f->values) {
    case FORM_GENERAL: return general[i % GENERAL];
    case FORM_MASKS: return 1 + i % (MASK_FROM - 1);
    default: return i % DOUBLES_AT_ONCE;
    }
}

static unsigned source_of(const struct form *f)
{
    return f->values == FORM_GENERAL ? GENERAL_FROM
           : f->values == FORM_MASKS ? MASK_FROM : VECTOR_FROM;
}

/* Values near 1, with all bits of the fraction in use: no zero, infinity or denormal comes of
 * them in some ten thousand divisions. */
static void set_values(struct timing *t, const struct form *f)
{
    const double doubles[] = {1.2, 1.2, 1 + 0x1p-50, 1 + 0x1p-50};
    const float singles[] = {1.2f, 1.2f, 1.2f, 1.2f, 1 + 0x1p-22f, 1 + 0x1p-22f, 1 + 0x1p-22f,
                             1 + 0x1p-22f};
    int at = f->values == FORM_SINGLES ? SINGLES : DOUBLES;
    memcpy(t->data + DOUBLES, doubles, sizeof doubles);
    memcpy(t->data + SINGLES, singles, sizeof singles);
    for (unsigned i = 0; i < VECTOR_FROM; i++)
        form_load_vector(&t->emit, i, emit_at(TIMING_DATA, at));
    form_load_vector(&t->emit, VECTOR_FROM, emit_at(TIMING_DATA, at + 16));
}

static double repeat(struct timing *t, const struct form *f, unsigned registers)
{
    struct emit *e = timing_begin(t);
    for (unsigned i = 0; i < IN_A_ROW; i++)
        f->emit(e, register_of(f, i % registers), source_of(f));
    return timing_end(t, ROUNDS) / IN_A_ROW;
}

/* The values are loaded by a loop of its own: what a round begins with is what the last left. */
static void load_values(struct timing *t, const struct form *f)
{
    timing_begin(t);
    set_values(t, f);
    timing_end(t, 1);
}

double measure_latency(struct timing *t, const struct form *f)
{
    if (f->values == FORM_DOUBLES || f->values == FORM_SINGLES)
        load_values(t, f);
    return repeat(t, f, 1);
}

double measure_each(struct timing *t, const struct form *f)
{
    if (f->values == FORM_DOUBLES || f->values == FORM_SINGLES)
        load_values(t, f);
    return repeat(t, f, f->values == FORM_GENERAL ? GENERAL : f->values == FORM_MASKS
                            ? MASK_FROM - 1 : DOUBLES_AT_ONCE);
}

/* rdx:rax / rcx, of the same values each time:
 *
 *     chain:  and rax, 0;  or rax, dividend;  and rdx, 0;  div rcx       and, or: two cycles
 *     each:   mov rax, dividend;  xor edx, edx;  div rcx */
static double divide(struct timing *t, unsigned width, bool chain)
{
    enum { TIMES = 8 };
    struct emit *e = timing_begin(t);
    emit_mov_ri(e, X86_RCX, width == 8 ? 0x1234567 : 0x1235);
    emit_mov_ri(e, X86_RSI, width == 8 ? 0x123456789abcdef : 0x12345678);
    for (unsigned i = 0; i < TIMES; i++) {
        if (chain) {
            emit_alu_ri(e, EMIT_AND, 8, X86_RAX, 0);
            emit_alu_rr(e, EMIT_OR, 8, X86_RAX, X86_RSI);
            emit_alu_ri(e, EMIT_AND, 8, X86_RDX, 0);
        } else {
            emit_mov_rr(e, 8, X86_RAX, X86_RSI);
            emit_alu_rr(e, EMIT_XOR, 4, X86_RDX, X86_RDX);
        }
        if (emit_room_(e))
            emit_rm_(e, width, 0xf7, 6, X86_RCX);
    }
    return timing_end(t, ROUNDS) / TIMES - (chain ? 2 : 0);
}

struct measured_division measure_division(struct timing *t, bool wide)
{
    unsigned width = wide ? 8 : 4;
    return (struct measured_division){divide(t, width, true), divide(t, width, false)};
}

double measure_crossing(struct timing *t)
{
    struct emit *e = timing_begin(t);
    for (unsigned i = 0; i < IN_A_ROW; i++) {
        form_to_vector(e, 0, X86_RAX);
        form_from_vector(e, X86_RAX, 0);
    }
    return timing_end(t, ROUNDS) / (2 * IN_A_ROW);
}

double measure_branches(struct timing *t)
{
    struct emit *e = timing_begin(t);
    emit_alu_rr(e, EMIT_XOR, 4, X86_RAX, X86_RAX);
    for (unsigned i = 0; i < IN_A_ROW; i++) {
        emit_jcc(e, EMIT_NZ, emit_here(e) + 6);
        emit_nop(e, 9); /* few branches a line of code */
    }
    double each = timing_end(t, ROUNDS) / IN_A_ROW;
    return each > 0 ? 1 / each : 0;
}

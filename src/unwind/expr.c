#include "unwind/expr.h"

/* DWARF 5, section 7.7.1. */
enum {
    OP_ADDR = 0x03, OP_DEREF = 0x06, OP_CONST1U = 0x08, OP_CONST1S = 0x09, OP_CONST2U = 0x0a,
    OP_CONST2S = 0x0b, OP_CONST4U = 0x0c, OP_CONST4S = 0x0d, OP_CONST8U = 0x0e, OP_CONST8S = 0x0f,
    OP_CONSTU = 0x10, OP_CONSTS = 0x11, OP_DUP = 0x12, OP_DROP = 0x13, OP_OVER = 0x14,
    OP_PICK = 0x15, OP_SWAP = 0x16, OP_ROT = 0x17, OP_ABS = 0x19, OP_AND = 0x1a, OP_DIV = 0x1b,
    OP_MINUS = 0x1c, OP_MOD = 0x1d, OP_MUL = 0x1e, OP_NEG = 0x1f, OP_NOT = 0x20, OP_OR = 0x21,
    OP_PLUS = 0x22, OP_PLUS_UCONST = 0x23, OP_SHL = 0x24, OP_SHR = 0x25, OP_SHRA = 0x26,
    OP_XOR = 0x27, OP_BRA = 0x28, OP_EQ = 0x29, OP_GE = 0x2a, OP_GT = 0x2b, OP_LE = 0x2c,
    OP_LT = 0x2d, OP_NE = 0x2e, OP_SKIP = 0x2f, OP_LIT0 = 0x30, OP_LIT31 = 0x4f, OP_REG0 = 0x50,
    OP_REG31 = 0x6f, OP_BREG0 = 0x70, OP_BREG31 = 0x8f, OP_REGX = 0x90, OP_BREGX = 0x92,
    OP_DEREF_SIZE = 0x94, OP_NOP = 0x96,
};

struct machine {
    struct cursor code;
    const uint8_t *begin;
    const struct unwind_regs *regs;
    uint32_t known;
    struct unwind_memory *memory;
    unsigned depth;
    enum cfi_status status; /* sticky */
    uint64_t stack[EXPR_STACK];
};

static void fail(struct machine *m, enum cfi_status status)
{
    if (m->status == CFI_OK)
        m->status = status;
}

static void push(struct machine *m, uint64_t value)
{
    if (m->depth == EXPR_STACK) {
        fail(m, CFI_BAD);
        return;
    }
    m->stack[m->depth++] = value;
}

static uint64_t pop(struct machine *m)
{
    if (m->depth == 0) {
        fail(m, CFI_BAD);
        return 0;
    }
    return m->stack[--m->depth];
}

/* The element `index` below the top. */
static uint64_t peek(struct machine *m, unsigned index)
{
    if (index >= m->depth) {
        fail(m, CFI_BAD);
        return 0;
    }
    return m->stack[m->depth - 1 - index];
}

static uint64_t register_value(struct machine *m, uint64_t number)
{
    if (number >= UNWIND_REGISTERS) {
        fail(m, CFI_BAD);
        return 0;
    }
    if (!(m->known >> number & 1))
        fail(m, CFI_UNKNOWN);
    return m->regs->r[number];
}

static uint64_t sign_extend(uint64_t value, unsigned bytes)
{
    unsigned shift = 64 - 8 * bytes;
    return (uint64_t)((int64_t)(value << shift) >> shift);
}

static void dereference(struct machine *m, unsigned bytes)
{
    if (bytes == 0 || bytes > 8) {
        fail(m, CFI_BAD);
        return;
    }
    uint64_t address = pop(m), value = 0;
    if (m->status != CFI_OK)
        return;
    if (!unwind_memory_read_as(m->memory, address, &value)) {
        fail(m, CFI_UNREADABLE);
        return;
    }
    push(m, bytes == 8 ? value : value & ((UINT64_C(1) << 8 * bytes) - 1));
}

static void jump(struct machine *m, int64_t distance)
{
    if (distance < m->begin - m->code.at || distance > m->code.end - m->code.at) {
        fail(m, CFI_BAD);
        return;
    }
    m->code.at += distance;
}

static uint64_t shift(uint8_t op, uint64_t a, uint64_t b)
{
    if (op == OP_SHRA)
        return (uint64_t)((int64_t)a >> (b > 63 ? 63 : b));
    if (b > 63)
        return 0;
    return op == OP_SHL ? a << b : a >> b;
}

/* Signed division and remainder, defined for every input (DW_OP_div is signed, DW_OP_mod is
 * not). */
static uint64_t divide(struct machine *m, uint8_t op, uint64_t a, uint64_t b)
{
    if (b == 0) {
        fail(m, CFI_BAD);
        return 0;
    }
    if (op == OP_MOD)
        return a % b;
    if (b == UINT64_MAX) /* INT64_MIN / -1 would trap */
        return 0 - a;
    return (uint64_t)((int64_t)a / (int64_t)b);
}

static void binary(struct machine *m, uint8_t op)
{
    uint64_t b = pop(m), a = pop(m);
    int64_t x = (int64_t)a, y = (int64_t)b;
    switch (op) {
    case OP_AND: push(m, a & b); return;
    case OP_DIV:
    case OP_MOD: push(m, divide(m, op, a, b)); return;
    case OP_MINUS: push(m, a - b); return;
    case OP_MUL: push(m, a * b); return;
    case OP_OR: push(m, a | b); return;
    case OP_PLUS: push(m, a + b); return;
    case OP_SHL:
    case OP_SHR:
    case OP_SHRA: push(m, shift(op, a, b)); return;
    case OP_XOR: push(m, a ^ b); return;
    case OP_EQ: push(m, x == y); return;
    case OP_GE: push(m, x >= y); return;
    case OP_GT: push(m, x > y); return;
    case OP_LE: push(m, x <= y); return;
    case OP_LT: push(m, x < y); return;
    default: push(m, x != y); return;
    }
}

static void unary(struct machine *m, uint8_t op)
{
    uint64_t a = pop(m);
    switch (op) {
    case OP_ABS: push(m, (int64_t)a < 0 ? 0 - a : a); return;
    case OP_NEG: push(m, 0 - a); return;
    case OP_NOT: push(m, ~a); return;
    default: push(m, a + cursor_uleb(&m->code)); return; /* OP_PLUS_UCONST */
    }
}

/* DW_OP_const1u to DW_OP_const8s: pairs of unsigned and signed, sizes doubling. */
static void constant(struct machine *m, uint8_t op)
{
    unsigned bytes = 1u << (op - OP_CONST1U) / 2;
    uint64_t value = cursor_fixed(&m->code, bytes);
    push(m, (op - OP_CONST1U) & 1 ? sign_extend(value, bytes) : value);
}

static void shuffle(struct machine *m, uint8_t op)
{
    switch (op) {
    case OP_DUP: push(m, peek(m, 0)); return;
    case OP_DROP: (void)pop(m); return;
    case OP_OVER: push(m, peek(m, 1)); return;
    case OP_PICK: push(m, peek(m, cursor_u8(&m->code))); return;
    default: break;
    }
    uint64_t top = pop(m), second = pop(m);
    if (op == OP_SWAP) {
        push(m, top);
        push(m, second);
        return;
    }
    uint64_t third = pop(m); /* OP_ROT: the top becomes the third */
    push(m, top);
    push(m, third);
    push(m, second);
}

static void step(struct machine *m)
{
    uint8_t op = cursor_u8(&m->code);
    if (op >= OP_LIT0 && op <= OP_LIT31) {
        push(m, (uint64_t)(op - OP_LIT0));
    } else if (op >= OP_REG0 && op <= OP_REG31) {
        push(m, register_value(m, (uint64_t)(op - OP_REG0)));
    } else if (op >= OP_BREG0 && op <= OP_BREG31) {
        uint64_t base = register_value(m, (uint64_t)(op - OP_BREG0));
        push(m, base + (uint64_t)cursor_sleb(&m->code));
    } else if (op >= OP_CONST1U && op <= OP_CONST8S) {
        constant(m, op);
    } else if (op >= OP_DUP && op <= OP_ROT) {
        shuffle(m, op);
    } else if (op == OP_ABS || op == OP_NEG || op == OP_NOT || op == OP_PLUS_UCONST) {
        unary(m, op);
    } else if ((op >= OP_AND && op <= OP_XOR) || (op >= OP_EQ && op <= OP_NE)) {
        binary(m, op);
    } else {
        switch (op) {
        case OP_ADDR: push(m, cursor_fixed(&m->code, 8)); break;
        case OP_DEREF: dereference(m, 8); break;
        case OP_DEREF_SIZE: dereference(m, cursor_u8(&m->code)); break;
        case OP_CONSTU: push(m, cursor_uleb(&m->code)); break;
        case OP_CONSTS: push(m, (uint64_t)cursor_sleb(&m->code)); break;
        case OP_REGX: push(m, register_value(m, cursor_uleb(&m->code))); break;
        case OP_BREGX: {
            uint64_t base = register_value(m, cursor_uleb(&m->code));
            push(m, base + (uint64_t)cursor_sleb(&m->code));
            break;
        }
        case OP_SKIP: jump(m, (int16_t)cursor_fixed(&m->code, 2)); break;
        case OP_BRA: {
            int16_t distance = (int16_t)cursor_fixed(&m->code, 2);
            if (pop(m) != 0)
                jump(m, distance);
            break;
        }
        case OP_NOP: break;
        default: fail(m, CFI_BAD); break;
        }
    }
    if (m->code.bad)
        fail(m, CFI_BAD);
}

enum cfi_status expr_evaluate_as(struct cursor code, const struct unwind_regs *regs, uint32_t known,
                                 struct unwind_memory *memory, const uint64_t *initial,
                                 uint64_t *result)
{
    struct machine m;
    m.code = code;
    m.begin = code.at;
    m.regs = regs;
    m.known = known;
    m.memory = memory;
    m.depth = 0;
    m.status = CFI_OK;
    if (initial)
        push(&m, *initial);
    for (unsigned steps = 0; m.code.at != m.code.end && m.status == CFI_OK; steps++) {
        if (steps == EXPR_STEPS)
            return CFI_BAD;
        step(&m);
    }
    *result = pop(&m);
    return m.status;
}

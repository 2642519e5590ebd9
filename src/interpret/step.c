#include <string.h>

#include "interpret/internal.h"

enum { STACK_NEAR = 16384 }; /* what the stack pointer moves by inside one stack */

void interpret_begin(struct interpret_state *s)
{
    memset(s, 0, sizeof *s);
    for (unsigned i = 0; i < 16; i++)
        s->reg[i].origin = (struct interpret_origin){(uint8_t)i, INTERPRET_NOWHERE, 1, true, 0};
    s->fs.origin = s->gs.origin =
        (struct interpret_origin){INTERPRET_SEGMENT, INTERPRET_NOWHERE, 1, true, 0};
}

void interpret_register(struct interpret_state *s, unsigned reg, uint64_t value)
{
    s->reg[reg & 15].bits = value;
    s->reg[reg & 15].known = UINT64_MAX;
}

void interpret_flags(struct interpret_state *s, uint64_t rflags)
{
    s->rflags = value_known(rflags);
}

/* ---- operands by opcode ---- */

static unsigned stack_size(const struct x86_insn *i)
{
    return i->traits & X86_PREFIX66 && !(i->traits & X86_REX_W) ? 2 : 8;
}

/* xor eax, eax; sub eax, eax: known whatever eax is. */
static bool is_itself(const struct step *t)
{
    return !(t->insn->access & X86_MEM) && t->insn->reg == t->insn->base;
}

static void alu_into(const struct step *t, enum alu op, bool to_rm, struct interpret_value a,
                     struct interpret_value b)
{
    struct interpret_value r = alu(t, op, a, b, t->size);
    if (op == ALU_CMP)
        return;
    if (to_rm)
        rm_write(t, r, t->size);
    else
        register_write(t, t->insn->reg, r, t->size);
}

/* 00 to 3D: op rm, reg; op reg, rm; op al, imm. */
static void alu_execute(const struct step *t)
{
    unsigned form = t->insn->opcode & 7;
    enum alu op = (enum alu)(t->insn->opcode >> 3 & 7);
    if (form >= 4) {
        struct interpret_value r =
            alu(t, op, register_read(t, X86_RAX, t->size),
                constant(immediate(t, 0, t->size == 8 ? 4 : t->size)), t->size);
        if (op != ALU_CMP)
            register_set(t->s, X86_RAX, r, t->size);
        return;
    }
    struct interpret_value rm = rm_read(t, t->size), reg = register_read(t, t->insn->reg, t->size);
    if (is_itself(t) && (op == ALU_XOR || op == ALU_SUB || op == ALU_SBB || op == ALU_CMP))
        rm = reg = constant(0);
    bool to_rm = form < 2;
    alu_into(t, op, to_rm, to_rm ? rm : reg, to_rm ? reg : rm);
}

/* 80, 81, 83 */
static void alu_immediate(const struct step *t)
{
    unsigned bytes = t->insn->opcode == 0x81 ? (t->size == 2 ? 2 : 4) : 1;
    alu_into(t, (enum alu)(t->insn->reg & 7), true, rm_read(t, t->size),
             constant(immediate(t, 0, bytes)));
}

static void shift_execute(const struct step *t)
{
    unsigned group = t->insn->opcode & 0xfe;
    struct interpret_value count = group == 0xc0   ? constant(immediate(t, 0, 1))
                                   : group == 0xd0 ? constant(1)
                                                   : register_read(t, X86_RCX, 1);
    struct interpret_value r = shift(t, t->insn->reg & 7, rm_read(t, t->size), count, t->size);
    rm_write(t, r, t->size);
}

/* ---- control ---- */

enum interpret_end branch(struct step *t, int taken)
{
    if (taken < 0)
        return INTERPRET_BRANCH;
    if (taken)
        t->next += (uint64_t)(int64_t)x86_relative_as(t->insn, t->code);
    return INTERPRET_NEXT;
}

static enum interpret_end go(struct step *t, struct interpret_value to)
{
    if (to.known != UINT64_MAX)
        return INTERPRET_TARGET;
    t->next = to.bits;
    return INTERPRET_NEXT;
}

/* loopne, loope, loop, jrcxz */
static enum interpret_end loop(struct step *t)
{
    unsigned bytes = t->insn->traits & X86_ADDRESS32 ? 4 : 8;
    struct interpret_value c = register_read(t, X86_RCX, bytes), one = constant(UINT64_MAX);
    const struct interpret_value *f = &t->s->rflags;
    if (!interpret_is_known(&c, bytes))
        return INTERPRET_BRANCH;
    if (t->insn->opcode == 0xe3)
        return branch(t, c.bits == 0);
    uint64_t left = (c.bits + one.bits) & mask_of(bytes);
    if (left && t->insn->opcode != 0xe2 && !(f->known & FLAG_ZF))
        return INTERPRET_BRANCH;
    bool zero = f->bits & FLAG_ZF;
    bool goes = left && (t->insn->opcode == 0xe2 || zero == (t->insn->opcode == 0xe1));
    register_set(t->s, X86_RCX, constant(left), bytes);
    return branch(t, goes);
}

static enum interpret_end call(struct step *t)
{
    push(t, constant(t->next), 8);
    t->next += (uint64_t)(int64_t)x86_relative_as(t->insn, t->code);
    return INTERPRET_NEXT;
}

static enum interpret_end call_indirect(struct step *t)
{
    struct interpret_value to = rm_read(t, 8);
    if (to.known != UINT64_MAX)
        return INTERPRET_TARGET;
    push(t, constant(t->next), 8);
    return go(t, to);
}

static enum interpret_end ret(struct step *t)
{
    struct interpret_value *rsp = &t->s->reg[X86_RSP];
    struct interpret_value to = memory_read(t, rsp, 8);
    if (to.known != UINT64_MAX)
        return INTERPRET_TARGET;
    pop(t, 8);
    if (t->insn->imm_size) {
        uint64_t more = immediate(t, 0, 2) & 0xffff;
        *rsp = rsp->known == UINT64_MAX ? constant(rsp->bits + more) : value_unknown();
    }
    return go(t, to);
}

/* FF /0 to /6, FE /0 and /1. */
static enum interpret_end group_ff(struct step *t)
{
    unsigned digit = t->insn->reg & 7;
    switch (digit) {
    case 0:
    case 1:
        rm_write(t, alu_step(t, digit ? ALU_SUB : ALU_ADD, rm_read(t, t->size), t->size), t->size);
        return INTERPRET_NEXT;
    case 2:
        return call_indirect(t);
    case 4:
        return go(t, rm_read(t, 8));
    case 6:
        push(t, rm_read(t, stack_size(t->insn)), stack_size(t->insn));
        return INTERPRET_NEXT;
    default:
        return INTERPRET_UNSUPPORTED;
    }
}

/* F6, F7 */
static enum interpret_end group_f7(struct step *t)
{
    struct interpret_value v = rm_read(t, t->size), r;
    unsigned digit = t->insn->reg & 7;
    switch (digit) {
    case 0:
    case 1:
        alu_test(t, v, constant(immediate(t, 0, t->size == 8 ? 4 : t->size)), t->size);
        return INTERPRET_NEXT;
    case 2:
        r = value_of(~v.bits & mask_of(t->size), v.known);
        rm_write(t, r, t->size);
        return INTERPRET_NEXT;
    case 3:
        rm_write(t, alu_negate(t, v, t->size), t->size);
        return INTERPRET_NEXT;
    default:
        return multiply_divide(t, digit, v, t->size) ? INTERPRET_NEXT : INTERPRET_TRAP;
    }
}

/* ---- moves ---- */

static void exchange(const struct step *t, unsigned size)
{
    struct interpret_value rm = rm_read(t, size), reg = register_read(t, t->insn->reg, size);
    rm_write(t, reg, size);
    register_write(t, t->insn->reg, rm, size);
}

/* 98: cbw, cwde, cdqe; 99: cwd, cdq, cqo. */
static void widen(const struct step *t)
{
    unsigned size = wide_size(t->insn);
    if (t->insn->opcode == 0x98) {
        struct interpret_value v = register_read(t, X86_RAX, size / 2);
        register_set(t->s, X86_RAX, sign_extended(t, v, size / 2), size);
        return;
    }
    struct interpret_value a = register_read(t, X86_RAX, size);
    uint64_t sign = UINT64_C(1) << (8 * size - 1);
    struct interpret_value high =
        value_of(a.bits & sign ? UINT64_MAX : 0, a.known & sign ? UINT64_MAX : 0);
    high.bits &= mask_of(size);
    high.known &= mask_of(size);
    register_set(t->s, X86_RDX, high, size);
}

static bool leave(const struct step *t)
{
    if (stack_size(t->insn) != 8)
        return false;
    t->s->reg[X86_RSP] = t->s->reg[X86_RBP];
    struct interpret_value v = pop(t, 8);
    register_set(t->s, X86_RBP, v, 8);
    return true;
}

static void load_address(struct step *t)
{
    t->memory.segment = 0; /* lea has none */
    struct interpret_value a = rm_address(t);
    unsigned size = wide_size(t->insn);
    a.origin = origin_cut(t->s, a.origin, size);
    register_write(t, t->insn->reg, a, size);
}

static void pop_to_rm(const struct step *t)
{
    unsigned size = stack_size(t->insn);
    struct interpret_value address =
        rm_address(t); /* rsp has moved there already, if it is in it */
    struct interpret_value v = pop(t, size);
    if (t->insn->access & X86_MEM)
        memory_store(t->s, &address, v, size);
    else
        register_write(t, t->insn->base, v, size);
}

/* The flags that a program can change by popf: not those of the system, which depend on rights. */
static void flags_pop(const struct step *t)
{
    struct interpret_value v = pop(t, stack_size(t->insn));
    t->s->rflags = value_of(v.bits, v.known & (FLAG_STATUS | FLAG_DF | 2));
}

static void bit_set(const struct step *t, uint64_t flag, bool to)
{
    flags_set(t, flag, to ? flag : 0, flag);
}

/* F5 to FD */
static enum interpret_end flag_execute(const struct step *t)
{
    struct interpret_value *f = &t->s->rflags;
    switch (t->insn->opcode) {
    case 0xf5:
        flags_set(t, FLAG_CF, f->bits ^ FLAG_CF, f->known);
        break;
    case 0xf8:
    case 0xf9:
        bit_set(t, FLAG_CF, t->insn->opcode & 1);
        break;
    case 0xfa:
    case 0xfb:
        if (!t->s->kernel)
            return INTERPRET_PRIVILEGED;
        bit_set(t, FLAG_IF, t->insn->opcode & 1);
        break;
    case 0xfc:
    case 0xfd:
        bit_set(t, FLAG_DF, t->insn->opcode & 1);
        break;
    default:
        return INTERPRET_PRIVILEGED;
    }
    return INTERPRET_NEXT;
}

/* ---- one-byte opcodes ---- */

static bool push_pop_execute(const struct step *t)
{
    unsigned size = stack_size(t->insn);
    switch (t->insn->opcode) {
    case 0x50 ... 0x57:
        push(t, register_read(t, t->insn->reg, size), size);
        return true;
    case 0x58 ... 0x5f:
        register_set(t->s, t->insn->reg, pop(t, size), size);
        return true;
    case 0x68:
        push(t, constant(immediate(t, 0, size == 2 ? 2 : 4)), size);
        return true;
    case 0x6a:
        push(t, constant(immediate(t, 0, 1)), size);
        return true;
    case 0x8f:
        pop_to_rm(t);
        return true;
    case 0x9c:
        push(t, value_of(t->s->rflags.bits & ~(uint64_t)FLAG_NEVER_PUSHED, t->s->rflags.known),
             size);
        return true;
    case 0x9d:
        flags_pop(t);
        return true;
    case 0xc9:
        return leave(t);
    default:
        return false;
    }
}

static bool move_execute(struct step *t)
{
    const struct x86_insn *i = t->insn;
    switch (i->opcode) {
    case 0x63:
        register_write(t, i->reg, sign_extended(t, rm_read(t, 4), 4), wide_size(i));
        return true;
    case 0x86:
    case 0x87:
        exchange(t, t->size);
        return true;
    case 0x88:
    case 0x89:
        rm_write(t, register_read(t, i->reg, t->size), t->size);
        return true;
    case 0x8a:
    case 0x8b:
        register_write(t, i->reg, rm_read(t, t->size), t->size);
        return true;
    case 0x8d:
        load_address(t);
        return true;
    case 0x90 ... 0x97: {
        if (!(i->fields & X86_FIELD_OPCODE) || !i->reg)
            return true; /* nop, pause */
        unsigned size = wide_size(i);
        struct interpret_value a = register_read(t, X86_RAX, size),
                               b = register_read(t, i->reg, size);
        register_set(t->s, X86_RAX, b, size);
        register_set(t->s, i->reg, a, size);
        return true;
    }
    case 0x98:
    case 0x99:
        widen(t);
        return true;
    case 0xb0 ... 0xb7:
        register_write(t, i->reg, constant(immediate(t, 0, 1)), 1);
        return true;
    case 0xb8 ... 0xbf:
        register_write(t, i->reg, constant(immediate(t, 0, wide_size(i))), wide_size(i));
        return true;
    case 0xc6:
    case 0xc7:
        rm_write(t, constant(immediate(t, 0, t->size == 8 ? 4 : t->size)), t->size);
        return true;
    default:
        return false;
    }
}

static bool arithmetic_execute(const struct step *t)
{
    const struct x86_insn *i = t->insn;
    unsigned size = wide_size(i);
    switch (i->opcode) {
    case 0x69:
    case 0x6b: {
        unsigned bytes = i->opcode == 0x6b ? 1 : size == 2 ? 2 : 4;
        struct interpret_value b = constant(immediate(t, 0, bytes));
        register_write(t, i->reg, multiply(t, rm_read(t, size), b, size), size);
        return true;
    }
    case 0x80:
    case 0x81:
    case 0x83:
        alu_immediate(t);
        return true;
    case 0x84:
    case 0x85: {
        struct interpret_value v = rm_read(t, t->size);
        alu_test(t, v, register_read(t, i->reg, t->size), t->size);
        return true;
    }
    case 0xa8:
    case 0xa9:
        alu_test(t, register_read(t, X86_RAX, t->size),
                 constant(immediate(t, 0, t->size == 8 ? 4 : t->size)), t->size);
        return true;
    case 0xc0:
    case 0xc1:
    case 0xd0 ... 0xd3:
        shift_execute(t);
        return true;
    default:
        break;
    }
    if (i->opcode < 0x40 && (i->opcode & 7) < 6) {
        alu_execute(t);
        return true;
    }
    return false;
}

static enum interpret_end one_byte_execute(struct step *t)
{
    t->size = size_of(t->insn);
    if (move_execute(t) || arithmetic_execute(t) || push_pop_execute(t) || string_execute(t))
        return INTERPRET_NEXT;
    switch (t->insn->opcode) {
    case 0x70 ... 0x7f:
        return branch(t, condition(t->s, t->insn->opcode & 15));
    case 0xc2:
    case 0xc3:
        return ret(t);
    case 0xe0 ... 0xe3:
        return loop(t);
    case 0xe8:
        return call(t);
    case 0xe9:
    case 0xeb:
        return branch(t, 1);
    case 0xf5:
    case 0xf8 ... 0xfd:
        return flag_execute(t);
    case 0xf6:
    case 0xf7:
        return group_f7(t);
    case 0xfe:
    case 0xff:
        return group_ff(t);
    default:
        general_execute(t);
    }
    return INTERPRET_NEXT;
}

/* ---- all ---- */

static enum interpret_end execute(struct step *t)
{
    enum interpret_end end;
    if (t->insn->encoding == X86_LEGACY && t->insn->map == X86_MAP_ONE_BYTE)
        return one_byte_execute(t);
    if (t->insn->encoding == X86_LEGACY && t->insn->map == X86_MAP_0F && two_byte_execute(t, &end))
        return end;
    general_execute(t);
    return INTERPRET_NEXT;
}

/* Kinds that are not executed at all. */
static enum interpret_end kind_end(const struct interpret_state *s, const struct x86_insn *i)
{
    bool interrupts = i->map == X86_MAP_ONE_BYTE && (i->opcode | 1) == 0xfb;
    switch (i->kind) {
    case X86_INVALID:
        return INTERPRET_INVALID;
    case X86_TRUNCATED:
        return INTERPRET_CODE;
    case X86_SYSCALL:
    case X86_SYSENTER:
    case X86_INT:
    case X86_INT3:
    case X86_INT1:
    case X86_UD:
    case X86_FAR:
        return INTERPRET_TRAP;
    case X86_PRIVILEGED:
        return s->kernel && interrupts ? INTERPRET_NEXT : INTERPRET_PRIVILEGED;
    case X86_FSGSBASE:
    case X86_SEGMENT:
        return INTERPRET_PRIVILEGED;
    case X86_NEAR16:
    case X86_TSX:
    case X86_OTHER:
        return INTERPRET_UNSUPPORTED;
    default:
        return INTERPRET_NEXT;
    }
}

/* The kernel goes to another thread's stack. */
static bool leaves_stack(const struct interpret_state *s, const struct interpret_value *before)
{
    const struct interpret_value *now = &s->reg[X86_RSP];
    if (!s->kernel || before->known != UINT64_MAX)
        return false;
    return now->known != UINT64_MAX || now->bits - before->bits + STACK_NEAR > 2 * STACK_NEAR;
}

enum interpret_end interpret_step(struct interpret_state *s, const struct x86_insn *insn,
                                  const uint8_t *code)
{
    struct step t = {.s = s, .insn = insn, .code = code, .next = s->rip + insn->length};
    struct interpret_value rsp = s->reg[X86_RSP];
    enum interpret_end end = kind_end(s, insn);
    if (end != INTERPRET_NEXT)
        return end;
    if (insn->access & X86_MEM)
        t.memory = x86_modrm_as(insn, code);
    end = execute(&t);
    if (end == INTERPRET_NEXT && leaves_stack(s, &rsp)) {
        s->reg[X86_RSP] = rsp;
        return INTERPRET_STACK;
    }
    if (end == INTERPRET_NEXT)
        s->rip = t.next;
    return end;
}

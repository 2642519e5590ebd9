#include "tools/values_plan.h"

#include "tools/class.h"
#include "tools/wide.h"

/* Where what a memory operand holds can be had without reading memory again: some memory is not to
 * be read twice (devices), and other threads may write to all of it. */
struct held {
    uint8_t loaded, stored; /* general register that it went to, or came from; 0xff: none */
};

enum { NO_REGISTER = TUPLE_MEMORY, WORD = 8, WORDS = 2, OPCODE_ENTER = 0xc8 };

static void add(struct tuple_insn *r, enum tuple_what what, unsigned index, unsigned reg,
                unsigned bytes)
{
    if (r->count == TUPLE_VALUES_MAX)
        return;
    r->values[r->count++] = (struct tuple_value){
        .what = (uint8_t)what, .index = (uint8_t)index, .reg = (uint8_t)reg,
        .bytes = (uint8_t)bytes};
}

static bool wants(const struct tuple_insn *r, enum tuple_what what)
{
    return r->what >> what & 1;
}

static void kind_note(struct tuple_insn *r, const struct x86_insn *insn)
{
    switch (insn->kind) {
    case X86_JCC: case X86_LOOP: r->flags = TUPLE_INSN_BRANCH; break;
    case X86_JMP: r->flags = TUPLE_INSN_JUMP; break;
    case X86_CALL: r->flags = TUPLE_INSN_JUMP | TUPLE_INSN_CALL; break;
    case X86_CALL_INDIRECT: r->flags = TUPLE_INSN_INDIRECT | TUPLE_INSN_CALL; break;
    case X86_JMP_INDIRECT: case X86_RET: r->flags = TUPLE_INSN_INDIRECT; break;
    case X86_SYSCALL: r->flags = TUPLE_INSN_SYSCALL; break;
    default: break;
    }
    if (r->flags & (TUPLE_INSN_BRANCH | TUPLE_INSN_JUMP))
        r->target = r->address + insn->length +
                    (uint64_t)(int64_t)x86_relative_as(insn, r->bytes);
}

/* Operands whose addresses cannot be formed from general registers are left out, and those of
 * instructions whose memory operand only hints at what they access. */
static void memory_note(struct tuple_insn *r, const struct x86_insn *insn,
                        struct x86_memory m[X86_MEMORY_MAX])
{
    unsigned count = x86_memory_as(insn, r->bytes, m), kept = 0;
    for (unsigned i = 0; i < count && kept < TUPLE_MEMORIES; i++) {
        if (insn->traits & X86_VSIB && i == 0)
            continue;
        m[kept] = m[i];
        r->stores |= (uint8_t)((m[i].access & X86_MEM_WRITE ? 1u : 0) << kept);
        r->memory[kept++] = (struct tuple_memory){
            .disp = m[i].disp + (m[i].base == X86_RIP ? (int64_t)r->address + insn->length : 0),
            .base = m[i].base == X86_RIP ? NO_REGISTER : m[i].base,
            .index = m[i].index, .scale = m[i].scale, .add8 = m[i].add8,
            .segment = m[i].segment == X86_FS, .address32 = m[i].address32, .size = m[i].size};
    }
    r->memories = (uint8_t)kept;
}

/* mov, movzx, push, pop: what moves between one register and one memory operand. */
static struct held held_by(const struct tuple_insn *r, const struct x86_insn *insn,
                           const struct x86_memory *m)
{
    struct held held = {NO_REGISTER, NO_REGISTER};
    struct x86_definition by[X86_DEFINITIONS_MAX];
    if (insn->class != X86_CLASS_MOVE || r->memories != 1 || m->size > WORD)
        return held;
    unsigned written = x86_definitions_as(insn, by);
    if (m->access == X86_MEM_READ)
        for (unsigned i = 0; i < written; i++)
            if (!by[i].conditional && !by[i].high && by[i].width >= m->size &&
                !x86_moves_stack(insn, &by[i]))
                held.loaded = by[i].reg;
    if (m->access == X86_MEM_WRITE && x86_sources_as(insn, by) == 1 && !by[0].high &&
        by[0].width >= m->size)
        held.stored = by[0].reg;
    return held;
}

/* True if what the operand held is still there, and all of it was accessed. */
static bool is_there(const struct x86_insn *insn, const struct x86_memory *m)
{
    bool whole = !(m->access & X86_MEM_CONDITIONAL) && m->size && insn->kind != X86_STRING_REP;
    bool enter = insn->map == X86_MAP_ONE_BYTE && insn->opcode == OPCODE_ENTER &&
                 insn->encoding == X86_LEGACY;
    /* bt and kin with a register: the bit may be far from the operand's address. */
    bool bit =
        insn->map == X86_MAP_0F && insn->encoding == X86_LEGACY && (insn->opcode & 0xe7) == 0xa3;
    return whole && !enter && !bit;
}

static void words_add(struct tuple_insn *r, enum tuple_what what, unsigned operand, unsigned size)
{
    for (unsigned word = 0; word < WORDS && word * WORD < size; word++) {
        unsigned left = size - word * WORD;
        add(r, what, 2 * operand + word, NO_REGISTER, left < WORD ? left : WORD);
    }
}

static void before_add(struct tuple_insn *r, const struct x86_insn *insn, struct held held,
                       const struct x86_memory *m)
{
    struct x86_definition by[X86_DEFINITIONS_MAX];
    unsigned count = wants(r, TUPLE_SOURCES) ? x86_sources_as(insn, by) : 0;
    static const uint8_t arguments[] = {X86_RAX, X86_RDI, X86_RSI, X86_RDX,
                                        X86_R10, X86_R8,  X86_R9};
    if (insn->kind == X86_SYSCALL && wants(r, TUPLE_SYSTEM_CALL))
        for (unsigned i = 0; i < sizeof arguments; i++)
            add(r, TUPLE_SYSTEM_CALL, i, arguments[i], 8);
    for (unsigned i = 0; i < count; i++)
        add(r, TUPLE_SOURCES, i, by[i].reg, by[i].width | (by[i].high ? TUPLE_HIGH : 0));
    for (unsigned i = 0; i < r->memories && wants(r, TUPLE_ADDRESS); i++)
        add(r, TUPLE_ADDRESS, 2 * i, NO_REGISTER, 8);
    if (held.stored != NO_REGISTER && wants(r, TUPLE_STORED))
        add(r, TUPLE_STORED, 0, held.stored, m->size);
}

static void registers_add(struct tuple_insn *r, uint32_t registers)
{
    for (; registers; registers &= registers - 1)
        add(r, TUPLE_REGISTERS, 0, (unsigned)__builtin_ctz(registers), WORD);
}

static void result_add(struct tuple_insn *r, const struct x86_insn *insn)
{
    struct x86_definition by;
    struct x86_wide wide;
    bool more;
    if (x86_wide_result_as(insn, r->bytes, &wide, &more)) {
        unsigned words = wide_words(&wide, x86_lanes_as(insn));
        for (unsigned word = 0; word < words; word++)
            add(r, TUPLE_RESULT, word, wide_number(&wide), WORD);
        return;
    }
    if (classify_result(insn, &by))
        add(r, TUPLE_RESULT, 0, by.reg, by.width | (by.high ? TUPLE_HIGH : 0));
}

static void after_add(struct tuple_insn *r, const struct x86_insn *insn, struct held held,
                      const struct x86_memory *m)
{
    if (wants(r, TUPLE_RESULT) && insn->kind != X86_SYSCALL)
        result_add(r, insn);
    /* A system call's come back as they were, and its result is the only thing that is read
     * afterwards. */
    if (wants(r, TUPLE_FLAGS) && insn->flags_changed && insn->kind != X86_SYSCALL)
        add(r, TUPLE_FLAGS, 0, NO_REGISTER, 8);
    for (unsigned i = 0; i < r->memories; i++) {
        if (!is_there(insn, &m[i]))
            continue;
        if (held.loaded != NO_REGISTER && wants(r, TUPLE_LOADED))
            add(r, TUPLE_LOADED, 0, held.loaded, m[i].size);
        else if (m[i].access == X86_MEM_READ && wants(r, TUPLE_LOADED))
            words_add(r, TUPLE_LOADED, i, m[i].size);
        if (m[i].access & X86_MEM_WRITE && held.stored == NO_REGISTER && wants(r, TUPLE_STORED))
            words_add(r, TUPLE_STORED, i, m[i].size);
    }
    if (r->flags & TUPLE_INSN_BRANCH && wants(r, TUPLE_TAKEN))
        add(r, TUPLE_TAKEN, 0, NO_REGISTER, 1);
    if (r->flags & TUPLE_INSN_INDIRECT && wants(r, TUPLE_TARGET))
        add(r, TUPLE_TARGET, 0, NO_REGISTER, 8);
    if (insn->kind == X86_SYSCALL && wants(r, TUPLE_SYSTEM_CALL))
        add(r, TUPLE_SYSTEM_CALL, 7, X86_RAX, 8);
    /* The last: not every execution is timed. */
    if (wants(r, TUPLE_LATENCY) && values_loads_as(insn, r->bytes))
        add(r, TUPLE_LATENCY, 0, NO_REGISTER, 8);
}

uint16_t values_wanted_as(const struct tuple_capture *capture, const struct x86_insn *insn,
                          const uint8_t *code)
{
    unsigned digit = insn->at_modrm ? code[insn->at_modrm] >> 3 & 7 : 0;
    return capture->what[insn->map & 15][insn->opcode][digit];
}

bool values_loads_as(const struct x86_insn *insn, const uint8_t *code)
{
    struct x86_memory m[X86_MEMORY_MAX];
    unsigned count = x86_memory_as(insn, code, m);
    for (unsigned i = 0; i < count; i++)
        if (m[i].access & X86_MEM_READ)
            return true;
    return false;
}

void values_plan_as(struct tuple_insn *r, const struct x86_insn *insn,
                    const struct tuple_capture *capture)
{
    struct x86_memory m[X86_MEMORY_MAX];
    r->what = values_wanted_as(capture, insn, r->bytes);
    kind_note(r, insn);
    memory_note(r, insn, m);
    struct held held = held_by(r, insn, m);
    before_add(r, insn, held, m);
    registers_add(r, capture->registers);
    r->before = r->count;
    after_add(r, insn, held, m);
}

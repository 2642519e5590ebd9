#include "unwind/layout.h"

#include <string.h>

#include "unwind/table.h"
#include "unwind/unwind.h"

enum {
    RETURN_ADDRESS = -8, /* its distance from the CFA */
    DISTANCE_MAX = 8 * (int)RULE_CODE_OFFSET_MAX,
    CALLEE_SAVED =
        1 << X86_RBX | 1 << X86_RBP | 1 << X86_R12 | 1 << X86_R13 | 1 << X86_R14 | 1 << X86_R15,
};

static bool is_distance(int32_t value)
{
    return value >= -DISTANCE_MAX && value <= DISTANCE_MAX;
}

/* A distance moved by `by`, if the result is one. */
static int32_t moved(int32_t value, int64_t by)
{
    if (!is_distance(value) || by > 2 * DISTANCE_MAX || by < -2 * DISTANCE_MAX)
        return LAYOUT_UNKNOWN;
    int32_t sum = (int32_t)(value + by);
    return is_distance(sum) ? sum : LAYOUT_UNKNOWN;
}

static void registers_forget(struct layout *l, unsigned mask)
{
    for (unsigned r = 0; r < LAYOUT_REGISTERS; r++)
        if (mask >> r & 1)
            l->reg[r] = LAYOUT_UNKNOWN;
}

void layout_enter(struct layout *l)
{
    *l = (struct layout){0};
    for (unsigned r = 0; r < LAYOUT_REGISTERS; r++)
        l->reg[r] = CALLEE_SAVED >> r & 1 ? LAYOUT_ENTRY + (int32_t)r : LAYOUT_UNKNOWN;
    l->reg[X86_RSP] = RETURN_ADDRESS;
}

bool layout_is_entry(const struct layout *l)
{
    for (unsigned r = 0; r < LAYOUT_REGISTERS; r++)
        if (CALLEE_SAVED >> r & 1 && l->reg[r] != LAYOUT_ENTRY + (int32_t)r)
            return false;
    return l->reg[X86_RSP] == RETURN_ADDRESS;
}

static void slot_remove(struct layout *l, uint32_t i)
{
    l->slots--;
    memmove(&l->slot[i], &l->slot[i + 1], (l->slots - i) * sizeof l->slot[0]);
    l->slot[l->slots] = (struct layout_slot){0};
}

/* Something was written to [CFA + at, CFA + at + size). Whoever overwrites the return address does
 * more than what is understood here. */
static void memory_forget(struct layout *l, int32_t at, int32_t size)
{
    for (uint32_t i = l->slots; i-- > 0;)
        if (l->slot[i].at < at + size && l->slot[i].at + 8 > at)
            slot_remove(l, i);
    if (RETURN_ADDRESS < at + size && RETURN_ADDRESS + 8 > at)
        registers_forget(l, UINT32_MAX);
}

static int32_t slot_get(const struct layout *l, int32_t at)
{
    for (uint32_t i = 0; i < l->slots; i++)
        if (l->slot[i].at == at)
            return l->slot[i].value;
    return LAYOUT_UNKNOWN;
}

static void slot_set(struct layout *l, int32_t at, int32_t value)
{
    if (!is_distance(at))
        return;
    memory_forget(l, at, 8);
    if (value == LAYOUT_UNKNOWN || l->slots == LAYOUT_SLOTS)
        return;
    uint32_t i = l->slots++;
    for (; i > 0 && l->slot[i - 1].at > at; i--)
        l->slot[i] = l->slot[i - 1];
    l->slot[i] = (struct layout_slot){at, value};
}

bool layout_meet(struct layout *l, const struct layout *other)
{
    bool changed = false;
    for (unsigned r = 0; r < LAYOUT_REGISTERS; r++) {
        if (l->reg[r] == other->reg[r] || l->reg[r] == LAYOUT_UNKNOWN)
            continue;
        l->reg[r] = LAYOUT_UNKNOWN;
        changed = true;
    }
    for (uint32_t i = l->slots; i-- > 0;) {
        if (slot_get(other, l->slot[i].at) == l->slot[i].value)
            continue;
        slot_remove(l, i);
        changed = true;
    }
    return changed;
}

/* ---- instructions ---- */

static void push(struct layout *l, int32_t value)
{
    l->reg[X86_RSP] = moved(l->reg[X86_RSP], -8);
    slot_set(l, l->reg[X86_RSP], value);
}

static void pop(struct layout *l, unsigned reg)
{
    int32_t value = slot_get(l, l->reg[X86_RSP]);
    l->reg[X86_RSP] = moved(l->reg[X86_RSP], 8);
    l->reg[reg] = value; /* pop %rsp too: the value wins */
}

/* Callees keep to the ABI, and what lies below rsp is theirs. */
static void call(struct layout *l)
{
    registers_forget(l, (unsigned)~(CALLEE_SAVED | 1 << X86_RSP));
    if (!is_distance(l->reg[X86_RSP]))
        return;
    while (l->slots && l->slot[0].at < l->reg[X86_RSP])
        slot_remove(l, 0);
}

/* The address of a memory operand of a register and a displacement. */
static int32_t address(const struct layout *l, uint8_t base, uint8_t index, int64_t disp)
{
    return base < LAYOUT_REGISTERS && index == X86_NONE ? moved(l->reg[base], disp)
                                                        : LAYOUT_UNKNOWN;
}

/* What has no meaning here: whatever it writes is unknown. */
static void other(struct layout *l, const struct x86_insn *insn, const uint8_t *code)
{
    enum { LARGE = 1 << 14 }; /* xsave and kin, which have no fixed size */
    struct x86_memory memory[X86_MEMORY_MAX];
    unsigned count = x86_memory_as(insn, code, memory);
    for (unsigned i = 0; i < count; i++) {
        int32_t at = address(l, memory[i].base, memory[i].index, memory[i].disp);
        if (memory[i].access & X86_MEM_WRITE && !memory[i].segment && is_distance(at))
            memory_forget(l, at, memory[i].size ? memory[i].size : LARGE);
    }
    registers_forget(l, insn->writes);
    if (insn->kind == X86_SYSCALL || insn->kind == X86_INT)
        registers_forget(l, 1 << X86_RAX | 1 << X86_RCX | 1 << X86_R11);
}

/* Pushes and pops of a word. */
static bool pass_stack(struct layout *l, const struct x86_insn *insn)
{
    unsigned field = insn->reg & 15u;
    switch (insn->opcode) {
    case 0x50 ... 0x57: push(l, l->reg[field]); return true;
    case 0x58 ... 0x5f: pop(l, field); return true;
    case 0x68: case 0x6a: case 0x9c: push(l, LAYOUT_UNKNOWN); return true;
    case 0x9d: l->reg[X86_RSP] = moved(l->reg[X86_RSP], 8); return true;
    case 0xc9: /* leave */
        l->reg[X86_RSP] = l->reg[X86_RBP];
        pop(l, X86_RBP);
        return true;
    case 0xff:
        if ((field & 7) != 6)
            return false;
        push(l, LAYOUT_UNKNOWN);
        return true;
    default: return false;
    }
}

/* mov, lea, add and sub of 64 bits. */
static bool pass_word(struct layout *l, const struct x86_insn *insn, const uint8_t *code)
{
    enum { ADD = 0, SUB = 5 };
    if (!(insn->traits & X86_REX_W) || insn->at_modrm == 0)
        return false;
    bool memory = insn->access & X86_MEM;
    unsigned reg = insn->reg & 15u, rm = insn->base & 15u;
    int32_t at = memory ? address(l, insn->base, insn->index, x86_displacement_as(insn, code)) : 0;
    int64_t by;
    switch (insn->opcode) {
    case 0x89:
        if (memory)
            slot_set(l, at, l->reg[reg]);
        else
            l->reg[rm] = l->reg[reg];
        return true;
    case 0x8b:
        l->reg[reg] = memory ? slot_get(l, at) : l->reg[rm];
        return true;
    case 0x8d: l->reg[reg] = at; return true;
    case 0x81: case 0x83:
        by = x86_relative_as(insn, code); /* the immediate, sign-extended */
        if (memory || ((reg & 7) != ADD && (reg & 7) != SUB))
            return false;
        l->reg[rm] = moved(l->reg[rm], (reg & 7) == ADD ? by : -by);
        return true;
    default: return false;
    }
}

void layout_pass(struct layout *l, const struct x86_insn *insn, const uint8_t *code)
{
    const unsigned unusual = X86_PREFIX66 | X86_ADDRESS32 | X86_FS | X86_GS;
    bool usual =
        insn->encoding == X86_LEGACY && insn->map == X86_MAP_ONE_BYTE && !(insn->traits & unusual);
    if (insn->kind == X86_CALL || insn->kind == X86_CALL_INDIRECT)
        call(l);
    else if (!usual || !(pass_stack(l, insn) || pass_word(l, insn, code)))
        other(l, insn, code);
}

/* ---- the rule ---- */

/* Where rbp was saved, in words below the CFA; 0: it is what it was. Helpers without CFI may keep
 * less than the ABI demands, so where it was saved, and that is not below rsp, is believed before
 * the register. */
static uint32_t rbp_slot(const struct layout *l)
{
    const int32_t entry = LAYOUT_ENTRY + X86_RBP, rsp = l->reg[X86_RSP];
    bool kept = l->reg[X86_RBP] == entry;
    for (uint32_t i = 0; i < l->slots; i++) {
        int32_t at = l->slot[i].at;
        if (l->slot[i].value == entry && at < 0 && at % 8 == 0 &&
            at > -8 * (int32_t)RULE_SLOT_LOST && !(kept && is_distance(rsp) && at < rsp))
            return (uint32_t)(-at / 8);
    }
    return kept ? 0 : RULE_SLOT_LOST;
}

uint32_t layout_rule(const struct layout *l)
{
    static const struct {
        uint8_t x86, dwarf;
    } order[] = {
        {X86_RSP, UNWIND_RSP}, {X86_RBP, UNWIND_RBP}, {X86_RBX, UNWIND_RBX}, {X86_R12, UNWIND_R12},
        {X86_R13, UNWIND_R13}, {X86_R14, UNWIND_R14}, {X86_R15, UNWIND_R15}, {X86_RAX, UNWIND_RAX},
        {X86_RCX, UNWIND_RCX}, {X86_RDX, UNWIND_RDX}, {X86_RSI, UNWIND_RSI}, {X86_RDI, UNWIND_RDI},
        {X86_R8, UNWIND_R8},   {X86_R9, UNWIND_R9},   {X86_R10, UNWIND_R10}, {X86_R11, UNWIND_R11},
    };
    const uint32_t none = rule_make(RULE_NONE, 0, 0);
    int32_t rsp = l->reg[X86_RSP];
    if (is_distance(rsp) && rsp > RETURN_ADDRESS)
        return none; /* the return address was taken off the stack */
    for (unsigned i = 0; i < sizeof order / sizeof order[0]; i++) {
        int32_t value = l->reg[order[i].x86];
        if (is_distance(value) && value <= 0 && value % 8 == 0)
            return rule_make(RULE_CODE, rbp_slot(l),
                             (uint32_t)order[i].dwarf << RULE_CODE_SHIFT | (uint32_t)(-value / 8));
    }
    return none;
}

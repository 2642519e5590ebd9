#include "tools/trigger.h"

#include "tools/class.h"

static uint32_t bit(unsigned n)
{
    return UINT32_C(1) << n;
}

static bool is_return(const struct x86_insn *insn)
{
    return insn->kind == X86_RET;
}

static bool is_call(const struct x86_insn *insn)
{
    return insn->kind == X86_CALL || insn->kind == X86_CALL_INDIRECT;
}

static uint32_t class_bits(const struct x86_insn *insn)
{
    switch (classify(insn)) {
    case CLASS_CALL: return bit(OPCLASS_PROC_CALL);
    case CLASS_RETURN: return bit(OPCLASS_PROC_RETURN);
    case CLASS_BRANCH: return bit(OPCLASS_BRANCH) | bit(OPCLASS_COND_BRANCH);
    case CLASS_JUMP: return bit(OPCLASS_BRANCH);
    case CLASS_INDIRECT: return bit(OPCLASS_JUMP);
    case CLASS_MOVE: return bit(OPCLASS_MOVE);
    case CLASS_INTEGER:
    case CLASS_ATOMIC: return bit(OPCLASS_INTEGER);
    case CLASS_MULTIPLY: return bit(OPCLASS_MULTIPLY);
    case CLASS_STRING: return bit(OPCLASS_STRING);
    case CLASS_X87: return bit(OPCLASS_X87);
    case CLASS_VECTOR:
    case CLASS_CRYPTO: return bit(OPCLASS_VECTOR);
    default: return 0;
    }
}

/* Escape bytes and the opcode. */
static uint32_t opcode_of(const struct x86_insn *insn)
{
    switch (insn->map) {
    case X86_MAP_ONE_BYTE: return insn->opcode;
    case X86_MAP_0F: return 0x0f00u | insn->opcode;
    case X86_MAP_0F38: return 0x0f3800u | insn->opcode;
    case X86_MAP_0F3A: return 0x0f3a00u | insn->opcode;
    default: return (uint32_t)insn->map << 16 | insn->opcode;
    }
}

/* The last bytes of an instruction that are no displacement; of branches they are none. */
static bool immediate_of(const struct x86_insn *insn, const uint8_t *code, int64_t *value)
{
    bool transfer = insn->kind == X86_JCC || insn->kind == X86_LOOP || insn->kind == X86_JMP ||
                    insn->kind == X86_CALL || x86_is_xbegin(insn);
    if (!insn->at_imm || transfer || !insn->imm_size || insn->imm_size > sizeof *value)
        return false;
    uint64_t bits = 0;
    for (unsigned i = insn->imm_size; i-- > 0;)
        bits = bits << 8 | code[insn->at_imm + i];
    unsigned unused = 64 - 8u * insn->imm_size;
    *value = (int64_t)(bits << unused) >> unused;
    return true;
}

/* Operands whose addresses general registers say; not where a call or return has its address. */
static unsigned memory_of(const struct x86_insn *insn, const uint8_t *code,
                          struct trigger_memory out[TRIGGER_MEMORIES], uint32_t *classes)
{
    struct x86_memory m[X86_MEMORY_MAX];
    unsigned count = x86_memory_as(insn, code, m), kept = 0;
    if (is_call(insn) || is_return(insn))
        count = count && is_call(insn) && insn->access & X86_MEM_READ ? 1 : 0;
    for (unsigned i = 0; i < count && kept < TRIGGER_MEMORIES; i++) {
        if ((insn->traits & X86_VSIB && m[i].index != X86_NONE) || m[i].segment == X86_GS)
            continue;
        *classes |= bit(OPCLASS_MEM_OP) | (m[i].access & X86_MEM_READ ? bit(OPCLASS_LOAD) : 0) |
                    (m[i].access & X86_MEM_WRITE ? bit(OPCLASS_STORE) : 0);
        out[kept++] = (struct trigger_memory){m[i], (uint8_t)i};
    }
    return kept;
}

void trigger_make_as(const struct x86_insn *insn, const uint8_t *code, uint64_t pc,
                     struct trigger *out)
{
    *out = (struct trigger){
        .seen = {.classes = bit(OPCLASS_ANY) | class_bits(insn), .pc = pc,
                 .opcode = opcode_of(insn), .reads = insn->reads, .writes = insn->writes,
                 .base = X86_NONE, .index = X86_NONE},
        .is_call = is_call(insn), .is_return = is_return(insn)};
    struct production_trigger *t = &out->seen;
    if (insn->access) {
        t->base = insn->base;
        t->index = insn->index;
    }
    t->has_immediate = immediate_of(insn, code, &t->immediate);
    if (insn->kind == X86_SYSCALL)
        t->classes |= bit(OPCLASS_SYSCALL);
    out->memories = (uint8_t)memory_of(insn, code, out->memory, &t->classes);
}

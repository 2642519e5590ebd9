#include "engine/liveness.h"

static bool may_fault(const struct x86_insn *insn)
{
    if (insn->access & (X86_MEM_READ | X86_MEM_WRITE | X86_MEM_STACK))
        return true;
    return insn->kind != X86_ORDINARY || insn->class == X86_CLASS_MULDIV ||
           insn->class == X86_CLASS_STRING || insn->class > X86_CLASS_STRING;
}

void liveness_scan(const struct x86_insn *insns, uint32_t count, uint8_t flags, uint8_t at_faults,
                   struct live *out)
{
    struct live live = { UINT16_MAX, flags };
    out[count] = live;
    for (uint32_t i = count; i-- > 0;) {
        const struct x86_insn *insn = &insns[i];
        live.flags = (uint8_t)((live.flags & ~insn->flags_killed) | insn->flags_read);
        live.registers = (uint16_t)((live.registers & ~insn->writes) | insn->reads);
        if (may_fault(insn)) {
            live.registers = UINT16_MAX;
            live.flags |= at_faults;
        }
        out[i] = live;
    }
}

uint8_t liveness_flags_at_entry(struct x86_insn *insns, const uint8_t *const *code, uint32_t count)
{
    uint8_t kept = X86_STATUS_FLAGS, live = 0; /* not killed so far; of these, read */
    for (uint32_t i = 0; i < count && kept; i++) {
        x86_uses_as(&insns[i], code[i]);
        live |= insns[i].flags_read & kept;
        kept &= (uint8_t)~insns[i].flags_killed;
    }
    return live | kept;
}

uint8_t liveness_ahead(const uint8_t *code, uint64_t available)
{
    enum { LONGEST = 15 };
    uint8_t live = 0, unknown = UINT8_MAX;
    for (unsigned i = 0;
         i < LIVENESS_AHEAD / LONGEST && available >= LONGEST && unknown & X86_STATUS_FLAGS; i++) {
        struct x86_insn insn;
        unsigned length = x86_decode_as(code, LONGEST, &insn);
        if (!length || insn.kind != X86_ORDINARY)
            break;
        live |= insn.flags_read & unknown;
        unknown &= (uint8_t)~insn.flags_killed;
        code += length;
        available -= length;
    }
    return live | unknown;
}

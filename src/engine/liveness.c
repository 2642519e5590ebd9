#include "engine/liveness.h"

static bool may_fault(const struct x86_insn *insn)
{
    if (insn->access & (X86_MEM_READ | X86_MEM_WRITE | X86_MEM_STACK))
        return true;
    return insn->kind != X86_ORDINARY || insn->class == X86_CLASS_MULDIV ||
           insn->class == X86_CLASS_STRING || insn->class > X86_CLASS_STRING;
}

void liveness_scan(const struct x86_insn *insns, uint32_t count, struct live *out)
{
    struct live live = { UINT16_MAX, UINT8_MAX };
    out[count] = live;
    for (uint32_t i = count; i-- > 0;) {
        const struct x86_insn *insn = &insns[i];
        live.flags = (uint8_t)((live.flags & ~insn->flags_killed) | insn->flags_read);
        live.registers = (uint16_t)((live.registers & ~insn->writes) | insn->reads);
        if (may_fault(insn))
            live.registers = UINT16_MAX;
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

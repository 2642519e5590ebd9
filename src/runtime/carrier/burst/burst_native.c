#include "runtime/carrier/burst/burst_native.h"

#include "engine/probe.h"

enum { PREFIXES = 14 };

/* Behind its prefixes. The translator has read the instruction; not all of them are one. */
static const uint8_t *opcode_of(const struct engine_thread *e)
{
    const uint8_t *code = (const uint8_t *)(uintptr_t)e->rip;
    for (unsigned i = 0; i < PREFIXES; i++, code++)
        switch (*code) {
        case 0x26: case 0x2e: case 0x36: case 0x3e: case 0x64: case 0x65:
        case 0x66: case 0x67: case 0xf0: case 0xf2: case 0xf3:
            break;
        default:
            if ((*code & 0xf0) != 0x40) /* REX */
                return code;
        }
    return code;
}

/* In the flags that it pops, so many words above the stack pointer. */
static bool pops_trap_flag(const struct engine_thread *e, unsigned word)
{
    uint64_t at = e->gpr[ENGINE_RSP] + word * sizeof(uint64_t), flags = 0;
    return !engine_probe_as(at, sizeof(uint16_t), &flags) || flags & EFLAGS_TF;
}

bool burst_native_may_as(const struct engine_thread *e, enum stop_reason why)
{
    enum { IRET = 0xcf, POPF = 0x9d, INT3 = 0xcc, INT = 0xcd, INT1 = 0xf1, TWO_BYTES = 0x0f };
    enum { SYSENTER = 0x34, OLD_CALL = 0x80, REX_W = 8 };
    if (why != STOP_INVALID && why != STOP_FAR_TRANSFER && why != STOP_UNSUPPORTED)
        return false;
    const uint8_t *code = opcode_of(e), *before = code - 1;
    bool any = before >= (const uint8_t *)(uintptr_t)e->rip;
    switch (*code) {
    case INT3:
    case INT1:
        return false;
    case INT:
        return code[1] != OLD_CALL;
    case TWO_BYTES:
        return code[1] != SYSENTER;
    case POPF:
        return !pops_trap_flag(e, 0);
    case IRET:
        return any && (*before & 0xf0) == 0x40 && *before & REX_W && !pops_trap_flag(e, 2);
    default:
        return true;
    }
}

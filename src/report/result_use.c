#include "report/result_use.h"

#include <stdbool.h>

#include "x86/insn.h"

enum { AHEAD = 32 /* instructions */, DIVISIONS = 6 /* modrm.reg of div; 7: of idiv */ };

const char *result_use_name(enum result_use use)
{
    static const char *const names[] = { "", "loaded", "divisor", "shift count", "target" };
    return names[use];
}

/* The first general register that is written as a result; X86_NONE: none, or a part of it. */
static unsigned result_of(const struct x86_insn *insn)
{
    struct x86_definition d[X86_DEFINITIONS_MAX];
    unsigned count = x86_definitions_as(insn, d), i = 0;
    while (i < count && x86_moves_stack(insn, &d[i]))
        i++;
    return i < count && !d[i].high && !d[i].conditional ? d[i].reg : X86_NONE;
}

static bool is_constant(const struct x86_insn *insn)
{
    return !insn->reads && !(insn->access & X86_MEM_READ);
}

static bool is_load(const struct x86_insn *insn)
{
    return insn->class == X86_CLASS_MOVE && insn->access == (X86_MEM | X86_MEM_READ);
}

static enum result_use use_in(const struct x86_insn *insn, unsigned reg)
{
    bool operand = !(insn->access & X86_MEM) && insn->base == reg,
         legacy = insn->encoding == X86_LEGACY;
    unsigned opcode = insn->opcode;
    if (insn->kind == X86_JMP_INDIRECT || insn->kind == X86_CALL_INDIRECT)
        return operand ? RESULT_USE_TARGET : RESULT_USE_NONE;
    if (legacy && insn->map == X86_MAP_ONE_BYTE && (opcode & 0xfe) == 0xf6)
        return operand && (insn->reg & 7) >= DIVISIONS ? RESULT_USE_DIVISOR : RESULT_USE_NONE;
    bool shifts = (insn->map == X86_MAP_ONE_BYTE && (opcode & 0xfe) == 0xd2) ||
                  (insn->map == X86_MAP_0F && (opcode & 0xf7) == 0xa5);
    return legacy && shifts && reg == X86_RCX ? RESULT_USE_SHIFT : RESULT_USE_NONE;
}

enum result_use result_use_find(const uint8_t *code, size_t size, size_t *at)
{
    struct x86_insn insn;
    size_t offset = x86_decode_as(code, size, &insn);
    unsigned reg =
        offset && insn.kind == X86_ORDINARY && !is_constant(&insn) ? result_of(&insn) : X86_NONE;
    enum result_use loaded =
        reg != X86_NONE && is_load(&insn) ? RESULT_USE_LOADED : RESULT_USE_NONE;
    *at = 0;
    for (unsigned i = 0; reg != X86_NONE && i < AHEAD; i++) {
        unsigned length = x86_decode_as(code + offset, size - offset, &insn);
        enum result_use use = length ? use_in(&insn, reg) : RESULT_USE_NONE;
        if (use != RESULT_USE_NONE) {
            *at = offset;
            return use;
        }
        if (!length || insn.kind != X86_ORDINARY || insn.writes >> reg & 1)
            break;
        offset += length;
    }
    return loaded;
}

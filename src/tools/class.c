#include "tools/class.h"

static enum instruction_class of_transfer(const struct x86_insn *insn)
{
    switch (insn->kind) {
    case X86_JCC:
    case X86_LOOP:
        return CLASS_BRANCH;
    case X86_JMP:
        return CLASS_JUMP;
    case X86_JMP_INDIRECT:
        return CLASS_INDIRECT;
    case X86_CALL:
    case X86_CALL_INDIRECT:
        return CLASS_CALL;
    case X86_RET:
        return CLASS_RETURN;
    default:
        return CLASS_COUNT;
    }
}

/* AES, SHA, carry-less multiplication, CRC32, by map and opcode, in whatever encoding. */
static bool is_crypto(const struct x86_insn *insn)
{
    unsigned op = insn->opcode;
    if (insn->map == X86_MAP_0F38)
        return (op >= 0xdb && op <= 0xdf) || (op >= 0xc8 && op <= 0xcd) || op == 0xcf ||
               (op >= 0xf0 && op <= 0xf1 && insn->traits & X86_REPNE);
    if (insn->map == X86_MAP_0F3A)
        return op == 0x44 || op == 0xcc || op == 0xdf || op == 0xce || op == 0xcf;
    return false;
}

/* lock, and xchg with memory, which locks by itself. */
static bool is_atomic(const struct x86_insn *insn)
{
    return insn->traits & X86_LOCK ||
           (insn->map == X86_MAP_ONE_BYTE && insn->encoding == X86_LEGACY && insn->access &&
            (insn->opcode == 0x86 || insn->opcode == 0x87));
}

enum instruction_class classify(const struct x86_insn *insn)
{
    enum instruction_class transfer = of_transfer(insn);
    if (transfer != CLASS_COUNT)
        return transfer;
    if (is_atomic(insn))
        return CLASS_ATOMIC;
    if (is_crypto(insn))
        return CLASS_CRYPTO;
    switch (insn->class) {
    case X86_CLASS_MOVE:
        return CLASS_MOVE;
    case X86_CLASS_INTEGER:
        return CLASS_INTEGER;
    case X86_CLASS_MULDIV:
        return CLASS_MULTIPLY;
    case X86_CLASS_STRING:
        return CLASS_STRING;
    case X86_CLASS_X87:
        return CLASS_X87;
    case X86_CLASS_MMX:
    case X86_CLASS_SSE:
    case X86_CLASS_AVX:
    case X86_CLASS_AVX512:
        return CLASS_VECTOR;
    case X86_CLASS_NOP:
        return CLASS_NOP;
    case X86_CLASS_SYSTEM:
        return CLASS_SYSTEM;
    default:
        return CLASS_OTHER;
    }
}

unsigned classify_results(const struct x86_insn *insn, struct x86_definition out[CLASSIFY_RESULTS])
{
    struct x86_definition written[X86_DEFINITIONS_MAX];
    unsigned count = x86_definitions_as(insn, written), results = 0;
    for (unsigned i = 0; i < count; i++) {
        if (x86_moves_stack(insn, &written[i]))
            continue;
        if (results < CLASSIFY_RESULTS)
            out[results] = written[i];
        results++;
    }
    return results;
}

bool classify_result(const struct x86_insn *insn, struct x86_definition *out)
{
    struct x86_definition results[CLASSIFY_RESULTS];
    unsigned count = classify_results(insn, results);
    if (count)
        *out = results[0];
    return count;
}

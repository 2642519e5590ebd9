#include "report/values_internal.h"

#include "base/saturate.h"
#include "x86/insn.h"

enum {
    LENGTH_MAX = 15,
    SCANNED_MOST = 1 << 20 /* bytes of a function that are decoded to find what is before a place */
};

/* Divisions and square roots take so long, always, that the interrupt of a sample waits for their
 * end. */
static bool delays(const struct x86_insn *insn)
{
    enum { DIV = 6 /* modrm.reg; 7: idiv */, FLOAT_SQRT = 0x51, FLOAT_DIV = 0x5e };
    if (insn->map == X86_MAP_ONE_BYTE && insn->encoding == X86_LEGACY &&
        (insn->opcode & 0xfe) == 0xf6)
        return (insn->reg & 7) >= DIV;
    return insn->map == X86_MAP_0F && (insn->opcode == FLOAT_DIV || insn->opcode == FLOAT_SQRT);
}

static unsigned decode(struct code *code, uint64_t at, struct x86_insn *out)
{
    size_t available = 0;
    const uint8_t *bytes = code_bytes(code, at, &available);
    return bytes ? x86_decode_as(bytes, available < LENGTH_MAX ? available : LENGTH_MAX, out) : 0;
}

/* Whether the instruction before the place, in its function, delays samples. */
static bool is_delayed(struct code *code, uint64_t offset)
{
    struct code_function f;
    struct x86_insn insn = { 0 };
    bool slow = false;
    if (!code_function(code, offset, &f) || f.start >= offset || offset - f.start > SCANNED_MOST)
        return false;
    for (uint64_t at = f.start; at < offset;) {
        unsigned length = decode(code, at, &insn);
        slow = length && delays(&insn);
        at += length ? length : 1;
        if (at > offset) /* data between instructions */
            return false;
    }
    return slow;
}

uint64_t value_samples_of(struct value_reader *r, uint32_t image, uint64_t offset)
{
    struct code *code = value_code(r, image);
    struct x86_insn insn = { 0 }, next = { 0 };
    unsigned length = code ? decode(code, offset, &insn) : 0;
    if (!length)
        return value_samples_in(r, image, offset, offset + 1);
    uint64_t samples =
        is_delayed(code, offset) ? 0 : value_samples_in(r, image, offset, offset + length);
    if (!delays(&insn))
        return samples;
    unsigned behind = decode(code, offset + length, &next);
    uint64_t from = offset + length;
    return add_saturated(samples, value_samples_in(r, image, from, from + (behind ? behind : 1)));
}

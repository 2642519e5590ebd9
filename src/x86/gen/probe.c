#include "x86/gen/probe.h"

#include <stdio.h>
#include <string.h>

static unsigned legacy_bytes(const struct probe *p, uint8_t *code)
{
    unsigned n = 0;
    if (p->features & FEATURE_LOCK)
        code[n++] = 0xf0;
    if (p->value[SELECT_A32])
        code[n++] = 0x67;
    if (p->value[SELECT_SIZE])
        code[n++] = 0x66;
    if (p->value[SELECT_REP])
        code[n++] = p->value[SELECT_REP] == 1 ? 0xf3 : 0xf2;
    unsigned rex = 8u * p->value[SELECT_W] | p->value[SELECT_B] |
        (p->features & FEATURE_R ? 4u : 0) | (p->features & FEATURE_X ? 2u : 0);
    if (rex)
        code[n++] = (uint8_t)(0x40 | rex);
    if (p->row != ROW_ONE_BYTE)
        code[n++] = 0x0f;
    if (p->row == ROW_0F38 || p->row == ROW_0F3A)
        code[n++] = p->row == ROW_0F38 ? 0x38 : 0x3a;
    return n;
}

static unsigned extension_bits(const struct probe *p)
{
    return (p->features & FEATURE_R ? 0 : 0x80u) | (p->features & FEATURE_X ? 0 : 0x40u) |
        (p->features & FEATURE_B ? 0 : 0x20u);
}

static unsigned vector_bytes(const struct probe *p, uint8_t *code)
{
    unsigned n = 0, w = p->value[SELECT_W], length = p->value[SELECT_REP];
    unsigned vvvv = (~p->vvvv & 15) << 3;
    if (p->features & FEATURE_A32)
        code[n++] = 0x67;
    if (p->row >= ROW_XOP || p->row < ROW_EVEX) {
        bool xop = p->row >= ROW_XOP;
        unsigned map = xop ? 8 + p->row - ROW_XOP : 1 + (p->row - ROW_VEX) / 4;
        code[n++] = xop ? 0x8f : 0xc4;
        code[n++] = (uint8_t)(extension_bits(p) | map);
        code[n++] = (uint8_t)(w << 7 | vvvv | length << 2 | (xop ? 0 : (p->row - ROW_VEX) % 4));
        return n;
    }
    code[n++] = 0x62;
    code[n++] = (uint8_t)(extension_bits(p) | (p->features & FEATURE_R2 ? 0 : 0x10u) |
        (1 + (p->row - ROW_EVEX) / 4));
    code[n++] = (uint8_t)(w << 7 | vvvv | 4 | (p->row - ROW_EVEX) % 4);
    code[n++] = (uint8_t)((p->features & FEATURE_ZERO ? 0x80u : 0) | length << 5 |
        p->value[SELECT_SIZE] * 0x10u | (p->features & FEATURE_V2 ? 0 : 8u) | p->mask);
    return n;
}

/* In a SIB byte (and for vector indexes), the index differs from modrm.reg: gathers need that. */
unsigned probe_bytes(const struct probe *p, uint8_t code[15])
{
    memset(code, 0, 15);
    unsigned n = p->row < ROW_VEX ? legacy_bytes(p, code) : vector_bytes(p, code);
    unsigned reg = p->value[SELECT_REG], rm = p->value[SELECT_RM];
    code[n++] = p->opcode;
    if (!p->modrm)
        return n;
    if (p->features & FEATURE_RIP) {
        code[n++] = (uint8_t)(reg << 3 | 5);
        return n + 4;
    }
    code[n++] = (uint8_t)((p->value[SELECT_MOD3] ? 0xc0 : 0x40) | reg << 3 | rm);
    if (p->value[SELECT_MOD3])
        return n;
    if (rm == 4)
        code[n++] = (uint8_t)((reg ^ 1) << 3);
    code[n++] = 1;
    return n;
}

static bool ask(struct model *m, const struct probe *p, struct model_insn *out, ZyanStatus *status)
{
    uint8_t code[15];
    probe_bytes(p, code);
    if (p->row == ROW_0F && p->opcode == 0x0f) { /* 3DNow!: any good suffix, here pfadd */
        unsigned n = probe_bytes(p, code);
        code[n] = 0x9e;
    }
    return model_decode(m, code, sizeof code, out, status);
}

/* What the rules between fields leave to choose: vvvv must differ from other registers of some
 * instructions, and some need a mask. False: no choice makes the instruction valid.
 * `fixed`: the features that may not be chosen. What Zydis has no definition of (decoding error)
 * does not depend on them. */
static bool choose(struct model *m, struct probe *p, unsigned fixed, struct model_insn *out)
{
    static const uint8_t vvvvs[] = {0, 2, 5, 10};
    bool vector = p->row >= ROW_VEX, evex = p->row >= ROW_EVEX && p->row < ROW_XOP;
    unsigned features = p->features;
    ZyanStatus status = ZYAN_STATUS_SUCCESS;
    for (unsigned i = 0; i < (vector ? 16 : 1) && status != ZYDIS_STATUS_DECODING_ERROR; i++) {
        unsigned vvvv = vvvvs[i >> 2], mask = i & 1, b = i >> 1 & 1;
        if ((mask && !evex) || (b && (p->value[SELECT_MOD3] == 0 || fixed & FEATURE_B)))
            continue;
        if (((fixed & FEATURE_VVVV) && !vvvv) || ((fixed & FEATURE_V8) && vvvv < 8) ||
            ((fixed & FEATURE_MASK) && !mask) || ((fixed & FEATURE_NO_MASK) && mask))
            continue;
        p->vvvv = vvvv;
        p->mask = mask;
        p->features = features | (b ? FEATURE_B : 0);
        bool good = ask(m, p, out, &status);
        p->features = features;
        if (good)
            return true;
    }
    return false;
}

/* Whether the encoding can have the feature at all: otherwise there is nothing to forbid. */
static bool applies(const struct probe *p, unsigned feature)
{
    bool legacy = p->row < ROW_VEX, evex = p->row >= ROW_EVEX && p->row < ROW_XOP;
    switch (feature) {
    case FEATURE_R: case FEATURE_X: return true;
    case FEATURE_B: case FEATURE_VVVV: case FEATURE_V8: case FEATURE_A32: return !legacy;
    case FEATURE_LOCK: return legacy;
    case FEATURE_RIP: return p->modrm && !p->value[SELECT_MOD3] && p->value[SELECT_RM] == 5;
    default: return evex;
    }
}

/* Which features make the valid instruction `p` invalid. */
static unsigned forbidden(struct model *m, const struct probe *p)
{
    unsigned forbid = 0;
    for (unsigned bit = 0; bit < FEATURES; bit++) {
        unsigned feature = 1u << bit;
        struct probe q = *p;
        struct model_insn unused;
        if (!applies(p, feature))
            continue;
        unsigned fixed = feature;
        if (feature == FEATURE_ZERO)
            fixed |= FEATURE_MASK;
        if (feature == FEATURE_ZERO_ALONE)
            fixed |= FEATURE_NO_MASK | FEATURE_ZERO;
        q.features |= fixed;
        if (!choose(m, &q, fixed, &unused))
            forbid |= feature;
    }
    return forbid;
}

/* Parts of the form that only the probe's own bytes show. */
static void shape(struct model *m, const struct probe *p, const struct model_insn *in,
    struct x86_form *form)
{
    uint8_t code[15];
    unsigned length = probe_bytes(p, code), disp = 0;
    bool memory = p->modrm && !p->value[SELECT_MOD3];
    if (memory && in->insn.raw.disp.size == 0) {
        form->bits |= FORM_REGISTER_ONLY;
        length -= p->value[SELECT_RM] == 4 ? 2 : 1;
        memory = false;
    }
    for (unsigned i = 0; memory && i < in->insn.operand_count; i++)
        if (in->operand[i].encoding == ZYDIS_OPERAND_ENCODING_MODRM_RM)
            while (1 << form->disp8_shift < in->operand[i].mem.disp.value)
                form->disp8_shift++;
    if ((form->implicit_memory[0] & 15) == AT_ABSOLUTE)
        disp = p->value[SELECT_A32] ? 4 : 8;
    if (length + disp + form->imm_size != in->insn.length && !m->problem) {
        m->problem = "a length that the parts do not make";
        snprintf(m->about, sizeof m->about, "%s, row %u, opcode %02x: %u + %u + %u, not %u",
            ZydisMnemonicGetString(in->insn.mnemonic), p->row, p->opcode, length, disp,
            form->imm_size, in->insn.length);
    }
}

bool probe_leaf(struct model *m, const struct probe *p, const struct x86_form *alike,
    struct x86_form *form)
{
    struct model_insn in;
    struct probe chosen = *p;
    bool xop = p->row == ROW_ONE_BYTE && p->opcode == 0x8f && p->value[SELECT_REG] != 0;
    memset(form, 0, sizeof *form);
    if (xop || !choose(m, &chosen, 0, &in))
        return false;
    model_form(m, &in, form);
    shape(m, &chosen, &in, form);
    if (alike) {
        form->forbid = alike->forbid;
        if (memcmp(form, alike, sizeof *form) == 0)
            return true;
    }
    form->forbid = (uint16_t)forbidden(m, p);
    return true;
}

unsigned probe_values(unsigned row, unsigned selector)
{
    static const uint8_t ranges[SELECTORS] = SELECTOR_RANGES;
    bool legacy = row < ROW_VEX, evex = row >= ROW_EVEX && row < ROW_XOP;
    switch (selector) {
    case SELECT_SIZE: return legacy || evex ? 2 : 1;
    case SELECT_REP: return legacy ? 3 : evex ? 4 : 2;
    case SELECT_B: case SELECT_A32: return legacy ? 2 : 1;
    default: return ranges[selector];
    }
}

const uint8_t *probe_leaf_values(unsigned leaf)
{
    static const uint8_t ranges[SELECTORS] = SELECTOR_RANGES;
    static uint8_t values[PROBE_LEAVES][SELECTORS];
    static bool made;
    for (unsigned i = 0; i < PROBE_LEAVES && !made; i++)
        for (unsigned s = 0, rest = i; s < SELECTORS; rest /= ranges[s], s++)
            values[i][s] = (uint8_t)(rest % ranges[s]);
    made = true;
    return values[leaf];
}

/* Tries all selectors until the opcode is valid. No vector opcode is valid for some modrm.rm only,
 * but that of vector indexes, 4. */
int probe_modrm(struct model *m, unsigned row, uint8_t opcode)
{
    uint8_t limits[SELECTORS];
    for (unsigned s = 0; s < SELECTORS; s++)
        limits[s] = (uint8_t)probe_values(row, s);
    for (unsigned leaf = 0; leaf < PROBE_LEAVES; leaf++) {
        const uint8_t *values = probe_leaf_values(leaf);
        bool skip = row >= ROW_VEX && values[SELECT_RM] % 4 != 0;
        for (unsigned s = 0; s < SELECTORS && !skip; s++)
            skip = values[s] >= limits[s];
        if (skip)
            continue;
        struct probe p = {.row = row, .opcode = opcode, .modrm = true};
        struct model_insn in;
        memcpy(p.value, values, sizeof p.value);
        if (choose(m, &p, 0, &in))
            return in.insn.attributes & ZYDIS_ATTRIB_HAS_MODRM ? 1 : 0;
    }
    return -1;
}

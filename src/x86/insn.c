#include "x86/insn.h"

#include "sigsafe/prefetch.h"
#include "x86/form.h"

enum {
    LONGEST = 15,
    LOOKAHEAD = X86_LOOKAHEAD /* decode() looks at no byte from here on, whatever the bytes are: it
                                 notices that an instruction is too long once it knows an opcode's
                                 or prefix's end */
};

/* What the first byte of an instruction, or the one behind a prefix, is. */
enum lead {
    LEAD_OPCODE,
    LEAD_0F,
    LEAD_VECTOR, /* VEX, EVEX, XOP; of the last one, pop otherwise */
    LEAD_PREFIX, /* from here on */
    LEAD_REX = LEAD_PREFIX, LEAD_66, LEAD_67, LEAD_LOCK, LEAD_F3, LEAD_F2, LEAD_SEGMENT, LEAD_FS,
    LEAD_GS,
};

static const uint8_t leads[256] = {
    [0x0f] = LEAD_0F, [0x62] = LEAD_VECTOR, [0x8f] = LEAD_VECTOR, [0xc4] = LEAD_VECTOR,
    [0xc5] = LEAD_VECTOR,
    [0x26] = LEAD_SEGMENT, [0x2e] = LEAD_SEGMENT, [0x36] = LEAD_SEGMENT, [0x3e] = LEAD_SEGMENT,
    [0x40 ... 0x4f] = LEAD_REX, [0x64] = LEAD_FS, [0x65] = LEAD_GS, [0x66] = LEAD_66,
    [0x67] = LEAD_67, [0xf0] = LEAD_LOCK, [0xf2] = LEAD_F2, [0xf3] = LEAD_F3,
};

/* Of a modrm byte: bytes of displacement, and MODRM_... */
enum { MODRM_DISP = 7, MODRM_SIB = 8, MODRM_RIP = 16, MODRM_REGISTER = 32 };

static const uint8_t modrms[32] = { /* by mod << 3 | rm */
    0, 0, 0, 0, MODRM_SIB, 4 | MODRM_RIP, 0, 0,
    1, 1, 1, 1, 1 | MODRM_SIB, 1, 1, 1,
    4, 4, 4, 4, 4 | MODRM_SIB, 4, 4, 4,
    MODRM_REGISTER, MODRM_REGISTER, MODRM_REGISTER, MODRM_REGISTER,
    MODRM_REGISTER, MODRM_REGISTER, MODRM_REGISTER, MODRM_REGISTER,
};

/* One instruction being decoded. */
struct state {
    const uint8_t *code;
    unsigned at;       /* next byte; everything before it has been looked at */
    unsigned row;      /* of x86_roots */
    unsigned features; /* FEATURE_... */
    unsigned traits;
    unsigned size, rep, w, b_select; /* selectors */
    unsigned r, x, b;  /* extensions of modrm.reg, index, base: 0 or 8; r and x may have 16 */
    unsigned vvvv;
};

/* Legacy prefixes. Returns REX or 0: a REX that another prefix follows is none. */
static unsigned legacy_prefixes(struct state *s)
{
    unsigned rex = 0;
    for (s->at = 0; s->at < LONGEST; s->at++) {
        uint8_t byte = s->code[s->at];
        unsigned lead = leads[byte];
        if (lead < LEAD_PREFIX)
            break;
        rex = lead == LEAD_REX ? byte : 0;
        switch (lead) {
        case LEAD_66: s->traits |= X86_PREFIX66; break;
        case LEAD_67: s->traits |= X86_ADDRESS32; break;
        case LEAD_LOCK: s->traits |= X86_LOCK; break;
        case LEAD_F3: s->traits = (s->traits & ~(unsigned)X86_REPNE) | X86_REP; break;
        case LEAD_F2: s->traits = (s->traits & ~(unsigned)X86_REP) | X86_REPNE; break;
        case LEAD_FS: s->traits = (s->traits & ~(unsigned)X86_GS) | X86_FS; break;
        case LEAD_GS: s->traits = (s->traits & ~(unsigned)X86_FS) | X86_GS; break;
        default: break; /* es, cs, ss, ds: without effect in 64-bit mode */
        }
    }
    return rex;
}

/* REX, or 0, which lies right before s->at. Whether there is one is hard to predict: no branch
 * depends on it. */
static inline __attribute__((always_inline)) void rex_take(struct state *s, unsigned rex,
    struct x86_insn *out)
{
    unsigned has = rex >> 6;
    out->at_prefix = (uint8_t)(s->at - has);
    s->traits |= has * X86_HAS_REX;
    s->w = rex >> 3 & 1;
    s->r = rex << 1 & 8;
    s->x = rex << 2 & 8;
    s->b = rex << 3 & 8;
    s->b_select = rex & 1;
    s->features = (rex >> 2 & 1) * FEATURE_R | (rex >> 1 & 1) * FEATURE_X;
}

static void legacy_map(struct state *s, struct x86_insn *out)
{
    s->size = s->traits / X86_PREFIX66 & 1;
    s->rep = s->traits & X86_REP ? 1 : s->traits & X86_REPNE ? 2 : 0;
    if (s->traits & X86_LOCK)
        s->features |= FEATURE_LOCK;
    out->encoding = X86_LEGACY;
    s->row = ROW_ONE_BYTE;
    if (s->code[s->at] == 0x0f) {
        s->row = ROW_0F;
        uint8_t second = s->code[++s->at];
        if (second == 0x38 || second == 0x3a) {
            s->row = second == 0x38 ? ROW_0F38 : ROW_0F3A;
            s->at++;
        }
    }
    out->map = (uint8_t)s->row;
}

/* Bits that the vector encodings have inverted come in as they are, and go out straight. */
static void extend(struct state *s, unsigned rxb_inverted)
{
    unsigned rxb = ~rxb_inverted;
    s->r |= rxb >> 4 & 8;
    s->x |= rxb >> 3 & 8;
    s->b |= rxb >> 2 & 8;
    s->features |= (rxb >> 7 & 1) * FEATURE_R | (rxb >> 6 & 1) * FEATURE_X |
        (rxb >> 5 & 1) * FEATURE_B;
}

static void set_vvvv(struct state *s, unsigned byte)
{
    s->vvvv = ~byte >> 3 & 15;
    if (s->vvvv)
        s->features |= FEATURE_VVVV | (s->vvvv >> 3) * FEATURE_V8;
}

/* VEX and XOP:  C5 RvvvvLpp   C4/8F RXBmmmmm WvvvvLpp */
static bool vex(struct state *s, struct x86_insn *out)
{
    const uint8_t *p = s->code + s->at;
    unsigned last, map = 1;
    if (p[0] == 0xc5) {
        out->encoding = X86_VEX2;
        last = p[1] & 0x7f;
        extend(s, p[1] | 0x60u);
        s->at += 2;
    } else {
        out->encoding = p[0] == 0xc4 ? X86_VEX3 : X86_XOP;
        map = p[1] & 0x1f;
        last = p[2];
        extend(s, p[1]);
        s->w = last >> 7;
        s->at += 3;
    }
    set_vvvv(s, last);
    s->rep = last >> 2 & 1;
    out->map = (uint8_t)map;
    if (out->encoding == X86_XOP) {
        s->row = ROW_XOP + map - 8;
        return map >= 8 && map <= 10 && (last & 3) == 0;
    }
    s->row = ROW_VEX + (map - 1) * 4 + (last & 3);
    return map >= 1 && map <= 3;
}

/* EVEX:  62 RXBR'0mmm Wvvvv1pp zL'LbV'aaa */
static bool evex(struct state *s, struct x86_insn *out)
{
    const uint8_t *p = s->code + s->at;
    unsigned map = p[1] & 7, mask = p[3] & 7;
    out->encoding = X86_EVEX;
    out->map = (uint8_t)map;
    s->at += 4;
    if ((p[1] & 8) || !(p[2] & 4) || map == 0 || map == 4 || map == 7)
        return false;
    extend(s, p[1]);
    set_vvvv(s, p[2]);
    s->w = p[2] >> 7;
    s->size = p[3] >> 4 & 1;
    s->rep = p[3] >> 5 & 3;
    if (!(p[1] & 0x10)) {
        s->r |= 16;
        s->features |= FEATURE_R2;
    }
    if (!(p[3] & 8)) {
        s->vvvv |= 16;
        s->features |= FEATURE_V2;
    }
    s->features |= mask ? FEATURE_MASK : FEATURE_NO_MASK;
    if (p[3] & 0x80)
        s->features |= mask ? FEATURE_ZERO : FEATURE_ZERO_ALONE;
    s->row = ROW_EVEX + (map - 1) * 4 + (p[2] & 3u);
    return true;
}

/* VEX, EVEX and XOP allow no 66, F2, F3, LOCK or REX before them. */
static bool vector_map(struct state *s, struct x86_insn *out)
{
    bool known = s->code[s->at] == 0x62 ? evex(s, out) : vex(s, out);
    if (s->traits & (X86_PREFIX66 | X86_REP | X86_REPNE | X86_LOCK | X86_HAS_REX))
        return false;
    if (s->traits & X86_ADDRESS32)
        s->features |= FEATURE_A32;
    return known;
}

static bool is_vector(const uint8_t *p)
{
    return leads[p[0]] == LEAD_VECTOR && (p[0] != 0x8f || (p[1] & 0x1f) >= 8);
}

/* modrm, sib and displacement, s->at at modrm. `word` is its row of modrms. Few branches: whether
 * there is a SIB or a displacement is hard to predict. */
static inline __attribute__((always_inline)) void address(struct state *s, unsigned modrm,
    unsigned word, struct x86_insn *out)
{
    unsigned at = s->at + 1, disp = word & MODRM_DISP, has = word / MODRM_SIB & 1;
    unsigned sib = s->code[at];
    out->at_sib = (uint8_t)(has * at);
    out->base = (uint8_t)(((has ? sib : modrm) & 7) | s->b);
    out->index = (uint8_t)(has ? (sib >> 3 & 7) | s->x : X86_NONE);
    out->scale = (uint8_t)(1u << (has * (sib >> 6)));
    at += has;
    if (has & ((sib & 7) == 5) & (modrm < 0x40)) {
        out->base = X86_NONE;
        disp = 4;
    }
    if (word & MODRM_RIP) {
        out->base = X86_RIP;
        s->traits |= X86_RIP_RELATIVE;
        s->features |= FEATURE_RIP;
    }
    out->at_disp = (uint8_t)(disp ? at : 0);
    out->disp_size = (uint8_t)disp;
    s->at = at + disp;
}

/* Which registers a vector's index and the index "none" are depends on the form. */
static inline __attribute__((always_inline)) void index_settle(struct state *s,
    const struct x86_form *form, struct x86_insn *out)
{
    if (form->bits & FORM_VSIB) {
        s->traits |= X86_VSIB;
        out->index |= (uint8_t)(s->features & FEATURE_V2 ? 16 : 0);
    } else if (out->index == X86_RSP) {
        out->index = X86_NONE;
    }
}

static bool is_3dnow(unsigned suffix)
{
    return x86_3dnow[suffix >> 3] >> (suffix & 7) & 1;
}

/* Opcode and what follows it. False: no such instruction. */
static inline __attribute__((always_inline)) bool finish(struct state *s, struct x86_insn *out)
{
    const uint8_t *code = s->code;
    const struct x86_root *root;
    const struct x86_form *form;
    unsigned modrm = 0, word = 0, leaf;

    out->at_opcode = (uint8_t)s->at;
    out->opcode = code[s->at++];
    root = &x86_roots[s->row * 256 + out->opcode];
    const uint16_t *stride = x86_schemes[root->scheme].stride;
    leaf = root->base + s->size * stride[SELECT_SIZE] + s->rep * stride[SELECT_REP] +
        s->w * stride[SELECT_W] + s->b_select * stride[SELECT_B] +
        (s->traits / X86_ADDRESS32 & 1) * stride[SELECT_A32];
    if (root->modrm) {
        modrm = code[s->at];
        word = modrms[(modrm >> 3 & 0x18) | (modrm & 7)];
        leaf += (word / MODRM_REGISTER) * stride[SELECT_MOD3] +
            (modrm >> 3 & 7) * stride[SELECT_REG] + (modrm & 7) * stride[SELECT_RM];
        out->at_modrm = (uint8_t)s->at;
        out->reg = (uint8_t)((modrm >> 3 & 7) | s->r);
    }
    out->form = x86_leaves[leaf];
    form = &x86_forms[out->form];
    if (root->modrm) {
        if (form->bits & FORM_REGISTER_ONLY)
            word = MODRM_REGISTER;
        address(s, modrm, word, out);
    }
    if (form->kind == X86_INVALID || (form->forbid & s->features))
        return false;
    if (form->bits & FORM_ABSOLUTE) {
        out->at_disp = (uint8_t)s->at;
        out->disp_size = s->traits & X86_ADDRESS32 ? 4 : 8;
        s->at += out->disp_size;
    }
    if (form->bits & FORM_OPCODE_REGISTER)
        out->reg = (uint8_t)((out->opcode & 7u) | s->b);
    index_settle(s, form, out);
    out->kind = form->kind;
    out->imm_size = form->imm_size;
    out->at_imm = (uint8_t)(form->imm_size ? s->at : 0);
    s->at += form->imm_size;
    return !(form->bits & FORM_3DNOW) || is_3dnow(code[out->at_imm]);
}

/* What was found, and whether it is an instruction. Returns its length, or 0. */
static inline __attribute__((always_inline)) unsigned conclude(struct state *s, bool good,
    struct x86_insn *out, unsigned *seen)
{
    *seen = s->at;
    if (s->w)
        s->traits |= X86_REX_W;
    out->vvvv = (uint8_t)s->vvvv;
    out->traits = (uint16_t)s->traits;
    out->length = (uint8_t)s->at;
    return good ? s->at : 0;
}

/* Any prefixes and maps. */
static unsigned decode_any(const uint8_t *code, struct x86_insn *out, unsigned *seen)
{
    struct state s = {.code = code, .vvvv = X86_NONE};
    bool good = true;
    unsigned rex = legacy_prefixes(&s);
    rex_take(&s, rex, out);
    if (is_vector(code + s.at))
        good = vector_map(&s, out);
    else
        legacy_map(&s, out);
    good = good && s.at < LONGEST && finish(&s, out) && s.at <= LONGEST;
    return conclude(&s, good, out, seen);
}

/* `code` has LOOKAHEAD readable bytes. Returns the length, 0 for none; *seen: bytes looked at. Most
 * instructions have no prefix but REX, and are in the one-byte map or in 0F: for these the compiler
 * leaves out what does not matter. */
static unsigned decode(const uint8_t *code, struct x86_insn *out, unsigned *seen)
{
    unsigned has = code[0] >> 4 == 4, lead = leads[code[has]];
    *out = (struct x86_insn){.reg = X86_NONE, .base = X86_NONE, .index = X86_NONE, .scale = 1};
    if (lead > LEAD_0F || (lead == LEAD_0F && (code[has + 1] & ~2) == 0x38))
        return decode_any(code, out, seen);
    struct state s = {.code = code, .vvvv = X86_NONE, .at = has};
    rex_take(&s, code[0] & -has, out);
    s.at += lead == LEAD_0F;
    s.row = lead == LEAD_0F ? ROW_0F : ROW_ONE_BYTE;
    out->encoding = X86_LEGACY;
    out->map = (uint8_t)s.row;
    return conclude(&s, finish(&s, out), out, seen);
}

/* Fewer bytes than the longest instruction: decodes a copy with zeros behind it. */
static unsigned decode_short(const uint8_t *code, size_t available, struct x86_insn *out)
{
    uint8_t copy[LOOKAHEAD] = {0};
    unsigned seen;
    for (size_t i = 0; i < available; i++)
        copy[i] = code[i];
    unsigned length = decode(copy, out, &seen);
    if (length && length <= available)
        return length;
    out->length = 0;
    out->kind = seen > available && available < LONGEST ? X86_TRUNCATED : X86_INVALID;
    return 0;
}

static void lines_prefetch(const void *from, size_t bytes)
{
    enum { LINE = 64 };
    for (size_t i = 0; i < bytes; i += LINE)
        prefetch_read((const char *)from + i);
}

void x86_tables_prefetch_as(void)
{
    /* Measured: with 40 forms a third of the gain is lost, with 512 nothing is gained. */
    enum { SCHEMES_BYTES = 256, LEAVES = 512, FORMS = 256 };
    lines_prefetch(leads, sizeof leads);
    lines_prefetch(x86_roots, 256 * sizeof *x86_roots);
    lines_prefetch(x86_schemes, SCHEMES_BYTES);
    lines_prefetch(x86_leaves, LEAVES * sizeof *x86_leaves);
    lines_prefetch(x86_forms, FORMS * sizeof *x86_forms);
}

unsigned x86_shape_as(const uint8_t *code, size_t available, struct x86_insn *out)
{
    unsigned seen;
    if (available < LOOKAHEAD)
        return decode_short(code, available, out);
    unsigned length = decode(code, out, &seen);
    if (length == 0) {
        out->length = 0;
        out->kind = X86_INVALID;
    }
    return length;
}

/* ---- what is read and written ---- */

/* How one field that holds a general register adds to the masks. Without REX, byte registers 4 to
 * 7 are ah, ch, dh and bh. */
static inline __attribute__((always_inline)) void use_field(struct x86_insn *insn, unsigned field,
    unsigned use, unsigned reg)
{
    unsigned gpr = use & FIELD_GPR;
    insn->fields |= (uint8_t)(field * gpr);
    if (gpr && use >> FIELD_WIDTH_SHIFT == WIDTH_1 && reg - 4 < 4 &&
        !(insn->traits & X86_HAS_REX)) {
        insn->traits |= X86_HIGH_BYTE;
        reg -= 4;
    }
    insn->writes |= (uint16_t)((use / FIELD_WRITE & 1) << (reg & 15));
    insn->reads |= (uint16_t)((use / FIELD_READ & 1) << (reg & 15));
}

/* The registers of a memory operand. */
static void use_address(struct x86_insn *insn, const uint8_t *code, const struct x86_form *form)
{
    if (!(form->access & X86_MEM))
        return;
    unsigned base = insn->base < 16;
    unsigned index = (insn->index != X86_NONE) & !(form->bits & FORM_VSIB);
    unsigned reads = base << (insn->base & 15) | index << (insn->index & 15);
    insn->fields |= (uint8_t)(base * X86_FIELD_BASE | index * X86_FIELD_INDEX);
    if (insn->encoding == X86_EVEX && code[insn->at_opcode - 1] & 7 &&
        (form->access & (X86_MEM_READ | X86_MEM_WRITE)))
        insn->access |= X86_MEM_CONDITIONAL;
    insn->reads |= (uint16_t)(form->class == X86_CLASS_NOP ? 0 : reads);
}

/* A count of 0, after masking, leaves all flags as they were; one of 1 defines OF. */
static void shift_by_immediate(struct x86_insn *insn, const uint8_t *code)
{
    unsigned count = code[insn->at_imm] & (insn->traits & X86_REX_W ? 63u : 31u);
    if (count == 0)
        insn->flags_killed = insn->flags_changed = 0;
    else if (count == 1)
        insn->flags_killed |= X86_OF;
}

void x86_uses_as(struct x86_insn *insn, const uint8_t *code)
{
    /* Where there is a memory operand, form->rm is 0. */
    const struct x86_form *form = &x86_forms[insn->form];
    bool in_opcode = form->bits & FORM_OPCODE_REGISTER;
    insn->class = form->class;
    insn->flags_read = form->flags_read;
    insn->flags_killed = form->flags_killed;
    insn->flags_changed = form->flags_changed;
    insn->access = form->access;
    insn->mem_size = form->mem_size;
    insn->writes = form->writes;
    insn->reads = form->reads;
    insn->implicit = form->reads | form->writes;
    insn->fields = 0;
    use_field(insn, in_opcode ? X86_FIELD_OPCODE : X86_FIELD_REG, form->reg, insn->reg);
    use_field(insn, X86_FIELD_RM, form->rm, insn->base);
    if (form->vvvv)
        use_field(insn, X86_FIELD_VVVV, form->vvvv, insn->vvvv);
    use_address(insn, code, form);
    if (form->bits & FORM_SHIFT_IMM)
        shift_by_immediate(insn, code);
}

unsigned x86_decode_as(const uint8_t *code, size_t available, struct x86_insn *out)
{
    unsigned length = x86_shape_as(code, available, out);
    if (length)
        x86_uses_as(out, code);
    return length;
}

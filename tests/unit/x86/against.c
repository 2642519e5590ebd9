#include "against.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void against_init(struct against *a)
{
    memset(a, 0, sizeof *a);
    model_init(&a->model);
}

__attribute__((format(printf, 4, 5)))
static void mismatch(struct against *a, const uint8_t *code, size_t size, const char *format, ...)
{
    va_list arguments;
    if (a->mismatches++ >= 40)
        return;
    for (size_t i = 0; i < size && i < 15; i++)
        fprintf(stderr, "%02x ", code[i]);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

/* -1: not a general register */
static int number(ZydisRegister reg)
{
    ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
    return whole >= ZYDIS_REGISTER_RAX && whole <= ZYDIS_REGISTER_R15 ?
        (int)(whole - ZYDIS_REGISTER_RAX) : -1;
}

/* Where the decoder means something else than Zydis says, and why. */
static bool operands_differ(const struct model_insn *in)
{
    switch (in->insn.mnemonic) {
    case ZYDIS_MNEMONIC_BSF: case ZYDIS_MNEMONIC_BSR: return true; /* of 0, the register stays */
    default: break;
    }
    switch (in->insn.meta.category) {
    case ZYDIS_CATEGORY_WIDENOP: return true; /* no operand of a no-operation is read */
    case ZYDIS_CATEGORY_STRINGOP: case ZYDIS_CATEGORY_IOSTRINGOP:
        return true; /* F2 repeats movs, lods and stos too */
    case ZYDIS_CATEGORY_PADLOCK: return true; /* not described */
    default: return false;
    }
}

struct masks {
    unsigned reads, writes;
};

static struct masks masks_of(const struct model_insn *in)
{
    struct masks m = {0};
    for (unsigned i = 0; i < in->insn.operand_count; i++) {
        const ZydisDecodedOperand *o = &in->operand[i];
        if (o->type == ZYDIS_OPERAND_TYPE_MEMORY) {
            if (number(o->mem.base) >= 0)
                m.reads |= 1u << number(o->mem.base);
            if (number(o->mem.index) >= 0)
                m.reads |= 1u << number(o->mem.index);
        }
        if (o->type != ZYDIS_OPERAND_TYPE_REGISTER || number(o->reg.value) < 0)
            continue;
        unsigned bit = 1u << number(o->reg.value);
        bool writes = o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
        bool whole = o->size >= 32 && !(o->actions & ZYDIS_OPERAND_ACTION_CONDWRITE);
        m.writes |= writes ? bit : 0;
        m.reads |= (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ) || (writes && !whole) ? bit : 0;
    }
    return m;
}

static void compare_masks(struct against *a, const struct model_insn *in,
                          const struct x86_insn *got, const uint8_t *code)
{
    struct masks want = masks_of(in);
    if (operands_differ(in))
        return;
    if (got->reads != want.reads || got->writes != want.writes)
        mismatch(a, code, got->length, "%s: reads %04x writes %04x, not %04x %04x",
            ZydisMnemonicGetString(in->insn.mnemonic), got->reads, got->writes, want.reads,
            want.writes);
    const ZydisAccessedFlags *f = in->insn.cpu_flags;
    unsigned changed = f ? model_flags(f->modified | f->set_0 | f->set_1 | f->undefined) : 0;
    unsigned read = f ? model_flags(f->tested) : 0;
    bool no_shift = (x86_forms[got->form].bits & FORM_SHIFT_IMM) && got->flags_changed == 0;
    if (got->flags_read != read || (got->flags_changed != changed && !no_shift) ||
            (got->flags_killed & ~changed))
        mismatch(a, code, got->length,
                 "%s: flags read %02x killed %02x changed %02x, not %02x _ %02x",
                 ZydisMnemonicGetString(in->insn.mnemonic), got->flags_read, got->flags_killed,
                 got->flags_changed, read, changed);
}

static void compare_parts(struct against *a, const struct model_insn *in,
                          const struct x86_insn *got, const uint8_t *code)
{
    const ZydisDecodedInstructionRaw *raw = &in->insn.raw;
    bool modrm = in->insn.attributes & ZYDIS_ATTRIB_HAS_MODRM;
    bool amd3d = in->insn.encoding == ZYDIS_INSTRUCTION_ENCODING_3DNOW;
    unsigned imm = (raw->imm[0].size + raw->imm[1].size) / 8u;
    if (got->at_modrm != (modrm ? raw->modrm.offset : 0) || got->at_sib != raw->sib.offset ||
            got->at_disp != raw->disp.offset || got->disp_size != raw->disp.size / 8)
        mismatch(a, code, got->length, "%s: modrm %u sib %u disp %u/%u, not %u %u %u/%u",
            ZydisMnemonicGetString(in->insn.mnemonic), got->at_modrm, got->at_sib, got->at_disp,
            got->disp_size, raw->modrm.offset, raw->sib.offset, raw->disp.offset,
            raw->disp.size / 8);
    if (!amd3d && (got->imm_size != imm || got->at_imm != raw->imm[0].offset ||
                      got->opcode != in->insn.opcode))
        mismatch(a, code, got->length, "%s: opcode %02x imm %u/%u, not %02x %u/%u",
            ZydisMnemonicGetString(in->insn.mnemonic), got->opcode, got->at_imm, got->imm_size,
            in->insn.opcode, raw->imm[0].offset, imm);
}

/* lea has no segment; the decoder tells prefixes as they are. */
static bool segments_equal(const ZydisDecodedOperand *o, const struct x86_insn *got)
{
    unsigned segment = o->mem.segment == ZYDIS_REGISTER_FS ? X86_FS :
        o->mem.segment == ZYDIS_REGISTER_GS ? X86_GS : 0;
    return o->mem.type == ZYDIS_MEMOP_TYPE_AGEN || (got->traits & (X86_FS | X86_GS)) == segment;
}

/* The modrm operand, with its registers, displacement, size and segment. */
static void compare_memory(struct against *a, const struct model_insn *in,
                           const struct x86_insn *got, const uint8_t *code)
{
    for (unsigned i = 0; i < in->insn.operand_count; i++) {
        const ZydisDecodedOperand *o = &in->operand[i];
        if (o->type != ZYDIS_OPERAND_TYPE_MEMORY || o->encoding != ZYDIS_OPERAND_ENCODING_MODRM_RM)
            continue;
        bool vector = o->mem.type == ZYDIS_MEMOP_TYPE_VSIB;
        bool rip = o->mem.base == ZYDIS_REGISTER_RIP || o->mem.base == ZYDIS_REGISTER_EIP;
        unsigned base = rip ? X86_RIP : number(o->mem.base) < 0 ? X86_NONE :
            (unsigned)number(o->mem.base);
        unsigned index = vector ? (unsigned)ZydisRegisterGetId(o->mem.index) :
            number(o->mem.index) < 0 ? X86_NONE : (unsigned)number(o->mem.index);
        if (!(got->access & X86_MEM) || got->base != base || got->index != index ||
                (index != X86_NONE && got->scale != o->mem.scale) ||
                x86_displacement_as(got, code) != o->mem.disp.value ||
                got->mem_size != o->size / 8 ||
                !segments_equal(o, got) ||
                !(got->traits & X86_RIP_RELATIVE) == rip || !(got->traits & X86_VSIB) == vector)
            mismatch(a, code, got->length, "%s: memory base %u index %u scale %u disp %d size %u",
                ZydisMnemonicGetString(in->insn.mnemonic), got->base, got->index, got->scale,
                x86_displacement_as(got, code), got->mem_size);
        return;
    }
    if (got->access & X86_MEM)
        mismatch(a, code, got->length, "%s: a memory operand that is not there",
            ZydisMnemonicGetString(in->insn.mnemonic));
}

/* The first vector, MMX or mask register that the instruction writes; *more: another one, or a
 * tile. Numbers are from 1 on, and a hundred more for each bank; 0: none. */
static unsigned vector_written(const struct model_insn *in, bool *more)
{
    unsigned first = 0;
    *more = false;
    for (unsigned i = 0; i < in->insn.operand_count; i++) {
        const ZydisDecodedOperand *o = &in->operand[i];
        unsigned bank;
        if (o->type != ZYDIS_OPERAND_TYPE_REGISTER ||
            !(o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
            continue;
        *more |= ZydisRegisterGetClass(o->reg.value) == ZYDIS_REGCLASS_TMM;
        if (!model_bank(o->reg.value, &bank))
            continue;
        if (o->encoding == ZYDIS_OPERAND_ENCODING_MASK) {
            *more = true;
            continue;
        }
        *more |= first != 0;
        first = first ? first : 100 * bank + (unsigned)ZydisRegisterGetId(o->reg.value) + 1;
    }
    return first;
}

/* What beside general registers it writes is what its operands say. x87: test_x87.c. */
static void compare_wide(struct against *a, const struct model_insn *in, const struct x86_insn *got,
    const uint8_t *code)
{
    static const unsigned bytes[] = {16, 32, 64, 8, 8};
    struct x86_wide wide;
    bool more, other;
    bool is = x86_wide_result_as(got, code, &wide, &other);
    if (is && wide.bank == X86_BANK_X87)
        return;
    unsigned want = vector_written(in, &more), have = is ? 100u * wide.bank + wide.reg + 1u : 0;
    if (want != have || (more && !other) || (is && wide.bytes != bytes[wide.bank]))
        mismatch(a, code, got->length, "%s: writes vector register %u of %u bytes, not %u",
            ZydisMnemonicGetString(in->insn.mnemonic), have, wide.bytes, want);
}

/* Explicit operands that are read: each must be among the sources, as wide as it is. */
static void compare_values(struct against *a, const struct model_insn *in,
                           const struct x86_insn *got, const uint8_t *code)
{
    struct x86_definition sources[X86_DEFINITIONS_MAX];
    unsigned count = x86_sources_as(got, sources);
    const char *name = ZydisMnemonicGetString(in->insn.mnemonic);
    compare_wide(a, in, got, code);
    for (unsigned i = 0; i < in->insn.operand_count && !operands_differ(in); i++) {
        const ZydisDecodedOperand *o = &in->operand[i];
        if (o->type != ZYDIS_OPERAND_TYPE_REGISTER || number(o->reg.value) < 0 ||
                o->encoding == ZYDIS_OPERAND_ENCODING_NONE ||
                !(o->actions & ZYDIS_OPERAND_ACTION_MASK_READ))
            continue;
        bool found = false;
        for (unsigned k = 0; k < count; k++)
            found |= sources[k].reg == number(o->reg.value) &&
                sources[k].width * 8 == o->size;
        if (!found)
            mismatch(a, code, got->length, "%s: operand %u is no source", name, i);
    }
}

/* All that the table says, against what it would say of just this instruction. */
static void compare_form(struct against *a, const struct model_insn *in, const struct x86_insn *got,
    const uint8_t *code)
{
    struct x86_form want;
    const struct x86_form *form = &x86_forms[got->form];
    model_form(&a->model, in, &want);
    want.disp8_shift = form->disp8_shift; /* compare_memory has seen it */
    want.forbid = form->forbid;
    want.bits |= form->bits & FORM_REGISTER_ONLY;
    if (memcmp(&want, form, sizeof want) != 0)
        mismatch(a, code, got->length, "%s: kind %u class %u imm %u access %u, not %u %u %u %u, or "
            "another part of the form", ZydisMnemonicGetString(in->insn.mnemonic), form->kind,
            form->class, form->imm_size, form->access, want.kind, want.class, want.imm_size,
            want.access);
}

/* Rules between register numbers: Zydis checks those of gathers, AMX and complex multiplication. */
static bool registers_must_differ(const struct x86_insn *got, ZyanStatus status)
{
    bool complex = got->encoding == X86_EVEX && got->map == X86_MAP_6 &&
        (got->opcode & 0x7e) == 0x56;
    bool amx = got->encoding == X86_VEX3 && got->map == X86_MAP_0F38 &&
        (got->opcode == 0x5e || got->opcode == 0x5c);
    return status == ZYDIS_STATUS_BAD_REGISTER && ((got->traits & X86_VSIB) || complex || amx);
}

/* Without a displacement, SIB base 5 is none, whatever REX.B; with prefix 67 Zydis 4.0 takes it for
 * r13d. */
static bool takes_r13_for_a_base(const struct model_insn *in)
{
    for (unsigned i = 0; i < in->insn.operand_count; i++)
        if (in->operand[i].type == ZYDIS_OPERAND_TYPE_MEMORY && in->insn.raw.sib.offset &&
                in->operand[i].mem.base == ZYDIS_REGISTER_R13D && in->insn.raw.modrm.mod == 0)
            return true;
    return false;
}

unsigned against_zydis(struct against *a, const uint8_t *code, size_t size)
{
    struct model_insn in;
    struct x86_insn got;
    ZyanStatus status;
    bool good = model_decode(&a->model, code, size, &in, &status);
    unsigned length = x86_decode_as(code, size, &got);
    if (!good && !length) {
        a->refused++;
        return 0;
    }
    if (!good && registers_must_differ(&got, status)) {
        a->excused++;
        return length;
    }
    if (!good || in.insn.length != length) {
        mismatch(a, code, size, "%s: length %u, not %u (status %x)",
            good ? ZydisMnemonicGetString(in.insn.mnemonic) : "-", length,
            good ? in.insn.length : 0u, status);
        return good ? in.insn.length : length;
    }
    a->compared++;
    compare_form(a, &in, &got, code);
    compare_values(a, &in, &got, code);
    compare_parts(a, &in, &got, code);
    if (takes_r13_for_a_base(&in)) {
        a->excused++;
        return length;
    }
    compare_masks(a, &in, &got, code);
    compare_memory(a, &in, &got, code);
    return length;
}

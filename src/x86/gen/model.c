#include "x86/gen/model.h"

#include <stdio.h>
#include <string.h>

void model_init(struct model *m)
{
    *m = (struct model){0};
    ZydisDecoderInit(&m->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    ZydisDecoderEnableMode(&m->decoder, ZYDIS_DECODER_MODE_MPX, ZYAN_FALSE);
}

bool model_decode(const struct model *m, const uint8_t *code, size_t size, struct model_insn *out,
    ZyanStatus *status)
{
    *status = ZydisDecoderDecodeFull(&m->decoder, code, size, &out->insn, out->operand);
    if (!ZYAN_SUCCESS(*status))
        return false;
    switch (out->insn.meta.isa_ext) { /* Zydis knows Xeon Phi's first instructions in any mode */
    case ZYDIS_ISA_EXT_KNC: case ZYDIS_ISA_EXT_KNCE: case ZYDIS_ISA_EXT_KNCV:
        *status = ZYDIS_STATUS_DECODING_ERROR;
        return false;
    default: return true;
    }
}

unsigned model_flags(ZydisAccessedFlagsMask mask)
{
    static const struct { ZydisAccessedFlagsMask from; unsigned to; } map[] = {
        {ZYDIS_CPUFLAG_CF, X86_CF}, {ZYDIS_CPUFLAG_PF, X86_PF}, {ZYDIS_CPUFLAG_AF, X86_AF},
        {ZYDIS_CPUFLAG_ZF, X86_ZF}, {ZYDIS_CPUFLAG_SF, X86_SF}, {ZYDIS_CPUFLAG_OF, X86_OF},
        {ZYDIS_CPUFLAG_DF, X86_DF},
        {ZYDIS_CPUFLAG_TF | ZYDIS_CPUFLAG_IF | ZYDIS_CPUFLAG_IOPL | ZYDIS_CPUFLAG_NT |
            ZYDIS_CPUFLAG_RF | ZYDIS_CPUFLAG_AC | ZYDIS_CPUFLAG_ID, X86_FLAG_OTHER},
    };
    unsigned flags = 0;
    for (size_t i = 0; i < sizeof map / sizeof *map; i++)
        flags |= mask & map[i].from ? map[i].to : 0;
    return flags;
}

static void problem(struct model *m, const struct model_insn *in, const char *what)
{
    if (m->problem || in->insn.meta.category == ZYDIS_CATEGORY_PADLOCK) /* X86_OTHER all of them */
        return;
    m->problem = what;
    snprintf(m->about, sizeof m->about, "%s, opcode map %d, opcode %02x",
        ZydisMnemonicGetString(in->insn.mnemonic), in->insn.opcode_map, in->insn.opcode);
}

static bool is_string(const struct model_insn *in)
{
    return in->insn.meta.category == ZYDIS_CATEGORY_STRINGOP ||
        in->insn.meta.category == ZYDIS_CATEGORY_IOSTRINGOP;
}

static bool repeats(const struct model_insn *in)
{
    for (unsigned i = 0; i < in->insn.raw.prefix_count; i++)
        if (in->insn.raw.prefixes[i].value == 0xf2 || in->insn.raw.prefixes[i].value == 0xf3)
            return is_string(in);
    return false;
}

/* Prefix 66 without REX.W */
static bool operand16(const struct model_insn *in)
{
    bool has66 = false;
    for (unsigned i = 0; i < in->insn.raw.prefix_count; i++)
        has66 = has66 || in->insn.raw.prefixes[i].value == 0x66;
    return has66 && !(in->insn.attributes & ZYDIS_ATTRIB_HAS_REX && in->insn.raw.rex.W);
}

static bool writes_segment(const struct model_insn *in)
{
    for (unsigned i = 0; i < in->insn.operand_count_visible; i++)
        if (in->operand[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
            (in->operand[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) &&
            ZydisRegisterGetClass(in->operand[i].reg.value) == ZYDIS_REGCLASS_SEGMENT)
            return true;
    return false;
}

/* Near branches, calls and returns */
static unsigned branch_kind(const struct model_insn *in)
{
    bool relative = in->insn.raw.imm[0].is_relative;
    if (in->insn.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
        return X86_FAR;
    if (operand16(in))
        return X86_NEAR16;
    switch (in->insn.meta.category) {
    case ZYDIS_CATEGORY_COND_BR:
        return in->insn.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && in->insn.opcode >= 0xe0 ?
            X86_LOOP : X86_JCC;
    case ZYDIS_CATEGORY_CALL: return relative ? X86_CALL : X86_CALL_INDIRECT;
    case ZYDIS_CATEGORY_RET: return X86_RET;
    default: return relative ? X86_JMP : X86_JMP_INDIRECT;
    }
}

/* Kinds that single instructions have */
static unsigned named_kind(ZydisMnemonic mnemonic)
{
    switch (mnemonic) {
    case ZYDIS_MNEMONIC_SYSCALL: return X86_SYSCALL;
    case ZYDIS_MNEMONIC_SYSENTER: return X86_SYSENTER;
    case ZYDIS_MNEMONIC_INT: return X86_INT;
    case ZYDIS_MNEMONIC_INT3: return X86_INT3;
    case ZYDIS_MNEMONIC_INT1: return X86_INT1;
    case ZYDIS_MNEMONIC_UD0: case ZYDIS_MNEMONIC_UD1: case ZYDIS_MNEMONIC_UD2: return X86_UD;
    case ZYDIS_MNEMONIC_IRET: case ZYDIS_MNEMONIC_IRETD: case ZYDIS_MNEMONIC_IRETQ: return X86_FAR;
    case ZYDIS_MNEMONIC_XBEGIN:
    case ZYDIS_MNEMONIC_XABORT:
    case ZYDIS_MNEMONIC_XEND:
        return X86_TSX;
    case ZYDIS_MNEMONIC_RDTSC: case ZYDIS_MNEMONIC_RDTSCP: case ZYDIS_MNEMONIC_RDPMC:
    case ZYDIS_MNEMONIC_RDPID: case ZYDIS_MNEMONIC_RDPRU: case ZYDIS_MNEMONIC_RDRAND:
    case ZYDIS_MNEMONIC_RDSEED: case ZYDIS_MNEMONIC_CPUID: case ZYDIS_MNEMONIC_XGETBV:
    case ZYDIS_MNEMONIC_SGDT: case ZYDIS_MNEMONIC_SIDT: case ZYDIS_MNEMONIC_SLDT:
    case ZYDIS_MNEMONIC_SMSW: case ZYDIS_MNEMONIC_STR: return X86_NONDET;
    case ZYDIS_MNEMONIC_PUSHF: case ZYDIS_MNEMONIC_PUSHFQ: return X86_PUSHF;
    case ZYDIS_MNEMONIC_POPF: case ZYDIS_MNEMONIC_POPFQ: return X86_POPF;
    case ZYDIS_MNEMONIC_RDFSBASE: case ZYDIS_MNEMONIC_RDGSBASE: case ZYDIS_MNEMONIC_WRFSBASE:
    case ZYDIS_MNEMONIC_WRGSBASE: return X86_FSGSBASE;
    case ZYDIS_MNEMONIC_LFS: case ZYDIS_MNEMONIC_LGS: case ZYDIS_MNEMONIC_LSS: return X86_SEGMENT;
    case ZYDIS_MNEMONIC_FNSTENV: case ZYDIS_MNEMONIC_FNSAVE: case ZYDIS_MNEMONIC_FXSAVE:
    case ZYDIS_MNEMONIC_FXSAVE64: case ZYDIS_MNEMONIC_XSAVE: case ZYDIS_MNEMONIC_XSAVE64:
    case ZYDIS_MNEMONIC_XSAVEC: case ZYDIS_MNEMONIC_XSAVEC64: case ZYDIS_MNEMONIC_XSAVEOPT:
    case ZYDIS_MNEMONIC_XSAVEOPT64: return X86_FPU_STATE;
    case ZYDIS_MNEMONIC_CLI: case ZYDIS_MNEMONIC_STI: case ZYDIS_MNEMONIC_CLTS:
    case ZYDIS_MNEMONIC_RSM: case ZYDIS_MNEMONIC_CLGI: case ZYDIS_MNEMONIC_STGI:
    case ZYDIS_MNEMONIC_VMRUN: case ZYDIS_MNEMONIC_VMLOAD: case ZYDIS_MNEMONIC_VMSAVE:
    case ZYDIS_MNEMONIC_SKINIT: case ZYDIS_MNEMONIC_INVLPGA: case ZYDIS_MNEMONIC_GETSEC:
    case ZYDIS_MNEMONIC_MONITOR: case ZYDIS_MNEMONIC_MWAIT: case ZYDIS_MNEMONIC_CLAC:
    case ZYDIS_MNEMONIC_STAC: case ZYDIS_MNEMONIC_SETSSBSY: case ZYDIS_MNEMONIC_CLRSSBSY:
        return X86_PRIVILEGED;
    case ZYDIS_MNEMONIC_UIRET: case ZYDIS_MNEMONIC_SENDUIPI: case ZYDIS_MNEMONIC_CLUI:
    case ZYDIS_MNEMONIC_STUI: case ZYDIS_MNEMONIC_TESTUI: case ZYDIS_MNEMONIC_ENCLU:
    case ZYDIS_MNEMONIC_ENCLV: case ZYDIS_MNEMONIC_ENCLS: case ZYDIS_MNEMONIC_TDCALL:
    case ZYDIS_MNEMONIC_SEAMCALL: case ZYDIS_MNEMONIC_SEAMRET: case ZYDIS_MNEMONIC_SEAMOPS:
    case ZYDIS_MNEMONIC_LLWPCB: case ZYDIS_MNEMONIC_SLWPCB: case ZYDIS_MNEMONIC_LWPINS:
    case ZYDIS_MNEMONIC_LWPVAL: case ZYDIS_MNEMONIC_PTWRITE: return X86_OTHER;
    default: return X86_ORDINARY;
    }
}

static unsigned kind_of(const struct model_insn *in)
{
    unsigned kind = named_kind(in->insn.mnemonic);
    if (kind != X86_ORDINARY)
        return kind;
    if (in->insn.attributes & ZYDIS_ATTRIB_IS_PRIVILEGED ||
        in->insn.meta.category == ZYDIS_CATEGORY_IO ||
        in->insn.meta.category == ZYDIS_CATEGORY_SYSRET ||
        in->insn.meta.category == ZYDIS_CATEGORY_IOSTRINGOP ||
        in->insn.meta.category == ZYDIS_CATEGORY_VTX)
        return X86_PRIVILEGED;
    if (in->insn.meta.category == ZYDIS_CATEGORY_PADLOCK)
        return X86_OTHER;
    if (in->insn.meta.branch_type != ZYDIS_BRANCH_TYPE_NONE)
        return branch_kind(in);
    if (repeats(in))
        return X86_STRING_REP;
    return writes_segment(in) ? X86_SEGMENT : X86_ORDINARY;
}

static unsigned class_by_extension(const struct model_insn *in)
{
    switch (in->insn.encoding) {
    case ZYDIS_INSTRUCTION_ENCODING_3DNOW: return X86_CLASS_MMX;
    case ZYDIS_INSTRUCTION_ENCODING_EVEX: return X86_CLASS_AVX512;
    default: break;
    }
    switch (in->insn.meta.isa_ext) {
    case ZYDIS_ISA_EXT_X87: return X86_CLASS_X87;
    case ZYDIS_ISA_EXT_MMX: case ZYDIS_ISA_EXT_AMD3DNOW: return X86_CLASS_MMX;
    case ZYDIS_ISA_EXT_AVX512VEX: case ZYDIS_ISA_EXT_AVX512EVEX: return X86_CLASS_AVX512;
    case ZYDIS_ISA_EXT_SSE: case ZYDIS_ISA_EXT_SSE2: case ZYDIS_ISA_EXT_SSE3:
    case ZYDIS_ISA_EXT_SSE4: case ZYDIS_ISA_EXT_SSE4A: case ZYDIS_ISA_EXT_SSSE3:
    case ZYDIS_ISA_EXT_AES: case ZYDIS_ISA_EXT_PCLMULQDQ: case ZYDIS_ISA_EXT_SHA:
        return X86_CLASS_SSE;
    case ZYDIS_ISA_EXT_AVX: case ZYDIS_ISA_EXT_AVX2: case ZYDIS_ISA_EXT_AVX2GATHER:
    case ZYDIS_ISA_EXT_AVX_VNNI: case ZYDIS_ISA_EXT_AVXAES: case ZYDIS_ISA_EXT_F16C:
    case ZYDIS_ISA_EXT_FMA: case ZYDIS_ISA_EXT_FMA4: case ZYDIS_ISA_EXT_XOP:
    case ZYDIS_ISA_EXT_VAES: case ZYDIS_ISA_EXT_VPCLMULQDQ: return X86_CLASS_AVX;
    case ZYDIS_ISA_EXT_GFNI:
        return in->insn.encoding == ZYDIS_INSTRUCTION_ENCODING_VEX ? X86_CLASS_AVX : X86_CLASS_SSE;
    default: return X86_CLASSES;
    }
}

static bool is_multiply_or_divide(ZydisMnemonic mnemonic)
{
    switch (mnemonic) {
    case ZYDIS_MNEMONIC_MUL: case ZYDIS_MNEMONIC_IMUL: case ZYDIS_MNEMONIC_MULX:
    case ZYDIS_MNEMONIC_DIV: case ZYDIS_MNEMONIC_IDIV: return true;
    default: return false;
    }
}

static unsigned class_of(const struct model_insn *in)
{
    unsigned class = class_by_extension(in);
    switch (in->insn.meta.category) {
    case ZYDIS_CATEGORY_WIDENOP: case ZYDIS_CATEGORY_NOP:
        return in->insn.meta.isa_ext == ZYDIS_ISA_EXT_X87 ? X86_CLASS_X87 : X86_CLASS_NOP;
    case ZYDIS_CATEGORY_PREFETCH: return X86_CLASS_SYSTEM;
    default: break;
    }
    if (class != X86_CLASSES)
        return class;
    if (is_multiply_or_divide(in->insn.mnemonic))
        return X86_CLASS_MULDIV;
    switch (in->insn.meta.category) {
    case ZYDIS_CATEGORY_COND_BR: case ZYDIS_CATEGORY_UNCOND_BR: return X86_CLASS_BRANCH;
    case ZYDIS_CATEGORY_CALL: return X86_CLASS_CALL;
    case ZYDIS_CATEGORY_RET: return X86_CLASS_RETURN;
    case ZYDIS_CATEGORY_STRINGOP: return X86_CLASS_STRING;
    case ZYDIS_CATEGORY_DATAXFER: case ZYDIS_CATEGORY_CMOV: case ZYDIS_CATEGORY_PUSH:
    case ZYDIS_CATEGORY_POP: case ZYDIS_CATEGORY_SETCC: return X86_CLASS_MOVE;
    case ZYDIS_CATEGORY_MISC:
        return in->insn.mnemonic == ZYDIS_MNEMONIC_LEA ||
                       in->insn.mnemonic == ZYDIS_MNEMONIC_XLAT ||
                       in->insn.mnemonic == ZYDIS_MNEMONIC_ENTER ||
                       in->insn.mnemonic == ZYDIS_MNEMONIC_LEAVE
                   ? X86_CLASS_MOVE
                   : X86_CLASS_SYSTEM;
    case ZYDIS_CATEGORY_BINARY: case ZYDIS_CATEGORY_LOGICAL: case ZYDIS_CATEGORY_SHIFT:
    case ZYDIS_CATEGORY_ROTATE: case ZYDIS_CATEGORY_BITBYTE: case ZYDIS_CATEGORY_BMI1:
    case ZYDIS_CATEGORY_BMI2: case ZYDIS_CATEGORY_TBM: case ZYDIS_CATEGORY_LZCNT:
    case ZYDIS_CATEGORY_CONVERT: case ZYDIS_CATEGORY_FLAGOP: case ZYDIS_CATEGORY_ADOX_ADCX:
    case ZYDIS_CATEGORY_SEMAPHORE:
    case ZYDIS_CATEGORY_SSE: /* popcnt and crc32, on general registers */
        return X86_CLASS_INTEGER;
    default: return X86_CLASS_SYSTEM;
    }
}

/* Flags. Zydis does not tell which writes are conditional: shifts by cl, whose count may be 0,
 * and string comparisons with a repeat prefix. Of undefined flags only AF after and, or, xor and
 * test counts as killed: every processor known gives it a value that does not depend on the old. */
static void flags_of(const struct model_insn *in, struct x86_form *form)
{
    const ZydisAccessedFlags *f = in->insn.cpu_flags;
    if (!f)
        return;
    unsigned defined = model_flags(f->modified | f->set_0 | f->set_1);
    form->flags_read = (uint8_t)model_flags(f->tested);
    form->flags_killed = (uint8_t)(defined & ~model_flags(f->undefined));
    form->flags_changed = (uint8_t)(defined | model_flags(f->undefined));
    switch (in->insn.mnemonic) {
    case ZYDIS_MNEMONIC_AND: case ZYDIS_MNEMONIC_OR: case ZYDIS_MNEMONIC_XOR:
    case ZYDIS_MNEMONIC_TEST:
        form->flags_killed |= X86_AF;
        break;
    case ZYDIS_MNEMONIC_SHL: case ZYDIS_MNEMONIC_SHR: case ZYDIS_MNEMONIC_SAR:
    case ZYDIS_MNEMONIC_ROL: case ZYDIS_MNEMONIC_ROR: case ZYDIS_MNEMONIC_RCL:
    case ZYDIS_MNEMONIC_RCR: case ZYDIS_MNEMONIC_SHLD: case ZYDIS_MNEMONIC_SHRD:
        if (in->insn.raw.imm[0].size)
            form->bits |= FORM_SHIFT_IMM;
        else if (in->insn.opcode == 0xd0 || in->insn.opcode == 0xd1)
            form->flags_killed |= X86_OF; /* defined for a count of 1 */
        else
            form->flags_killed = 0;
        break;
    default:
        if (repeats(in))
            form->flags_killed = 0;
        break;
    }
}

static unsigned width_code(unsigned bits)
{
    return bits <= 8 ? WIDTH_1 : bits == 16 ? WIDTH_2 : bits == 32 ? WIDTH_4 : WIDTH_8;
}

/* The number of a general register, or -1. */
static int general(ZydisRegister reg)
{
    switch (ZydisRegisterGetClass(reg)) {
    case ZYDIS_REGCLASS_GPR8:
        return reg >= ZYDIS_REGISTER_AH && reg <= ZYDIS_REGISTER_BH ?
            (int)(reg - ZYDIS_REGISTER_AH) : ZydisRegisterGetId(reg) -
            (reg >= ZYDIS_REGISTER_SPL ? 4 : 0);
    case ZYDIS_REGCLASS_GPR16: case ZYDIS_REGCLASS_GPR32: case ZYDIS_REGCLASS_GPR64:
        return ZydisRegisterGetId(reg);
    default: return -1;
    }
}

/* How long an instruction's elements are is in no encoding but in its name: addps, vpaddd,
 * movss. */
static unsigned lanes_of(const struct model_insn *in)
{
    enum { EIGHT = 3 };
    const char *name = ZydisMnemonicGetString(in->insn.mnemonic);
    size_t length = name ? strlen(name) : 0;
    /* xmm, ymm in names of state; 3DNow!'s names are in an immediate. */
    if (length < 3 || name[length - 2] == 'm' ||
        in->insn.encoding == ZYDIS_INSTRUCTION_ENCODING_3DNOW)
        return EIGHT;
    char last = name[length - 1], before = name[length - 2];
    bool packed = before == 'p', scalar = before == 's';
    if ((packed || scalar) && (last == 's' || last == 'd')) {
        bool one = scalar && !strstr(name, "broadcast");
        return (last == 's' ? 2 | X86_FLOAT << LANES_FORM_SHIFT
                            : EIGHT | X86_DOUBLE << LANES_FORM_SHIFT) |
               (one ? LANES_SCALAR : 0u);
    }
    if (name[0] == 'p' || (name[0] == 'v' && name[1] == 'p'))
        return last == 'b' ? 0 : last == 'w' ? 1 : last == 'd' ? 2 : EIGHT;
    return EIGHT;
}

bool model_bank(ZydisRegister reg, unsigned *bank)
{
    switch (ZydisRegisterGetClass(reg)) {
    case ZYDIS_REGCLASS_XMM: *bank = X86_BANK_XMM; return true;
    case ZYDIS_REGCLASS_YMM: *bank = X86_BANK_YMM; return true;
    case ZYDIS_REGCLASS_ZMM: *bank = X86_BANK_ZMM; return true;
    case ZYDIS_REGCLASS_MMX: *bank = X86_BANK_MMX; return true;
    case ZYDIS_REGCLASS_MASK: *bank = X86_BANK_MASK; return true;
    default: return false;
    }
}

/* Vector, MMX, mask and tile registers. */
static void vector_register(const ZydisDecodedOperand *o, struct x86_form *form)
{
    unsigned bank, field;
    if (!(o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
        return;
    if (ZydisRegisterGetClass(o->reg.value) == ZYDIS_REGCLASS_TMM)
        form->lanes |= LANES_TILE;
    if (!model_bank(o->reg.value, &bank))
        return;
    switch (o->encoding) {
    case ZYDIS_OPERAND_ENCODING_MODRM_REG: field = VECTOR_REG; break;
    case ZYDIS_OPERAND_ENCODING_MODRM_RM: field = VECTOR_RM; break;
    case ZYDIS_OPERAND_ENCODING_NDSNDD: field = VECTOR_VVVV; break;
    default: field = VECTOR_IMPLICIT; break;
    }
    /* The mask that a gather or scatter goes by is 0 behind it. */
    if (form->vector || o->encoding == ZYDIS_OPERAND_ENCODING_MASK) {
        form->lanes |= LANES_SECOND;
        return;
    }
    form->vector = (uint8_t)(field | bank << VECTOR_BANK_SHIFT);
}

static void implicit_register(struct model *m, const struct model_insn *in,
    const ZydisDecodedOperand *o, struct x86_form *form)
{
    int reg = general(o->reg.value);
    vector_register(o, form);
    if (reg < 0 || (is_string(in) && (reg == X86_RSI || reg == X86_RDI)))
        return; /* of strings, memory_operand knows */
    uint16_t bit = (uint16_t)(1u << reg);
    bool conditional = (o->actions & ZYDIS_OPERAND_ACTION_CONDWRITE) != 0;
    bool high = o->reg.value >= ZYDIS_REGISTER_AH && o->reg.value <= ZYDIS_REGISTER_BH;
    unsigned width = high ? WIDTH_HIGH : width_code(o->size);
    if (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
        form->reads |= bit;
    if (!(o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
        return;
    if (conditional)
        form->conditional |= bit;
    if (conditional || o->size < 32)
        form->reads |= bit;
    if (reg == X86_RAX) {
        form->rax_width = (uint8_t)width;
    } else if (reg == X86_RSP) {
        if (width != WIDTH_8 && in->insn.mnemonic != ZYDIS_MNEMONIC_LEAVE) /* sp with 66 */
            problem(m, in, "an implicit write of a part of rsp");
    } else {
        if ((form->writes & ~(1u << X86_RAX | 1u << X86_RSP)) && form->other_width != width)
            problem(m, in, "implicit writes of different widths");
        form->other_width = (uint8_t)width;
    }
    form->writes |= bit;
}

static unsigned field_use(const struct model_insn *in, const ZydisDecodedOperand *o)
{
    unsigned use = FIELD_GPR | width_code(o->size) << FIELD_WIDTH_SHIFT;
    if (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
        use |= FIELD_READ;
    if (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
        use |= FIELD_WRITE;
    bool keeps = in->insn.mnemonic == ZYDIS_MNEMONIC_BSF || in->insn.mnemonic == ZYDIS_MNEMONIC_BSR;
    if ((o->actions & ZYDIS_OPERAND_ACTION_CONDWRITE) || (keeps && (use & FIELD_WRITE)))
        use |= FIELD_CONDITIONAL; /* bsf, bsr: of 0, the destination stays */
    if ((use & FIELD_WRITE) && (o->size < 32 || (use & FIELD_CONDITIONAL)))
        use |= FIELD_READ;
    if (in->insn.meta.category == ZYDIS_CATEGORY_WIDENOP)
        use &= ~(unsigned)(FIELD_READ | FIELD_WRITE | FIELD_CONDITIONAL);
    return use;
}

static void explicit_register(struct model *m, const struct model_insn *in,
    const ZydisDecodedOperand *o, struct x86_form *form)
{
    vector_register(o, form);
    if (general(o->reg.value) < 0)
        return;
    uint8_t use = (uint8_t)field_use(in, o);
    switch (o->encoding) {
    case ZYDIS_OPERAND_ENCODING_OPCODE:
        form->bits |= FORM_OPCODE_REGISTER;
        form->reg = use;
        break;
    case ZYDIS_OPERAND_ENCODING_MODRM_REG: form->reg = use; break;
    case ZYDIS_OPERAND_ENCODING_MODRM_RM: form->rm = use; break;
    case ZYDIS_OPERAND_ENCODING_NDSNDD: form->vvvv = use; break;
    default: problem(m, in, "a general register in an unknown field"); break;
    }
}

static unsigned access_of(const struct model_insn *in, const ZydisDecodedOperand *o)
{
    unsigned access = 0;
    switch (in->insn.meta.category) {
    case ZYDIS_CATEGORY_WIDENOP: case ZYDIS_CATEGORY_PREFETCH: case ZYDIS_CATEGORY_PREFETCHWT1:
        return 0;
    default: break;
    }
    if (o->mem.type == ZYDIS_MEMOP_TYPE_AGEN)
        return 0;
    if (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
        access |= X86_MEM_READ;
    if (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
        access |= X86_MEM_WRITE;
    bool masked = in->insn.avx.mask.mode > ZYDIS_MASK_MODE_DISABLED; /* the decoder adds it */
    unsigned conditional = ZYDIS_OPERAND_ACTION_CONDREAD | ZYDIS_OPERAND_ACTION_CONDWRITE;
    if ((o->actions & conditional && !masked) || o->mem.type == ZYDIS_MEMOP_TYPE_VSIB)
        access |= X86_MEM_CONDITIONAL;
    return access;
}

static unsigned implicit_place(const ZydisDecodedOperand *o, const struct model_insn *in)
{
    if (in->insn.mnemonic == ZYDIS_MNEMONIC_MOVDIR64B ||
        in->insn.mnemonic == ZYDIS_MNEMONIC_ENQCMD || in->insn.mnemonic == ZYDIS_MNEMONIC_ENQCMDS)
        return AT_REG;
    switch (general(o->mem.base)) {
    case X86_RSP: return AT_STACK;
    case X86_RSI: return AT_RSI;
    case X86_RDI: return AT_RDI;
    case X86_RBX: return AT_RBX_AL;
    case X86_RAX: return AT_RAX;
    case X86_RBP: return AT_RBP;
    default: return o->mem.base == ZYDIS_REGISTER_NONE ? AT_ABSOLUTE : AT_NONE;
    }
}

static void memory_operand(struct model *m, const struct model_insn *in,
    const ZydisDecodedOperand *o, struct x86_form *form)
{
    unsigned access = access_of(in, o);
    if (o->encoding == ZYDIS_OPERAND_ENCODING_MODRM_RM) {
        form->access |= (uint8_t)(X86_MEM | access);
        form->mem_size = (uint16_t)(o->size / 8);
        if (o->mem.type == ZYDIS_MEMOP_TYPE_VSIB)
            form->bits |= FORM_VSIB;
        return;
    }
    unsigned place = implicit_place(o, in);
    unsigned slot = form->implicit_memory[0] ? 1 : 0;
    if (place == AT_NONE || form->implicit_memory[slot])
        problem(m, in, "an implicit memory operand that a form cannot tell");
    if (slot && form->implicit_size != o->size / 8)
        problem(m, in, "implicit memory operands of different sizes");
    form->implicit_memory[slot] = (uint8_t)(place | access << AT_ACCESS_SHIFT);
    form->implicit_size = (uint8_t)(o->size / 8);
    form->access |= X86_MEM_STACK;
    if (place == AT_ABSOLUTE)
        form->bits |= FORM_ABSOLUTE;
    int base = general(o->mem.base);
    if (base < 0 || place == AT_REG)
        return;
    uint16_t bit = (uint16_t)(1u << base);
    form->reads |= bit;
    if (is_string(in) && (place == AT_RSI || place == AT_RDI)) {
        form->writes |= bit; /* Zydis leaves it out for cmps and scas */
        form->other_width = (uint8_t)width_code(
            ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, o->mem.base));
        if (repeats(in))
            form->conditional |= bit;
    }
}

static void operands_of(struct model *m, const struct model_insn *in, struct x86_form *form)
{
    for (unsigned i = 0; i < in->insn.operand_count; i++) {
        const ZydisDecodedOperand *o = &in->operand[i];
        if (o->type == ZYDIS_OPERAND_TYPE_MEMORY)
            memory_operand(m, in, o, form);
        else if (o->type != ZYDIS_OPERAND_TYPE_REGISTER)
            continue;
        else if (o->encoding == ZYDIS_OPERAND_ENCODING_NONE)
            implicit_register(m, in, o, form);
        else
            explicit_register(m, in, o, form);
    }
}

/* F2 repeats movs, lods, stos, ins and outs as F3 does; Zydis ignores it there. */
static bool ignored_repne(const struct model_insn *in)
{
    if (!is_string(in) || !repeats(in))
        return false;
    return !(in->insn.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE |
        ZYDIS_ATTRIB_HAS_REPNE));
}

static void as_repeated(const struct model *m, const struct model_insn *in, struct model_insn *out)
{
    uint8_t code[3] = {0xf3}, size = 1;
    ZyanStatus status;
    if (in->insn.attributes & ZYDIS_ATTRIB_HAS_REX && in->insn.raw.rex.W)
        code[size++] = 0x48;
    else if (operand16(in))
        code[size++] = 0x66;
    code[size++] = in->insn.opcode;
    *out = *in;
    if (model_decode(m, code, size, out, &status))
        out->insn.raw = in->insn.raw;
}

void model_form(struct model *m, const struct model_insn *given, struct x86_form *form)
{
    struct model_insn repeated;
    const struct model_insn *in = given;
    if (ignored_repne(given)) {
        as_repeated(m, given, &repeated);
        in = &repeated;
    }
    memset(form, 0, sizeof *form);
    form->kind = (uint8_t)kind_of(in);
    form->class = (uint8_t)class_of(in);
    form->imm_size = (uint8_t)((in->insn.raw.imm[0].size + in->insn.raw.imm[1].size) / 8);
    if (in->insn.encoding == ZYDIS_INSTRUCTION_ENCODING_3DNOW) {
        form->imm_size = 1;
        form->bits |= FORM_3DNOW;
    }
    if (form->class == X86_CLASS_MMX || form->class == X86_CLASS_SSE ||
        form->class == X86_CLASS_AVX || form->class == X86_CLASS_AVX512)
        form->lanes = (uint8_t)lanes_of(in);
    flags_of(in, form);
    operands_of(m, in, form);
}

/* The decoder's table: its layout. gen/ fills it at build time; insn.c and access.c read it.
 *
 *   (map, pp, opcode) ──> x86_roots[]: base, scheme, has modrm
 *                             │
 *        selectors · strides of the scheme + base ──> x86_leaves[]: number of a form
 *                                                         │
 *                                                         └──> x86_forms[]
 *
 * Selectors are what may change the meaning of an opcode; each has a small range. The scheme gives
 * selectors that do not matter for this opcode the stride 0, so that most opcodes have few leaves.
 *
 * Context: any; constant data without relocations. */
#ifndef PENUMBRA_X86_FORM_H
#define PENUMBRA_X86_FORM_H

#include <stdint.h>

/* Selectors; the second use of SIZE and REP is by VEX, EVEX and XOP. */
enum {
    SELECT_SIZE,  /* prefix 66; EVEX.b */
    SELECT_REP,   /* no F2 or F3: 0, F3: 1, F2: 2; vector length (L'L) 0 to 3 */
    SELECT_W,
    SELECT_MOD3,  /* modrm.mod is 3 */
    SELECT_REG,   /* modrm.reg, without extension */
    SELECT_RM,    /* modrm.rm, without extension */
    SELECT_B,     /* REX.B, legacy encoding only */
    SELECT_A32,   /* prefix 67, legacy encoding only */
    SELECTORS
};

/* How many values each selector has. */
#define SELECTOR_RANGES {2, 4, 2, 2, 8, 8, 2, 2}

/* Rows of x86_roots: 256 roots each. A vector map has a row for each of its four pp. */
enum {
    ROW_ONE_BYTE = 0, ROW_0F = 1, ROW_0F38 = 2, ROW_0F3A = 3,
    ROW_VEX = 4,   /* + (map - 1) * 4 + pp, maps 1 to 3 */
    ROW_EVEX = 16, /* + (map - 1) * 4 + pp, maps 1 to 6 */
    ROW_XOP = 40,  /* + map - 8, maps 8 to 10; pp is 0 */
    ROWS = 43
};

struct x86_root {
    uint16_t base;
    uint8_t scheme;
    uint8_t modrm; /* 1: there is one */
};

struct x86_scheme {
    uint16_t stride[SELECTORS];
};

/* Features of an instruction's encoding that a form may forbid. Vector-encoded bits are meant as
 * not inverted. */
enum {
    FEATURE_R = 1 << 0,
    FEATURE_X = 1 << 1,
    FEATURE_B = 1 << 2,     /* not of the legacy encoding, where it is a selector */
    FEATURE_R2 = 1 << 3,    /* EVEX.R' */
    FEATURE_V2 = 1 << 4,    /* EVEX.V' */
    FEATURE_V8 = 1 << 5,    /* vvvv has bit 3 */
    FEATURE_VVVV = 1 << 6,  /* vvvv, without V', is not 0 */
    FEATURE_NO_MASK = 1 << 7,  /* EVEX.aaa is 0 */
    FEATURE_MASK = 1 << 8,     /* it is not */
    FEATURE_ZERO = 1 << 9,     /* EVEX.z with a mask */
    FEATURE_ZERO_ALONE = 1 << 10, /* EVEX.z without one */
    FEATURE_LOCK = 1 << 11,
    FEATURE_RIP = 1 << 12,
    FEATURE_A32 = 1 << 13,  /* not of the legacy encoding */
    FEATURES = 14
};

/* How a form uses a field that may hold a general register: FIELD_... | width code << 4. READ: the
 * old value matters, be it only for the bits that a write leaves. */
enum {
    FIELD_GPR = 1, FIELD_READ = 2, FIELD_WRITE = 4, FIELD_CONDITIONAL = 8, FIELD_WIDTH_SHIFT = 4,
};

/* Width codes: log2 of the bytes; of implicit rax also: ah. */
enum { WIDTH_1, WIDTH_2, WIDTH_4, WIDTH_8, WIDTH_HIGH };

/* Implicit memory operands: where | X86_MEM_READ, _WRITE, _CONDITIONAL of insn.h << 4. */
enum {
    AT_NONE, AT_STACK, AT_RSI, AT_RDI, AT_RBX_AL, AT_RAX, AT_RBP,
    AT_REG,      /* [modrm.reg]: movdir64b, enqcmd */
    AT_ABSOLUTE, /* mov al, [moffs] */
    AT_ACCESS_SHIFT = 4,
};

enum { /* x86_form.bits */
    FORM_REGISTER_ONLY = 1, /* mod is ignored, and taken for 3 */
    FORM_OPCODE_REGISTER = 2, /* the register of `reg` is in the opcode */
    FORM_VSIB = 4,
    FORM_ABSOLUTE = 16,     /* an address of 8 bytes (with 67: 4) follows the opcode */
    FORM_3DNOW = 32,        /* the immediate is an opcode, for x86_3dnow */
    FORM_SHIFT_IMM = 8,     /* shift or rotate by an immediate: flags stay if the count is 0 */
};

/* Of the vector, MMX or mask register that the instruction writes first: where its number is |
 * enum x86_bank << VECTOR_BANK_SHIFT. */
enum {
    VECTOR_NONE,
    VECTOR_REG,
    VECTOR_RM,
    VECTOR_VVVV,
    VECTOR_IMPLICIT /* it is 0 */,
    VECTOR_BANK_SHIFT = 4
};

/* Of its elements: log2 of their bytes | enum x86_lane_form << LANES_FORM_SHIFT | LANES_... */
enum {
    LANES_FORM_SHIFT = 2,
    LANES_SCALAR = 16, /* only the first is the operation's */
    LANES_SECOND = 32, /* another such register is written, too */
    LANES_TILE = 64,   /* a tile register is written */
};

struct x86_form {
    uint8_t kind;
    uint8_t class;
    uint8_t imm_size;
    uint8_t bits;
    uint8_t flags_read;
    uint8_t flags_killed;
    uint8_t flags_changed;
    uint8_t disp8_shift; /* EVEX: disp8 is multiplied by 1 << this */
    uint8_t reg;         /* FIELD_... */
    uint8_t rm;
    uint8_t vvvv;
    uint8_t access;      /* X86_MEM..., of the modrm operand; a mask adds CONDITIONAL */
    uint16_t reads;      /* implicit */
    uint16_t writes;     /* implicit */
    uint16_t conditional; /* implicit writes that may not happen */
    uint16_t forbid;     /* FEATURE_... */
    uint16_t mem_size;
    uint8_t implicit_memory[2]; /* AT_... */
    uint8_t implicit_size;      /* bytes of each */
    uint8_t rax_width;          /* of an implicit write of rax */
    uint8_t other_width;        /* of other implicit writes, except rsp: always 8 */
    uint8_t vector;             /* VECTOR_... */
    uint8_t lanes;              /* LANES_... */
    uint8_t reserved;
};

_Static_assert(sizeof(struct x86_form) == 30, "a form has no padding");

extern const struct x86_root x86_roots[ROWS * 256];
extern const struct x86_scheme x86_schemes[];
extern const uint16_t x86_leaves[];
extern const struct x86_form x86_forms[]; /* 0 is the invalid form: all zero */
extern const uint8_t x86_3dnow[32];       /* bitmap of 3DNow! opcodes */

#endif

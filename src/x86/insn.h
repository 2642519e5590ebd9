/* Decoding x86-64 instructions for translation: lengths, places of the parts, what is read and
 * written. No instruction is formatted here, and no operand list is built unless asked for.
 *
 *     bytes ──> x86_decode_as ──> struct x86_insn ──┬> x86_memory_as       memory operands
 *                  │                                ├> x86_definitions_as  registers, widths
 *        table.c (made by gen/, which asks Zydis)   └> x86_rename_as       others, in place
 *
 * The table knows the legacy maps (one byte, 0F, 0F38, 0F3A, 3DNow!), VEX maps 1 to 3, EVEX maps
 * 1, 2, 3, 5 and 6 and XOP maps 8 to 10, as Zydis 4 does in 64-bit mode. MPX instructions are the
 * no-operations that they are on processors without MPX. Refused as X86_INVALID: every other map,
 * MVEX, APX, what raises #UD by its encoding, and more than 15 bytes. Not checked: rules between
 * two register numbers (gathers and AMX whose registers must differ); those are decoded, and
 * raise #UD when executed.
 *
 * Context: any, signal handlers included; no state. Nothing is read outside the bytes given.
 * Ownership: the caller owns everything. */
#ifndef PENUMBRA_X86_INSN_H
#define PENUMBRA_X86_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* General registers by their number in encodings; masks have bit 1 << number. */
enum x86_register {
    X86_RAX, X86_RCX, X86_RDX, X86_RBX, X86_RSP, X86_RBP, X86_RSI, X86_RDI,
    X86_R8, X86_R9, X86_R10, X86_R11, X86_R12, X86_R13, X86_R14, X86_R15,
    X86_RIP,         /* as a base only */
    X86_NONE = 0xff, /* no register */
};

/* What a translator has to do. */
enum x86_kind {
    X86_INVALID,       /* raises #UD by its encoding, or unknown; length is 0 */
    X86_TRUNCATED,     /* goes on behind the bytes given; length is 0 */
    X86_ORDINARY,      /* may be copied; a rip-relative operand needs its displacement changed */
    X86_JCC,           /* conditional jump; the condition is opcode & 15 */
    X86_LOOP,          /* loop, loope, loopne, jrcxz, jecxz: 8-bit displacement only */
    X86_JMP,           /* direct */
    X86_CALL,          /* direct */
    X86_JMP_INDIRECT,  /* through a register or memory */
    X86_CALL_INDIRECT, /* through a register or memory */
    X86_RET,           /* near; imm_size 2: takes that many bytes more off the stack */
    X86_FAR,           /* far jmp, call, ret, and iret */
    X86_NEAR16,        /* near branch with prefix 66 and no REX.W: AMD truncates rip (and a
                          displacement is two bytes), Intel ignores the prefix, as `length` does */
    X86_SYSCALL,
    X86_SYSENTER,
    X86_INT,           /* int n */
    X86_INT3,
    X86_INT1,
    X86_UD,            /* ud0, ud1, ud2 */
    X86_PRIVILEGED,    /* hlt, in, out, cli, mov cr, ...: faults in user mode (unless iopl says) */
    X86_TSX,           /* xbegin, xabort, xend */
    X86_NONDET,        /* rdtsc, rdtscp, rdpmc, rdpid, rdpru, rdrand, rdseed, cpuid, xgetbv, sgdt,
                          sidt, sldt, smsw, str: another result at another time or place */
    X86_STRING_REP,    /* string instruction with a repeat prefix: may run zero times */
    X86_PUSHF,
    X86_POPF,
    X86_FSGSBASE,      /* rd/wr fs/gs base */
    X86_SEGMENT,       /* writes a segment register */
    X86_FPU_STATE,     /* fnstenv, fnsave, fxsave, xsave and kin: may be copied, but stores the
                          address of the last x87 instruction, which is then the copy's */
    X86_OTHER,         /* must not be copied, for a reason of its own: user interrupts, SGX, ... */
    X86_KINDS
};

/* What it does, for counting instructions by class. */
enum x86_class {
    X86_CLASS_MOVE,       /* mov, movzx, lea, push, pop, cmov, xchg, setcc */
    X86_CLASS_INTEGER,    /* add, sub, cmp, and, test, shifts, bit operations, flags */
    X86_CLASS_MULDIV,     /* mul, imul, div, idiv */
    X86_CLASS_BRANCH,     /* jumps */
    X86_CLASS_CALL,
    X86_CLASS_RETURN,
    X86_CLASS_STRING,
    X86_CLASS_X87,
    X86_CLASS_MMX,        /* and 3DNow! */
    X86_CLASS_SSE,        /* legacy encoding on xmm */
    X86_CLASS_AVX,        /* VEX and XOP on xmm and ymm */
    X86_CLASS_AVX512,     /* EVEX, and mask registers */
    X86_CLASS_NOP,
    X86_CLASS_SYSTEM,     /* the rest: system calls, state, hints, transactions */
    X86_CLASSES
};

/* Flags as masks in a byte. */
enum {
    X86_CF = 1, X86_PF = 2, X86_AF = 4, X86_ZF = 8, X86_SF = 16, X86_OF = 32, X86_DF = 64,
    X86_FLAG_OTHER = 128, /* any of TF, IF, IOPL, NT, RF, AC, ID */
    X86_STATUS_FLAGS = X86_CF | X86_PF | X86_AF | X86_ZF | X86_SF | X86_OF,
};

enum x86_encoding { X86_LEGACY, X86_VEX2, X86_VEX3, X86_EVEX, X86_XOP };

/* x86_insn.map: VEX and EVEX maps have the numbers of the encoding, 1 being 0F. */
enum {
    X86_MAP_ONE_BYTE = 0, X86_MAP_0F = 1, X86_MAP_0F38 = 2, X86_MAP_0F3A = 3, X86_MAP_5 = 5,
    X86_MAP_6 = 6, X86_MAP_XOP8 = 8, X86_MAP_XOP9 = 9, X86_MAP_XOPA = 10,
    X86_MAP_3DNOW = 15, /* 0F 0F: `opcode` is 0F, the true one is the byte at at_imm */
};

/* x86_insn.traits */
enum {
    X86_RIP_RELATIVE = 1 << 0, /* memory operand is rip + disp32 at at_disp */
    X86_HIGH_BYTE = 1 << 1,    /* ah, ch, dh or bh is an operand by a field: no REX may be added */
    X86_FS = 1 << 2,           /* segment overrides in force; whether memory is accessed or not */
    X86_GS = 1 << 3,
    X86_ADDRESS32 = 1 << 4,    /* prefix 67: addresses are cut to 32 bits */
    X86_LOCK = 1 << 5,
    X86_REP = 1 << 6,          /* F3 was the last of F2 and F3 before the opcode */
    X86_REPNE = 1 << 7,        /* F2 was */
    X86_PREFIX66 = 1 << 8,
    X86_HAS_REX = 1 << 9,      /* at_prefix is a REX */
    X86_REX_W = 1 << 10,       /* REX, VEX, EVEX or XOP W */
    X86_VSIB = 1 << 11,        /* index is a vector register */
};

/* x86_insn.access: the modrm memory operand. READ and WRITE may both be there; neither: lea, nop,
 * prefetch and other instructions that form an address only. */
enum {
    X86_MEM = 1,       /* there is one */
    X86_MEM_READ = 2,
    X86_MEM_WRITE = 4,
    X86_MEM_CONDITIONAL = 8, /* accessed in part or not at all, depending on masks or flags */
    X86_MEM_STACK = 16,      /* besides, the stack, a string or another implicit operand is used */
};

/* Fields of an encoding that can hold a general register; x86_insn.fields has those that do. */
enum {
    X86_FIELD_REG = 1,    /* modrm.reg */
    X86_FIELD_RM = 2,     /* modrm.rm, mod 3 */
    X86_FIELD_BASE = 4,   /* modrm.rm or sib.base of a memory operand */
    X86_FIELD_INDEX = 8,  /* sib.index, not a vector */
    X86_FIELD_VVVV = 16,
    X86_FIELD_OPCODE = 32, /* low three bits of the opcode */
    X86_FIELD_ALL = 63,
};

/* Offsets are from the first byte of the instruction; 0 means that there is no such part, which
 * no part but at_prefix and at_opcode can mistake.
 *
 *   66 f2     4f      0f 38    f1      84 b7   10 00 00 00   ..
 *   legacy    REX or  escape   opcode  modrm   disp          imm
 *   prefixes  VEX...                   sib
 *             ^at_prefix       ^at_opcode                              at_prefix: REX, VEX, EVEX,
 *                                                                      XOP, else escape or opcode
 *
 * Liveness, going backwards:  live = (live & ~flags_killed) | flags_read
 *                             live = (live & ~writes) | reads */
struct x86_insn {
    uint8_t length; /* bytes, 1 to 15 */
    uint8_t kind;   /* enum x86_kind */
    uint8_t class;  /* enum x86_class */
    uint8_t encoding;
    uint8_t map;
    uint8_t opcode;
    uint8_t at_prefix;
    uint8_t at_opcode;
    uint8_t at_modrm;
    uint8_t at_sib;
    uint8_t at_disp; /* also of the absolute address of mov al, [moffs] (A0 to A3) */
    uint8_t at_imm;  /* also of relative branches, and of the opcode byte of 3DNow! */
    uint8_t disp_size;
    uint8_t imm_size; /* all immediates together: 3 is enter's 2 and 1 */
    uint8_t flags_read;
    uint8_t flags_killed;  /* written with a defined value, on every execution */
    uint8_t flags_changed; /* all that may come out different: killed, conditional and undefined.
                              An undefined flag is not killed: it may be what it was before */
    uint8_t access; /* X86_MEM... */
    uint8_t fields; /* X86_FIELD_... that hold general registers */
    uint8_t reg;    /* modrm.reg, or the low bits of the opcode with X86_FIELD_OPCODE; extended */
    uint8_t base;   /* modrm.rm (mod 3; of a vector without EVEX.X) or the base, extended; X86_RIP;
                       X86_NONE */
    uint8_t index;  /* extended; X86_NONE; a vector's number with X86_VSIB */
    uint8_t vvvv;   /* X86_NONE without VEX */
    uint8_t scale;  /* of the index: 1, 2, 4, 8 */
    uint16_t traits;
    uint16_t reads;    /* general registers whose old value matters: sources, addresses, and
                          destinations of 8- and 16-bit and of conditional writes */
    uint16_t writes;   /* general registers that may be written */
    uint16_t implicit; /* of both: those used without being named by a field */
    uint16_t mem_size; /* bytes of the modrm memory operand; 0: none, or no fixed size (xsave) */
    uint16_t form;     /* of the table; for the functions below */
};

/* Decoding begins soon, after a long time: the part of the tables that most instructions need is
 * asked for. */
void x86_tables_prefetch_as(void);

/* Decodes the instruction at `code`, of which `available` bytes may be read. Returns its length, 0
 * with out->kind X86_INVALID or X86_TRUNCATED; nothing else of *out is set then. */
unsigned x86_decode_as(const uint8_t *code, size_t available, struct x86_insn *out);

/* The same in two steps, for who wants to know of few instructions what they use. The first leaves
 * class, flags_..., access, fields, reads, writes, implicit, mem_size and X86_HIGH_BYTE to the
 * second. */
unsigned x86_shape_as(const uint8_t *code, size_t available, struct x86_insn *out);
void x86_uses_as(struct x86_insn *insn, const uint8_t *code);

/* Where there are so many readable bytes behind it, an instruction is not copied to be decoded. */
enum { X86_LOOKAHEAD = 24 };

/* The displacement of a relative branch (or xbegin), from the instruction's end. */
static inline bool x86_is_xbegin(const struct x86_insn *insn)
{
    return insn->kind == X86_TSX && insn->opcode == 0xc7;
}

int32_t x86_relative_as(const struct x86_insn *insn, const uint8_t *code);

/* The displacement of the modrm operand in bytes; disp8 of EVEX multiplied. 0 without one. */
int32_t x86_displacement_as(const struct x86_insn *insn, const uint8_t *code);

struct x86_memory {
    int64_t disp;    /* rip-relative: from the instruction's end */
    uint8_t base;    /* X86_RIP, X86_NONE */
    uint8_t index;   /* X86_NONE; a vector register with X86_VSIB in the instruction's traits */
    uint8_t scale;
    uint8_t segment; /* X86_FS, X86_GS or 0 */
    uint8_t access;  /* X86_MEM_READ, X86_MEM_WRITE, X86_MEM_CONDITIONAL */
    bool address32;  /* the sum without the segment's base is cut to 32 bits */
    uint8_t add8;    /* register whose low byte is added (xlat), else X86_NONE */
    uint16_t size;   /* bytes; 0: not fixed */
};

enum { X86_MEMORY_MAX = 3 };

/* Memory that the instruction accesses, the modrm operand first (when it is accessed), then
 * implicit ones: stack, strings. `base` is the register's value before the instruction: push writes
 * at rsp - 8, and pop [rsp + 8] at rsp + 16. Repeated strings: the first element. Returns how many.
 * enter with a nesting level, xsave and kin, gathers: one operand that only hints at what is
 * accessed. */
unsigned x86_memory_as(const struct x86_insn *insn, const uint8_t *code,
    struct x86_memory out[X86_MEMORY_MAX]);

/* The modrm operand of an instruction that has X86_MEM, accessed or not (lea). */
struct x86_memory x86_modrm_as(const struct x86_insn *insn, const uint8_t *code);

struct x86_definition {
    uint8_t reg;
    uint8_t width;    /* bytes: 1, 2, 4 (bits above are zeroed), 8 */
    bool high;        /* ah, ch, dh, bh; width is 1 */
    bool conditional; /* may also keep its value */
};

enum { X86_DEFINITIONS_MAX = 16 };

/* General registers that the instruction writes, ascending. Returns how many. */
unsigned x86_definitions_as(const struct x86_insn *insn,
    struct x86_definition out[X86_DEFINITIONS_MAX]);

/* push, pop, call and return move the stack pointer: that is no result. */
static inline bool x86_moves_stack(const struct x86_insn *insn, const struct x86_definition *d)
{
    return d->reg == X86_RSP && insn->implicit >> X86_RSP & 1;
}

/* General registers that the instruction reads as operands, the fields' first, ascending in each;
 * not those that only make an address or move the stack, nor the old value of what is written in
 * part. Returns how many. */
unsigned x86_sources_as(const struct x86_insn *insn,
    struct x86_definition out[X86_DEFINITIONS_MAX]);

enum x86_bank {
    X86_BANK_XMM,
    X86_BANK_YMM,
    X86_BANK_ZMM,
    X86_BANK_MMX,
    X86_BANK_MASK,
    X86_BANK_X87,
    X86_BANK_NONE
};
enum x86_lane_form { X86_INTEGER, X86_FLOAT, X86_DOUBLE };

/* What an instruction takes its vector operands for: elements. */
struct x86_lanes {
    uint8_t bytes; /* of each: 1, 2, 4, 8; 0: it works on no vectors */
    uint8_t form;  /* enum x86_lane_form */
    bool scalar;   /* only the first is the operation's */
};
struct x86_lanes x86_lanes_as(const struct x86_insn *insn);

/* A register that is no general one. */
struct x86_wide {
    uint8_t bank;  /* enum x86_bank */
    uint8_t reg;   /* 0 to 31; x87: its distance from the top of the stack behind the instruction */
    uint8_t bytes; /* 16, 32, 64; 8: MMX and masks; 10: x87 */
};

/* The vector, MMX, mask or x87 register that the instruction writes, of several the first. False:
 * none, with bank X86_BANK_NONE. *more: it writes others besides, or all that there are (vzeroall,
 * xrstor, tiles). */
bool x86_wide_result_as(const struct x86_insn *insn, const uint8_t *code, struct x86_wide *out,
                        bool *more);

/* Changes, in the copy `code` of the instruction, register `from` to `to` in those of `fields` that
 * hold a general register. False, with nothing changed, where the encoding has no room: `to` is one
 * of r8 to r15 and there is no REX (or a two-byte VEX), or a base or index cannot be `to` without
 * another byte. From r8 to r15, rbx, rsi and rdi are always possible. Implicit uses stay: see
 * insn->implicit. *insn is not changed; decode again. */
bool x86_rename_as(const struct x86_insn *insn, uint8_t *code, unsigned fields, unsigned from,
    unsigned to);

#endif

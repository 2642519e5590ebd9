/* Micro-operations: what the model executes. src/crack makes them of x86 instructions.
 *
 *     add rax, [rbx]     LOAD  temp0 <- rbx
 *                        ALU   rax, carry, flags <- rax, temp0       fused: one slot in the pipeline
 *
 * Context: plain data.
 * Ownership: the caller's. */
#ifndef PENUMBRA_MODEL_UOP_H
#define PENUMBRA_MODEL_UOP_H

#include <stdbool.h>
#include <stdint.h>

/* X(enumerator, name in machine files, what) */
#define UOP_CLASSES_TIMED(X)                                                                       \
    X(ALU, alu, "additions, logic, moves of general registers")                                    \
    X(SHIFT, shift, "shifts and rotations of general registers")                                   \
    X(LEA, lea, "lea with a scaled index")                                                         \
    X(LEA_RIP, lea_rip, "lea relative to rip")                                                     \
    X(MUL, mul, "multiplications of general registers, bit counts, crc32")                         \
    X(DIV32, div32, "divisions of up to 32 bits")                                                  \
    X(DIV64, div64, "divisions of 64 bits")                                                        \
    X(BRANCH, branch, "jumps, calls, returns")                                                     \
    X(CROSS, cross, "moves between general and vector registers")                                  \
    X(VEC_ALU, vec_alu, "additions, logic and comparisons of integer vectors")                     \
    X(VEC_SHIFT, vec_shift, "shifts of vectors")                                                   \
    X(VEC_SHUFFLE, vec_shuffle, "shuffles within 16 bytes, broadcasts")                            \
    X(VEC_CROSSING, vec_crossing, "shuffles over 16 bytes")                                        \
    X(VEC_MUL, vec_mul, "multiplications of integer vectors")                                      \
    X(FP_ADD, fp_add, "additions and comparisons of floating point")                               \
    X(FP_MUL, fp_mul, "multiplications of floating point")                                         \
    X(FP_FMA, fp_fma, "fused multiplications and additions")                                       \
    X(FP_DIV32, fp_div32, "divisions and roots, single precision")                                 \
    X(FP_DIV64, fp_div64, "divisions and roots, double precision")                                 \
    X(FP_CONVERT, fp_convert, "conversions and rounding of floating point")                        \
    X(MASK, mask, "mask registers")                                                                \
    X(X87, x87, "transcendental functions of x87")                                                 \
    X(CRYPTO, crypto, "AES, SHA, carry-less multiplication, strings of SSE4.2")                    \
    X(COMPLEX, complex, "what is microcoded: cpuid, xsave, rdtsc")
#define UOP_CLASSES_MEMORY(X)                                                                      \
    X(LOAD, load, "loads")                                                                         \
    X(STORE_ADDRESS, store_address, "addresses of stores")                                         \
    X(STORE_DATA, store_data, "data of stores")

#define UOP_ENUMERATOR(id, name, what) UOP_##id,
enum uop_class {
    UOP_CLASSES_TIMED(UOP_ENUMERATOR) UOP_TIMED_COUNT,
    UOP_LAST_TIMED = UOP_TIMED_COUNT - 1,
    UOP_CLASSES_MEMORY(UOP_ENUMERATOR) UOP_CLASS_COUNT,
    UOP_NONE = UOP_CLASS_COUNT, /* takes a slot in the pipeline, and no port: nop, vzeroupper */
};
#undef UOP_ENUMERATOR

/* Registers as the renamer sees them. Those of x87 are counted from the top of the stack, which
 * moves. */
enum uop_register {
    UOP_GENERAL = 0, /* and up: 16 */
    UOP_VECTOR = 16, /* and up: 32 */
    UOP_MASKS = 48,  /* and up: 8 */
    UOP_STACK = 56,  /* and up: 8, of x87; MMX as well */
    UOP_CARRY = 64,
    UOP_FLAGS,       /* all others */
    UOP_CONTROL,     /* x87's and SSE's control and status */
    UOP_TEMP,        /* and up: 4, within one instruction */
    UOP_DISE = UOP_TEMP + 4, /* and up: 20, of DISE (model/dise.c) */
    UOP_REGISTERS = UOP_DISE + 20,
};

/* struct uop.flags */
enum {
    UOP_FUSED = 1,  /* shares the slot of the one before, where the machine fuses them */
    UOP_COPY = 2,   /* a move between registers, which renaming may do */
    UOP_ZERO = 4,   /* a zero that depends on nothing, likewise */
    UOP_ADDS = 8,   /* adds `adds` to a register, likewise */
};

/* What renaming can have added to a register before it has to be added in truth: 11 bits with a
 * sign, as a Golden Cove does 1 of 2 additions of 1000, 10 of 11 of 100, none of 1100. */
enum { UOP_ADDS_MOST = 1024 };

enum { UOP_SOURCES = 6, UOP_RESULTS = 4 };

struct uop {
    uint8_t class;   /* enum uop_class */
    uint8_t flags;
    uint8_t operand; /* of a load or store: which memory operand */
    uint8_t size;    /* its bytes */
    uint8_t offset;  /* of this part from the operand's address */
    /* Of a load or store: how its address is written. Where two that are equal have one address,
     * a machine can know it before it is computed. 0: not known. */
    uint32_t form;
    int16_t adds;    /* of UOP_ADDS: below UOP_ADDS_MOST, either way */
    uint8_t source_count, result_count;
    uint8_t sources[UOP_SOURCES];
    uint8_t results[UOP_RESULTS];
};

enum uop_transfer {
    TRANSFER_NONE, TRANSFER_BRANCH, TRANSFER_JUMP, TRANSFER_CALL, TRANSFER_RETURN,
    TRANSFER_JUMP_INDIRECT, TRANSFER_CALL_INDIRECT,
};

/* struct uop_insn.flags */
enum {
    INSN_SERIAL = 1,   /* begins when all before it has committed, and is waited for */
    INSN_LOCKED = 2,   /* waits for all stores before it; loads after it wait for it */
    INSN_FUSES = 4,    /* a comparison that a branch behind it may be fused with */
    INSN_FUSIBLE = 8,  /* such a branch */
    INSN_REPEATED = 16, /* a string instruction: uop_executed.repeat elements of its operands */
    INSN_UNKNOWN = 32, /* no row of the table describes it */
    INSN_MMX = 64,     /* its UOP_STACK registers are by number */
};

/* vpconflictd of 64 bytes in memory, in parts of 16: 4 loads and 4 x 8. */
enum { UOPS_MOST = 36, INSN_OPERANDS = 2 };

struct uop_insn {
    uint8_t length, count, flags;
    uint8_t transfer; /* enum uop_transfer */
    int8_t x87_before, x87_after; /* what is added to the top of the stack: -1 is a push */
    struct uop uops[UOPS_MOST];
};

/* Entries of the micro-op cache are windows of code, of about so many micro-operations. */
enum { UOPS_PER_WINDOW = 6 };

/* One execution. */
struct uop_executed {
    uint64_t pc, next; /* its address, and that of the instruction executed after it */
    uint64_t address[INSN_OPERANDS]; /* of memory operands */
    bool known[INSN_OPERANDS];       /* else it is taken to be in the first-level cache */
    uint64_t repeat;
    const struct uop_insn *follower; /* the instruction executed after it; NULL: not known */
};

#endif

/* Shared between the files of the interpreter. Context and ownership: interpret.h. */
#ifndef PENUMBRA_INTERPRET_INTERNAL_H
#define PENUMBRA_INTERPRET_INTERNAL_H

#include "interpret/interpret.h"

/* Places in rflags. */
enum {
    FLAG_CF = 1 << 0,
    FLAG_PF = 1 << 2,
    FLAG_AF = 1 << 4,
    FLAG_ZF = 1 << 6,
    FLAG_SF = 1 << 7,
    FLAG_IF = 1 << 9,
    FLAG_DF = 1 << 10,
    FLAG_OF = 1 << 11,
    FLAG_NEVER_PUSHED = 3 << 16, /* VM, RF */
    FLAG_STATUS = FLAG_CF | FLAG_PF | FLAG_AF | FLAG_ZF | FLAG_SF | FLAG_OF,
};

static const struct interpret_origin interpret_no_origin = {INTERPRET_NOWHERE, INTERPRET_NOWHERE, 1,
                                                            false, 0};

/* The instruction that is being executed. */
struct step {
    struct interpret_state *s;
    const struct x86_insn *insn;
    const uint8_t *code;
    unsigned size;            /* bytes of its operands */
    uint64_t next;            /* where it goes */
    struct x86_memory memory; /* of the modrm operand, if there is one */
};

/* Of operands that are no bytes. */
static inline unsigned wide_size(const struct x86_insn *i)
{
    return i->traits & X86_REX_W ? 8 : i->traits & X86_PREFIX66 ? 2 : 4;
}

/* Of opcodes whose lowest bit is 0 for bytes. */
static inline unsigned size_of(const struct x86_insn *i)
{
    return i->opcode & 1 ? wide_size(i) : 1;
}

static inline uint64_t mask_of(unsigned bytes)
{
    return bytes >= 8 ? UINT64_MAX : (UINT64_C(1) << 8 * bytes) - 1;
}

static inline struct interpret_value value_unknown(void)
{
    return (struct interpret_value){0, 0, interpret_no_origin};
}

static inline struct interpret_value value_known(uint64_t bits)
{
    return (struct interpret_value){bits, UINT64_MAX, interpret_no_origin};
}

/* Of these bits all that `known` says. */
static inline struct interpret_value value_of(uint64_t bits, uint64_t known)
{
    return (struct interpret_value){bits & known, known, interpret_no_origin};
}

/* It comes from itself. */
static inline struct interpret_value constant(uint64_t bits)
{
    struct interpret_value v = value_known(bits);
    v.origin =
        (struct interpret_origin){INTERPRET_NOWHERE, INTERPRET_NOWHERE, 1, true, (int64_t)bits};
    return v;
}

/* memory.c. An address that is not known all may be anywhere. */
void memory_store(struct interpret_state *s, const struct interpret_value *address,
                  struct interpret_value value, unsigned bytes);
void memory_forget(struct interpret_state *s);
/* Whether an instruction has written any of it: then what was there at the begin is of no
 * interest. */
bool memory_is_written(const struct interpret_state *s, uint64_t address, unsigned bytes);
/* Of more than eight bytes: unknown from now on. */
void memory_blur(struct interpret_state *s, const struct interpret_value *address, uint64_t bytes);

/* origins.c: where the sum comes from, and the word at an address. */
struct interpret_origin origin_add(struct interpret_origin a, struct interpret_origin b);
struct interpret_origin origin_plus(struct interpret_origin a, int64_t plus);
struct interpret_origin origin_scale(struct interpret_origin a, unsigned scale);
/* Of a word that is read at an address: it is wanted from now on. */
struct interpret_origin origin_of_word(struct interpret_state *s, struct interpret_origin at,
                                       unsigned bytes, bool extend_sign);
/* The same word, taken for a signed number of so many bytes. */
struct interpret_origin origin_signed(struct interpret_state *s, struct interpret_origin of,
                                      unsigned bytes);
/* The origin of what is left of it in so many bytes, zero-extended. */
struct interpret_origin origin_cut(const struct interpret_state *s, struct interpret_origin of,
                                   unsigned bytes);

/* operands.c */
struct interpret_value register_read(const struct step *t, unsigned reg, unsigned bytes);
void register_write(const struct step *t, unsigned reg, struct interpret_value v, unsigned bytes);
/* By number: never ah and the like. */
void register_set(struct interpret_state *s, unsigned reg, struct interpret_value v,
                  unsigned bytes);
struct interpret_value memory_read(const struct step *t, const struct interpret_value *address,
                                   unsigned bytes);
/* The operand of modrm.rm, in memory or not. */
struct interpret_value rm_read(const struct step *t, unsigned bytes);
void rm_write(const struct step *t, struct interpret_value v, unsigned bytes);
struct interpret_value rm_address(const struct step *t);
uint64_t immediate(const struct step *t, unsigned at, unsigned bytes);
/* Of a value of so many bytes. */
struct interpret_value sign_extended(const struct step *t, struct interpret_value v,
                                     unsigned from);
void push(const struct step *t, struct interpret_value v, unsigned bytes);
struct interpret_value pop(const struct step *t, unsigned bytes);

/* integer.c: results, and the flags that they leave. */
enum alu { ALU_ADD, ALU_OR, ALU_ADC, ALU_SBB, ALU_AND, ALU_SUB, ALU_XOR, ALU_CMP };
struct interpret_value alu(const struct step *t, enum alu op, struct interpret_value a,
                           struct interpret_value b, unsigned bytes);
/* inc and dec leave CF. */
struct interpret_value alu_step(const struct step *t, enum alu op, struct interpret_value a,
                                unsigned bytes);
struct interpret_value alu_negate(const struct step *t, struct interpret_value a, unsigned bytes);
void alu_test(const struct step *t, struct interpret_value a, struct interpret_value b,
              unsigned bytes);
/* digit: modrm.reg of the group C0 */
struct interpret_value shift(const struct step *t, unsigned digit, struct interpret_value a,
                             struct interpret_value count, unsigned bytes);
/* Two operands, and a result as wide. */
struct interpret_value multiply(const struct step *t, struct interpret_value a,
                                struct interpret_value b, unsigned bytes);
/* F6 and F7 /4 to /7: with rax and rdx. False: the division is a trap. */
bool multiply_divide(const struct step *t, unsigned digit, struct interpret_value v,
                     unsigned bytes);
void flags_set(const struct step *t, uint64_t mask, uint64_t bits, uint64_t known);
/* 1 or 0 of a condition by its number; -1: not known. */
int condition(const struct interpret_state *s, unsigned number);

/* step.c: to the instruction's target, if it is taken; -1: that is not known. */
enum interpret_end branch(struct step *t, int taken);

/* strings.c */
bool string_execute(const struct step *t);
/* general.c: what is not known in detail. */
void general_execute(const struct step *t);
/* two.c: the map 0F. False: not known in detail. */
bool two_byte_execute(struct step *t, enum interpret_end *end);

#endif

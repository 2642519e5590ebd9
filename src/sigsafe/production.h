/* Productions as a machine runs them: patterns of instructions, conditions on flags of counters,
 * what is done at an instruction that matches, and what becomes of the counters (Mousa and Krintz,
 * Hybrid Profiling Support, section 4.2; the language: docs/productions.md).
 *
 *     instruction ──pattern──> site: a bit for each production     once, when it is decoded
 *     flags ──conditional────> active: a bit for each production   when a flag changes
 *
 *     site & active ──> actions, in the order of the productions
 *                   └─> micro-operations of counters ──> flags
 *
 * All productions are matched at once, with the flags as they are before the instruction.
 *
 * A counter is 32 bits and an overflow flag, which is its bit 32: so setting it to a value below
 * 2^32 unsets the flag. An overflow stays until the counter is set. The zero flag says that the 32
 * bits are 0.
 *
 * Context: pure functions, any context, general registers only.
 * Ownership: a struct production_program is one block of memory, without pointers; it lies in the
 * spool. */
#ifndef PENUMBRA_SIGSAFE_PRODUCTION_H
#define PENUMBRA_SIGSAFE_PRODUCTION_H

#include <stdbool.h>
#include <stdint.h>

enum {
    PRODUCTIONS_MOST = 64,     /* the bits of a site */
    PRODUCTION_COUNTERS = 8,   /* numbered from 1 */
    PRODUCTION_TERMS = 1024,   /* of all patterns and conditionals */
    PRODUCTION_DEPTH = 32,     /* of an expression */
    PRODUCTION_HEIGHT = 62,    /* of its stack of bits: 64, and a run has one more at a time */
    PRODUCTION_ACTIONS = 256,
    PRODUCTION_MICROS = 256,
    PRODUCTION_GROUPS = 32,    /* of results */
    PRODUCTION_IMAGES = 32,
    PRODUCTION_FUNCTIONS = 32,
    PRODUCTION_NAME = 64,
    PRODUCTION_FIELDS = 2,     /* of an action */
    PRODUCTION_COUNTER_BITS = 32,
};
#define PRODUCTION_COUNTER_END (UINT64_C(1) << PRODUCTION_COUNTER_BITS)

/* X(enumerator, name): classes of instructions; one may be of several. */
#define PRODUCTION_CLASSES(X)                                                                      \
    X(OPCLASS_MEM_OP, "mem_op")           /* reads or writes memory by an operand, or push, pop */ \
    X(OPCLASS_LOAD, "load")               /* of these: reads */                                    \
    X(OPCLASS_STORE, "store")             /* of these: writes */                                   \
    X(OPCLASS_PROC_CALL, "proc_call")                                                              \
    X(OPCLASS_PROC_RETURN, "proc_return")                                                          \
    X(OPCLASS_BRANCH, "branch")           /* direct jumps, conditional ones included */            \
    X(OPCLASS_COND_BRANCH, "cond_branch") /* of these: conditional ones */                         \
    X(OPCLASS_JUMP, "jump")               /* through a register or memory */                       \
    X(OPCLASS_SYSCALL, "syscall")                                                                  \
    X(OPCLASS_MOVE, "move")                                                                        \
    X(OPCLASS_INTEGER, "integer")                                                                  \
    X(OPCLASS_MULTIPLY, "multiply")                                                                \
    X(OPCLASS_STRING, "string")                                                                    \
    X(OPCLASS_X87, "x87")                                                                          \
    X(OPCLASS_VECTOR, "vector")                                                                    \
    X(OPCLASS_ANY, "any")
#define PRODUCTION_CLASS(id, name) id,
enum production_class { PRODUCTION_CLASSES(PRODUCTION_CLASS) OPCLASS_COUNT };
#undef PRODUCTION_CLASS

/* An instruction as patterns see it. */
struct production_trigger {
    uint32_t classes;      /* bit n: enum production_class n */
    uint32_t opcode;       /* escape bytes included: 0x0faf */
    uint64_t pc, target;   /* as it runs; target: of a direct transfer, else 0 */
    uint64_t offset;       /* of pc in its image: its link-time address */
    int64_t immediate;
    uint16_t reads, writes; /* general registers */
    uint8_t base, index;    /* of the operand in memory; 0xff: none */
    bool has_target, has_immediate;
    uint32_t images;        /* bit n: it is in program.images[n] */
};

enum production_what {
    TERM_AND, TERM_OR, TERM_NOT, /* of the one or two terms before */
    TERM_CLASS,                  /* value: enum production_class */
    TERM_PC, TERM_PC_TARGET, TERM_IMMEDIATE, TERM_OPCODE, /* relation, value */
    TERM_BASE, TERM_INDEX, TERM_READS, TERM_WRITES, /* value: a general register */
    TERM_IMAGE, TERM_FUNCTION,   /* value: its number */
    TERM_OVERFLOW, TERM_ZERO,    /* value: a counter, from 0 */
};

enum production_relation { RELATION_EQ, RELATION_NE, RELATION_LT, RELATION_LE, RELATION_GT,
                           RELATION_GE };

/* Expressions are in postfix order. */
struct production_term {
    uint8_t what, relation;
    uint8_t reserved[6];
    uint64_t value;
};

/* X(enumerator, name): what an action is given of the instruction. Registers follow. */
#define PRODUCTION_FIELDS_ALL(X)                                                                   \
    X(FIELD_PC, "T.PC")           /* code */                                                       \
    X(FIELD_TARGET, "T.Target")   /* code: where it goes */                                        \
    X(FIELD_ADDRESS, "T.ADDRESS") /* data: that it accesses; once for each operand */              \
    X(FIELD_METHOD, "T.METHOD")   /* code: of a call its target, else the instruction */           \
    X(FIELD_IMMEDIATE, "T.IMM")                                                                    \
    X(FIELD_OPCODE, "T.OPCODE")
#define PRODUCTION_FIELD(id, name) id,
enum production_field { PRODUCTION_FIELDS_ALL(PRODUCTION_FIELD) FIELD_REGISTER, /* + its number */
                        FIELD_END = FIELD_REGISTER + 16, FIELD_NOTHING = 0xff };
#undef PRODUCTION_FIELD

enum production_kind { GROUP_COUNT, GROUP_STREAM };

/* What actions of one name keep. */
struct production_group {
    char name[PRODUCTION_NAME];
    uint8_t kind; /* enum production_kind */
    uint8_t fields[PRODUCTION_FIELDS];
    uint8_t reserved[5];
};

enum production_micro_what { MICRO_INC, MICRO_DEC, MICRO_SET };

struct production_micro {
    uint8_t what, counter;
    uint8_t reserved[6];
    uint64_t value; /* of MICRO_SET: at most 2^32 */
};

/* Runs of the arrays of the program. */
struct production_run {
    uint16_t first, count;
};

struct production {
    char name[PRODUCTION_NAME]; /* FILE:LABEL */
    struct production_run pattern, conditional; /* of terms; of none: always */
    struct production_run actions; /* none: null */
    struct production_run micros;  /* none: null */
};

struct production_function {
    char name[PRODUCTION_NAME];
    uint32_t image;  /* of images */
    uint32_t reserved;
    uint64_t lo, hi; /* link-time addresses */
};

struct production_program {
    uint32_t count, terms_used, actions_used, micros_used;
    uint32_t group_count, image_count, function_count;
    uint32_t sampled; /* 1: bursts or shadows are observed, not the whole run */
    uint32_t by_time; /* 1: and in these all is, whatever --frequency says */
    uint64_t burst, sparsity; /* in events; what the registers were made of */
    struct production productions[PRODUCTIONS_MOST];
    struct production_term terms[PRODUCTION_TERMS];
    uint8_t actions[PRODUCTION_ACTIONS]; /* groups */
    struct production_micro micros[PRODUCTION_MICROS];
    struct production_run begin; /* micro-operations that a thread begins with */
    uint32_t by_model; /* 1: a model runs them (modules/simulate_dise.h) */
    struct production_group groups[PRODUCTION_GROUPS];
    char images[PRODUCTION_IMAGES][PRODUCTION_NAME]; /* names of their files */
    struct production_function functions[PRODUCTION_FUNCTIONS];
};

/* "mem_op", ...; NULL out of range. */
const char *production_class_name(uint32_t class);
/* "T.PC", "rax", ...; NULL out of range. */
const char *production_field_name(uint32_t field);
/* "rax", ...; NULL out of range. */
const char *production_register_name(uint32_t number);

/* Bit n: pattern n matches. */
uint64_t production_match(const struct production_program *p, const struct production_trigger *t);

/* ---- counters ---- */

/* With it, what a thread's counters are. */
struct production_state {
    uint64_t counters[PRODUCTION_COUNTERS];
    uint64_t active; /* bit n: conditional n is true */
};

static inline bool production_overflow(uint64_t counter)
{
    return counter >> PRODUCTION_COUNTER_BITS;
}

static inline bool production_zero(uint64_t counter)
{
    return !(counter & (PRODUCTION_COUNTER_END - 1));
}

/* One micro-operation. True: it has changed a flag, and production_activate is due. */
bool production_micro_do(struct production_state *s, const struct production_micro *m);
/* `active` by the flags. */
void production_activate(struct production_state *s, const struct production_program *p);
/* The flags: bit n of counter n's overflow, bit 16 + n of its zero. */
uint32_t production_flags(const struct production_state *s);
/* What a thread begins with. */
void production_begin(struct production_state *s, const struct production_program *p);

/* How often the same step, MICRO_INC or MICRO_DEC, can be done until it changes a flag: at
 * least 1. */
uint64_t production_distance(uint64_t counter, uint32_t what);

/* ---- where nothing but one counter moves ---- */

/* As long as the flags are those of the beginning: whether all that is done is one step of one
 * counter at each production of `events`. */
struct production_idle {
    bool possible;
    uint8_t counter, what;
    uint32_t flags;  /* production_flags then */
    uint64_t active; /* production_state.active */
    uint64_t events;
};
struct production_idle production_idle(const struct production_program *p);

/* Whether no counter decides what is kept, wherever they are moved: each production that keeps
 * something does so at all that it matches (*always: bit n of production n), or at nothing; and
 * nothing is kept in order, which counters cut. Flags that cannot change are followed, not what
 * several of them have to do with each other. */
bool production_settled(const struct production_program *p, uint64_t *always);

#endif

/* Customization modules: what is captured of the instructions that are observed, what is made of
 * it, and how it reads in reports (Burrows et al., Efficient and Flexible Value Sampling, section
 * 2.4).
 *
 *     cc -shared -fPIC -O2 -o targets.so targets.c
 *     penumbra record --module ./targets.so -- program
 *
 *     the program                             the module's own process
 *     ───────────                             ────────────────────────
 *     a burst of instructions  ── tuples ──>  module.sequence(): one tuple for each instruction, with
 *     captures what capture()                      what was captured there
 *     asked for, once for each                  penumbra_emit(host, pc, kind, site, value)
 *     opcode                                         │
 *                                                    v
 *                                             a hotlist for each (pc, kind, site) ──> profile ──> reports
 *
 * A module is a shared object that defines `const struct penumbra_module penumbra_module`. It is
 * never loaded into the program. It runs in a process of its own: if it crashes, or does not return
 * from a callback for some seconds, that process is ended, what was counted until then is kept, the
 * report says so, and the program does not notice. That process may allocate, and read files; what
 * it writes to standard output and standard error is seen by the user. It sees the program's
 * values, so it should keep them to itself; with `record --redact` what it emits is hashed before
 * it reaches the profile.
 *
 * docs/module-tutorial.md builds one. `record --tool values`, `latency` and `conflicts` are modules
 * too, that are built in.
 *
 * Context: all callbacks are called from one thread, one after the other.
 * Ownership: what a callback is given lives until it returns. What the module's struct points to
 * must live as long as the module. C99, C++98 and later. */
#ifndef PENUMBRA_MODULE_H
#define PENUMBRA_MODULE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A module made for another version is refused. Members are only ever added at the end of structs,
 * and bits to enums, within one version. */
#define PENUMBRA_MODULE_ABI 1u

/* What can be captured of an instruction: the bits that capture() returns, and, alone, what an item
 * is. The limits are of what a tuple holds; what is beyond them is not captured. */
enum penumbra_capture {
    /* the first register that it writes, afterwards. Of a vector register: a lane an item, as wide
     * as the instruction's elements. Of an x87 register: its value as a double, rounded */
    PENUMBRA_RESULT = 1 << 0,
    /* registers that it reads as operands, before: `index` is the operand's place. Not those that
     * only make an address */
    PENUMBRA_SOURCES = 1 << 1,
    PENUMBRA_FLAGS = 1 << 2,     /* the status flags afterwards, as in rflags */
    PENUMBRA_ADDRESS = 1 << 3,   /* where its memory operand is; `bytes` is the operand's size */
    /* what it reads from memory, 16 bytes at most; lanes as of RESULT */
    PENUMBRA_LOADED = 1 << 4,
    PENUMBRA_STORED = 1 << 5,    /* what it has written to memory */
    PENUMBRA_TAKEN = 1 << 6,     /* of a conditional jump: 1 if it is taken, else 0 */
    PENUMBRA_TARGET = 1 << 7,    /* of an indirect jump or call, or a return: where it goes */
    PENUMBRA_LATENCY = 1 << 8,   /* of a load: time stamp counter ticks, less those of measuring */
    /* of the first instruction of a function that was called by the one before: rdi, rsi, rdx, rcx,
     * r8, r9; `index` 0 to 5 */
    PENUMBRA_ARGUMENTS = 1 << 9,
    /* index 0: its number; 1 to 6: its arguments; 7: what it returned */
    PENUMBRA_SYSTEM_CALL = 1 << 10
};

/* What can be captured of each sequence: bits of struct penumbra_module's `context`. */
enum penumbra_context {
    /* of the procedure that each instruction is in, where it is found */
    PENUMBRA_RETURN_ADDRESS = 1 << 0,
    PENUMBRA_CPU = 1 << 1
};

/* An opcode, as capture() is asked about it, once for each there is. The same opcode byte means
 * different instructions under different maps, and in some cases for each `digit`. */
struct penumbra_opcode {
    /* 0: one byte; 1: 0F; 2: 0F38; 3: 0F3A, with VEX and EVEX instructions of these; others: the
     * numbers that the encodings have */
    uint8_t map;
    uint8_t opcode;
    uint8_t digit;  /* bits 5 to 3 of the ModRM byte: F7 /6 is div; 0 to 7 in turn */
};

/* How the instruction takes an item's bits. */
enum penumbra_form { PENUMBRA_INTEGER, PENUMBRA_FLOAT, PENUMBRA_DOUBLE };

struct penumbra_item {
    uint32_t what;  /* one bit of enum penumbra_capture */
    uint8_t index;  /* of several: operand, lane, argument; else 0 */
    /* 0 to 15: the general register, by its number; 16 to 47: vector register and 16; 48 to 55:
     * x87, from the top of the stack, and 48; 56 to 63: MMX and 56; 64 to 71: mask register and 64;
     * 0xff: none */
    uint8_t reg;
    uint8_t bytes;  /* width, 1 to 8; more for ADDRESS */
    uint8_t form;   /* enum penumbra_form */
    uint64_t value; /* zero-extended */
};

/* One instruction that was executed, and what was captured of it. */
struct penumbra_tuple {
    uint64_t pc;    /* its address in the process */
    const uint8_t *code; /* its bytes */
    uint64_t return_address; /* of the procedure it is in; 0: not captured, or not found */
    uint32_t count;
    const struct penumbra_item *items;
    uint8_t length; /* of the code */
    uint8_t called; /* 1: the instruction before it, in this sequence, was a call that went here */
    uint8_t reserved[6];
};

/* Instructions that were executed one after the other by one thread. */
struct penumbra_sequence {
    int32_t process, thread; /* as the kernel numbers them */
    uint32_t cpu;            /* UINT32_MAX: not captured */
    uint32_t count;
    const struct penumbra_tuple *tuples;
};

/* How reports show values. */
enum penumbra_format {
    /* by what it looks like: a small number, an address with its symbol, text */
    PENUMBRA_SHOW_GUESS,
    PENUMBRA_SHOW_HEX,
    PENUMBRA_SHOW_DECIMAL,
    PENUMBRA_SHOW_SIGNED,
    PENUMBRA_SHOW_FLOAT,
    PENUMBRA_SHOW_DOUBLE,
    PENUMBRA_SHOW_ADDRESS, /* of data */
    PENUMBRA_SHOW_CODE,    /* of code: function + offset */
    PENUMBRA_SHOW_NAME,    /* names[value] of the kind */
    PENUMBRA_SHOW_MODULE   /* by the module's format() */
};

/* What a kind of value is good for: reports have lists of their own for some. */
enum penumbra_role {
    PENUMBRA_ROLE_OTHER,
    PENUMBRA_ROLE_RESULT,
    PENUMBRA_ROLE_LOADED,   /* semi-invariant: a load that always reads one value */
    PENUMBRA_ROLE_ARGUMENT, /* semi-invariant: a procedure's argument, by call site */
    PENUMBRA_ROLE_DIVISOR,  /* semi-invariant */
    PENUMBRA_ROLE_SHIFT,    /* semi-invariant: a shift count */
    PENUMBRA_ROLE_TARGET,   /* semi-invariant: of an indirect jump or call */
    PENUMBRA_ROLE_LATENCY,  /* names are levels of the memory hierarchy */
    PENUMBRA_ROLE_CONFLICT  /* pc is a load, the value the store that it conflicts with */
};

struct penumbra_kind {
    const char *name;          /* "result", "divisor" */
    uint32_t format;           /* enum penumbra_format */
    uint32_t role;             /* enum penumbra_role */
    /* PENUMBRA_SHOW_NAME: names of the values 0, 1, ...; NULL ends them */
    const char *const *names;
};

enum { PENUMBRA_KINDS_MAX = 64 };

struct penumbra_host; /* the process that the module runs in */

struct penumbra_module {
    uint32_t abi;   /* PENUMBRA_MODULE_ABI */
    uint32_t size;  /* sizeof(struct penumbra_module) */
    const char *name;
    const struct penumbra_kind *kinds;
    uint32_t kind_count; /* 1 to PENUMBRA_KINDS_MAX */
    uint32_t context;    /* bits of enum penumbra_context */
    /* Length of a sequence, and the share of triggers (one of so many) that makes one, if the user
     * does not say; 0: those of `record --tool values`. */
    uint32_t length, every;

    /* Which bits of enum penumbra_capture to capture of this opcode; what an instruction does not
     * have is left out of its tuples. NULL: nothing, tuples have no items. Called before the
     * program starts. */
    uint32_t (*capture)(const struct penumbra_opcode *opcode);

    /* Before the first sequence; NULL if there is nothing to do. Not 0: the module cannot run. */
    int (*begin)(struct penumbra_host *host);

    void (*sequence)(struct penumbra_host *host, const struct penumbra_sequence *sequence);

    /* For PENUMBRA_SHOW_MODULE: `out` is what the report shows, at most `size` - 1 bytes and a NUL.
     * At the end of the recording, once for each value that is in the profile; not at all with
     * --redact. */
    void (*format)(uint32_t kind, uint64_t value, char *out, size_t size);

    /* After the last sequence; may be NULL. */
    void (*end)(struct penumbra_host *host);
};

/* The module's definition of this is what is looked up in the shared object. */
extern __attribute__((visibility("default"))) const struct penumbra_module penumbra_module;

/* One more observation of `value`, of kind number `kind`, at the instruction at `pc`. pc and site
 * are addresses in the process of the sequence. site: 0, or where the values are to be told apart
 * by, as a return address. Nothing is returned: what cannot be kept is counted by the host. */
__attribute__((visibility("default"))) void penumbra_emit(struct penumbra_host *host, uint64_t pc,
                                                          uint32_t kind, uint64_t site,
                                                          uint64_t value);

/* A number to be kept in the profile, under a name ("L2 from", in ticks): given again, the last one
 * is kept. At most 64 of them. */
__attribute__((visibility("default")))
void penumbra_fact(struct penumbra_host *host, const char *name, uint64_t value);

#ifdef __cplusplus
}
#endif

#endif

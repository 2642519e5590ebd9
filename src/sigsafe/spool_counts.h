/* Exact counts in the spool: what the engine's tools count, where each count is, and why the engine
 * stopped.
 *
 * Each thing that is counted (a basic block, an edge) has a *counter id*, dense from 0, of its
 * process. Each thread that runs under the engine has a *window*: its own array of 8-byte counters,
 * indexed by id, contiguous in its address space. So counting is one instruction without a lock
 * prefix, `add qword ptr gs:[window + 8 * id], 1`, and yet nothing is lost when the process is
 * killed, because the window's pages are pages of the spool:
 *
 *      spool_process.counts ─> spool_counts
 *                                ├ things ─> chunk ─> chunk ...    newest first: what each id is
 *                                └ windows ─> window ─> window ...
 *                                               └ pieces ─> piece ─> piece ...
 *                                                            │         │
 *      spool pages                     [ 8192 counters ] <───┘         └──> [ 8192 counters ]
 *                                             ║ same pages                       ║
 *      address space of the thread   ... [ ids 8192 .. 16383 ]     [ ids 0 .. 8191 ] ...
 *                                        ^ base + 8 * 8192         ^ base
 *
 * The program holds no descriptor for the spool. A piece gets its second address by mremap of the
 * spool's shared mapping with an old size of 0, which duplicates instead of moving.
 *
 * A tool may keep a second word beside each counter (spool_counts.words): then its windows are
 * twice as wide.
 *
 * A window may be handed from a thread that has ended to another; its counts stay in it. After a
 * fork the child shares what its parent's ids mean up to then, and has windows of its own.
 *
 * Context: _as functions: any context of the profiled program, general registers only.
 * counts_thing_as may be called by several threads at once; a window is grown by one at a time.
 * Ownership: records live in the spool and are never freed; a struct counts_window and the address
 * space that it covers are the caller's. */
#ifndef PENUMBRA_SIGSAFE_SPOOL_COUNTS_H
#define PENUMBRA_SIGSAFE_SPOOL_COUNTS_H

#include "sigsafe/latency.h"
#include "sigsafe/spool.h"

#define COUNTS_NONE UINT32_MAX
#define COUNTS_IDS_MAX (UINT32_C(1) << 26) /* 512 MB of counters a thread */
#define COUNTS_PIECE 8192u                 /* counters: pieces are multiples of it, of 64 kB */

/* What a thing is the site of: which member of spool_thing says more. */
enum thing_kind {
    THING_NONE = 0,   /* an id whose record was never completed */
    THING_BLOCK,      /* straight-line code, counted at its entry */
    THING_EDGE,       /* a transfer of control between two places */
    THING_ACCESS,     /* an instruction's operand in memory */
    THING_RESULT,     /* a register that an instruction writes, or a part of 8 bytes of it */
    THING_UNOBSERVED, /* a block's instructions with a register that is not observed */
    THING_TOTALS,     /* no code: what the tool sums up for each thread */
};

enum access_way { ACCESS_LOAD = 1, ACCESS_STORE = 2, ACCESS_UPDATE = 3 };

/* X(enumerator, name in files and --json, what it holds). Each instruction is of one class. */
#define INSTRUCTION_CLASSES(X)                                                                     \
    X(CLASS_OTHER, "other", "anything that fits nowhere else")                                     \
    X(CLASS_MOVE, "move", "copies: mov, push, pop, lea, cmov, xchg without lock")                  \
    X(CLASS_INTEGER, "integer", "integer arithmetic, logic, comparison, shifts")                   \
    X(CLASS_MULTIPLY, "multiply", "integer multiplication and division")                           \
    X(CLASS_STRING, "string", "string instructions, with or without repetition")                   \
    X(CLASS_BRANCH, "branch", "conditional branches")                                              \
    X(CLASS_JUMP, "jump", "direct jumps")                                                          \
    X(CLASS_INDIRECT, "indirect-jump", "jumps through a register or memory")                       \
    X(CLASS_CALL, "call", "calls")                                                                 \
    X(CLASS_RETURN, "return", "returns")                                                           \
    X(CLASS_ATOMIC, "atomic", "locked read-modify-write, xchg with memory")                        \
    X(CLASS_X87, "x87", "x87 floating point")                                                      \
    X(CLASS_VECTOR, "vector", "MMX, SSE, AVX, AVX-512, scalar ones included")                      \
    X(CLASS_CRYPTO, "crypto", "AES, SHA, carry-less multiplication, CRC32")                        \
    X(CLASS_SYSTEM, "system", "system calls, fences, cpuid, rdtsc, state saving")                  \
    X(CLASS_NOP, "nop", "no operation, prefetches, hints")

#define CLASS_ENUMERATOR(id, name, what) id,
enum instruction_class { INSTRUCTION_CLASSES(CLASS_ENUMERATOR) CLASS_COUNT };
#undef CLASS_ENUMERATOR

/*   0          8           16           24       26       28       30       32
 *   +----------+-----------+------------+--------+--------+--------+--------+
 *   | key      | classes[16]            | bytes  | instr. | kind   | tool   |  THING_BLOCK
 *   | key      | to        | 0          | 0      | 0      | kind   | tool   |  THING_EDGE
 *   | key      | operand   | 0          | bytes  | way    | kind   | tool   |  THING_ACCESS
 *   | key      | copy_of   | 0          | bytes  | what   | kind   | tool   |  THING_RESULT
 *   | key      | 0         | 0          | 0      | reason | kind   | tool   |  THING_UNOBSERVED
 *   | 0        | 0         | 0          | 0      | 0      | kind   | tool   |  THING_TOTALS
 *   +----------+-----------+------------+--------+--------+--------+--------+
 *
 * Keys are those of key.h, with exact addresses: of the instruction, a block's first one, the one
 * that transfers control. Bytes that a kind does not use are 0: equal bytes are equal things. */
#define THING_PART __attribute__((packed, aligned(4)))
struct thing_block {
    uint8_t classes[CLASS_COUNT]; /* instructions of each class; all 0: not classified */
    uint16_t bytes, instructions;
} THING_PART;
struct thing_edge {
    uint64_t to; /* a key: where it goes */
} THING_PART;
struct thing_access {
    uint64_t operand; /* which one, where an instruction has several */
    uint64_t reserved;
    uint16_t bytes; /* of the operand; 0: a repeated string's */
    uint16_t way;   /* enum access_way */
} THING_PART;
struct thing_result {
    uint64_t copy_of; /* the id whose value it always has, or 0 */
    uint64_t reserved;
    uint16_t bytes; /* of the register or its part */
    uint16_t what;  /* spool_results.h */
} THING_PART;
struct thing_unobserved {
    uint64_t reserved[2];
    uint16_t unused;
    uint16_t reason; /* enum unobserved */
} THING_PART;

struct spool_thing {
    uint64_t key;
    union {
        struct thing_block block;
        struct thing_edge edge;
        struct thing_access access;
        struct thing_result result;
        struct thing_unobserved unobserved;
        uint32_t words[5]; /* all of it */
    };
    uint16_t kind; /* atomic enum thing_kind, written last */
    uint16_t tool; /* enum tool_kind: whose it is */
};
_Static_assert(sizeof(struct spool_thing) == 32 && CLASS_COUNT == 16, "two things a cache line");

struct spool_things {
    spool_ref next; /* the chunk before: ids first - 1 and below */
    uint32_t first; /* id of things[0] */
    uint32_t capacity;
    uint32_t used;  /* atomic; ids handed out, may exceed capacity */
    uint64_t reserved[2];
    struct spool_thing things[];
};
_Static_assert(sizeof(struct spool_things) == 32, "things stay aligned");

/* Counters of the ids first .. first + count - 1. */
struct spool_piece {
    spool_ref next;
    spool_ref counters; /* page-aligned uint64_t[count][words] */
    uint32_t first;
    uint32_t count;
};

enum { COUNTS_INSN_MOST = 15, COUNTS_TABLES = 16 };

struct spool_window {
    spool_ref next;
    int32_t tid;      /* of the thread that it was made for */
    uint32_t pieces;  /* atomic spool_ref, newest first */
    uint32_t reserved;
    /* By enum tool_table (tools.h): what the tool keeps for whoever counts here; 0: nothing yet. */
    spool_ref tables[COUNTS_TABLES];
};

/* One a process that runs under the engine. Counters are written with atomic additions. */
struct spool_counts {
    uint32_t things;  /* atomic spool_ref: the newest chunk */
    uint32_t windows; /* atomic spool_ref, newest first */
    uint64_t stopped[STOP_COUNT]; /* times the engine gave control back, by reason */
    uint64_t instructions;        /* run under the engine, where the carrier knows without counting
                                     blocks; else 0 */
    uint64_t bursts, burst_instructions, burst_ticks;
    uint64_t blocks;              /* translated */
    uint64_t code_bytes;          /* of the code cache */
    uint64_t translation_ticks;
    uint64_t dispatches, dispatch_ticks; /* entries into the dispatcher; translation included */
    uint32_t tuples;  /* atomic spool_ref of a struct spool_tuples (tuples.h); 0: none */
    uint32_t words;   /* 8-byte words of a counter; 0: 1. Set before the first window is made */
    /* By enum tool_table (tools.h): atomic spool_ref, newest first: what each thread keeps in the
     * tool's own table. */
    uint32_t tables[COUNTS_TABLES];
    struct latency latencies[LATENCY_KIND_COUNT];
    /* Instructions that cannot be translated. Whole runs execute them natively, alone; bursts and
     * shadows end there. */
    uint64_t alone;         /* atomic: so many were executed so */
    uint64_t refused_key;   /* of the first one that was met; */
    uint8_t refused_code[COUNTS_INSN_MOST]; /* its bytes */
    uint32_t refused;       /* atomic, 1: being written; 2: it is known */
};

/* A thread's counters in its own address space. */
struct counts_window {
    struct spool_window *record;
    uint64_t *base;    /* page-aligned; [base, base + capacity) is reserved by the caller */
    uint32_t capacity; /* counters that the reserved space has room for */
    uint32_t mapped;   /* counters that can be added to: ids below this */
    uint32_t words;    /* 8-byte words of each */
};

enum { COUNTS_WORDS_MAX = 2 };
/* A counter of two words, of tools that want to see some values only (tools/inline/lead.h). */
struct counts_lead {
    int64_t left;  /* so many are passed over; below 0: so many were the same as `bits` since */
    uint64_t bits;
};
_Static_assert(sizeof(struct counts_lead) == COUNTS_WORDS_MAX * sizeof(uint64_t), "two words");

/* Such a counter of a block, of tools that need not observe all executions
 * (tools/inline/gate.h). */
enum { COUNTS_GATE_MOST = 1 << 24 };
struct counts_gate {
    uint64_t count;
    /* executions that are passed over before the next one that is observed: below
     * COUNTS_GATE_MOST */
    int32_t left;
    uint16_t asked; /* so many are observed before the tool is asked; below 256 */
    uint16_t steps; /* the tool's own */
};
_Static_assert(sizeof(struct counts_gate) == sizeof(struct counts_lead), "two words");

static inline uint32_t counts_words(const struct spool_counts *c)
{
    uint32_t words = __atomic_load_n(&c->words, __ATOMIC_RELAXED);
    return words ? words : 1;
}

/* The calling process's record, linked into *process; NULL when the spool is full. */
struct spool_counts *counts_begin_as(const struct spool *s, struct spool_process *process);

/* The same in a forked child: ids that the parent gave out keep their meaning and number. */
struct spool_counts *counts_fork_child_as(const struct spool *s, const struct spool_counts *parent,
                                          struct spool_process *process);

/* Gives the thing an id; COUNTS_NONE when there is no room. The record is copied. */
uint32_t counts_thing_as(const struct spool *s, struct spool_counts *c,
                         const struct spool_thing *thing);

/* Ids that have been given out: all are below this. */
uint32_t counts_ids_as(const struct spool *s, const struct spool_counts *c);

/* Makes a window over [base, base + capacity), address space that the caller has reserved (any
 * mapping will do: it is replaced piece by piece). Nothing is mapped yet. False: the spool is
 * full. */
bool counts_window_begin_as(const struct spool *s, struct spool_counts *c, struct counts_window *w,
                            uint64_t *base, uint32_t capacity, int32_t tid);

/* The same over a window that somebody who is gone has counted in: its counters go on. False: the
 * kernel refuses. */
bool counts_window_resume_as(const struct spool *s, const struct spool_counts *c,
                             struct counts_window *w, struct spool_window *record, uint64_t *base,
                             uint32_t capacity, int32_t tid);

/* Makes the counters of all ids below `ids` (and some more) usable. Code that counts must not be
 * reachable by a thread whose window does not cover it: grow every thread's window first. False:
 * the spool or the reserved space is full, or the kernel refuses; what was mapped stays. Makes a
 * system call, so not where rt_quiet_as(). */
bool counts_window_grow_as(const struct spool *s, struct counts_window *w, uint32_t ids);

#endif

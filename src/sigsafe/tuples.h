/* Values on their way from the program to the collector: what the instructions that are observed
 * read, wrote and did (Burrows et al., Efficient and Flexible Value Sampling, sections 2.1 and
 * 2.4).
 *
 *     spool_process.counts ─> spool_counts.tuples ─> spool_tuples
 *                                                      ├ chunks[] ─> [ tuple_insn x 512 ]   by id
 *                                                      └ rings ─> tuple_ring ─> ...         one a thread
 *                                                                   └ data ─> [ bytes ]     power of two
 *
 *     in a ring, from tail to head, positions modulo its size, all in 8-byte words:
 *
 *     ┌ sequence ────────────────────────────────────────────────────────────┐┌ sequence ...
 *     │ struct tuple_sequence │ head │ value │ value │ head │ value │ ...     ││
 *     └───────────────────────┴──────┴───────┴───────┴──────┴───────┴─────────┘└──────────
 *                               tuple: id, count │ what each value is: values[] of the record `id`
 *
 *     ring:   |....consumed....|tail ......... published ......... head|..being written..|
 *
 * A sequence lies in one piece: where one does not fit before the ring's end there is a *pad*
 * (sequence.count 0, TUPLE_PAD), and it begins at the ring's start.
 *
 * A sequence is instructions that one thread executed one after the other: a burst, or so many of
 * an exact run. Each is one tuple, whose head names its instruction's record; the record says once
 * what the values of such tuples are. A tuple may have fewer values than its record says: the first
 * so many. It begins with the six argument registers if it has TUPLE_ARGUMENTS.
 *
 * Publishing: a producer writes a sequence behind `head` and then moves `head` (release). The
 * consumer reads from `tail` to `head` (acquire), and then moves `tail` (release), which gives the
 * space back. A sequence that was not published when its thread died is not seen. Records are
 * complete before an id is in a published sequence.
 *
 * Context: _as functions: any context of the profiled program, general registers only. Producers:
 * one thread a ring. tuples_next: the collector's side; whatever the spool holds, it reads inside
 * it.
 * Ownership: all records live in the spool and are never freed. */
#ifndef PENUMBRA_SIGSAFE_TUPLES_H
#define PENUMBRA_SIGSAFE_TUPLES_H

#include "penumbra/module.h"
#include "sigsafe/spool.h"

struct spool_counts;

#define TUPLES_CHUNK 512u      /* instruction records in a chunk */
#define TUPLES_CHUNKS 4096u    /* 2M instructions a process */
#define TUPLES_NONE UINT32_MAX /* no id */
enum {
    /* of one record: a whole vector register, and what is about its instruction */
    TUPLE_VALUES_MAX = 16,
    TUPLE_MEMORIES = 2,       /* memory operands of one record */
    TUPLE_ARGUMENT_COUNT = 6, /* rdi, rsi, rdx, rcx, r8, r9 */
    TUPLE_LENGTH_MAX = 128,   /* tuples of a sequence */
    TUPLE_WORDS_MAX = 1 + TUPLE_ARGUMENT_COUNT + TUPLE_VALUES_MAX,
    TUPLE_RING_BURST = 1 << 16, /* bytes */
    TUPLE_RING_EXACT = 1 << 18,
    TUPLE_BELL_SHARE = 4, /* of a ring: where so much waits the consumer is woken */
};

/* What is captured, in bits of enum penumbra_capture, of each opcode: [map][opcode][digit]; `digit`
 * is 0 where there is no ModRM byte. Made by the collector before the program starts
 * (value_settings.capture); constant afterwards. */
struct tuple_capture {
    uint16_t what[16][256][8];
    uint32_t registers; /* bit n: general register n, before each instruction (TUPLE_REGISTERS) */
};

/* What one value of a tuple is. Values are as wide as `bytes` says, zero-extended; high bytes (ah)
 * are shifted down. */
struct tuple_value {
    uint8_t what;  /* number of the bit of enum penumbra_capture: TUPLE_RESULT ... */
    /* RESULT of more than 8 bytes: 0 the low 8, 1 the next 8, ... LOADED, STORED: 0 and 1 (what is
     * beyond 16 bytes is not captured). SOURCES: 0, 1, ... as x86_sources_as has them. ADDRESS,
     * LOADED, STORED of an instruction with two memory operands: 2 more for the second.
     * SYSTEM_CALL: as in module.h */
    uint8_t index;
    uint8_t reg;   /* enum tuple_register */
    uint8_t bytes; /* 1 to 8; TUPLE_HIGH besides: bits 8 to 15 of the register */
};

enum { TUPLE_HIGH = 0x80 };

/* Numbers of registers: general ones as in encodings, from 0 on. */
enum tuple_register {
    TUPLE_VECTOR = 16, /* and up: 32 vector registers */
    TUPLE_X87 = 48,    /* and up: 8, from the top of the stack; their value as a double */
    TUPLE_MMX = 56,    /* and up: 8 */
    TUPLE_MASK = 64,   /* and up: 8 */
    TUPLE_MEMORY = 0xff, /* or none */
};

/* The bits of enum penumbra_capture by number. */
enum tuple_what {
    TUPLE_RESULT, TUPLE_SOURCES, TUPLE_FLAGS, TUPLE_ADDRESS, TUPLE_LOADED, TUPLE_STORED,
        TUPLE_TAKEN,
    TUPLE_TARGET, TUPLE_LATENCY, TUPLE_ARGUMENTS_AT_ENTRY, TUPLE_SYSTEM_CALL,
    TUPLE_REGISTERS, /* no opcode's, and no module's but `simulate` */
};
_Static_assert(1 << TUPLE_TARGET == PENUMBRA_TARGET && 1 << TUPLE_STORED == PENUMBRA_STORED &&
               1 << TUPLE_ARGUMENTS_AT_ENTRY == PENUMBRA_ARGUMENTS &&
               1 << TUPLE_SYSTEM_CALL == PENUMBRA_SYSTEM_CALL && 1 << TUPLE_FLAGS == PENUMBRA_FLAGS,
               "the same bits");

/* An address that an instruction forms: base + index * scale + disp, as x86/insn.h has it; the
 * address of the next instruction is in `disp` already where it is relative to rip. */
struct tuple_memory {
    int64_t disp;
    uint8_t base, index, scale;
    uint8_t add8;    /* register whose low byte is added, or 0xff */
    uint8_t segment; /* 1: the FS base is added */
    uint8_t address32; /* 1: the sum without the segment's base is cut to 32 bits */
    uint16_t size;
};

/* tuple_insn.flags */
enum {
    TUPLE_INSN_BRANCH = 1,   /* goes to `target`, or on */
    TUPLE_INSN_JUMP = 2,     /* goes to `target` */
    TUPLE_INSN_INDIRECT = 4, /* goes where only the engine knows */
    TUPLE_INSN_CALL = 8,
    TUPLE_INSN_SYSCALL = 16,
};

/* An instruction that has been observed. The same address may have several: code that changed, or
 * two threads that met it first at the same time. Complete when `length` is not 0.
 *
 *   0      8         16      31       32     34      35       36      37        40         104        136
 *   +------+---------+-------+--------+------+-------+--------+-------+---------+-----------+---------+--------+
 *   | key  | address | bytes | length | what | count | before | flags | memories| values[16]| memory  | target |
 *   +------+---------+-------+--------+------+-------+--------+-------+---------+-----------+---------+--------+ */
struct tuple_insn {
    uint64_t key;       /* key.h, the exact address */
    uint64_t address;   /* in the process */
    uint8_t bytes[15];  /* of the instruction */
    uint8_t length;     /* atomic, written last: 1 to 15 */
    uint16_t what;      /* what the capture table asks for: bits of enum penumbra_capture */
    uint8_t count;      /* of values */
    uint8_t before;     /* of them: captured before the instruction, and first */
    uint8_t flags;      /* TUPLE_INSN_... */
    uint8_t memories;   /* memory operands that addresses are captured of */
    uint8_t stores;     /* bits: which of them are written to */
    uint8_t reserved;
    struct tuple_value values[TUPLE_VALUES_MAX];
    /* For the producer. */
    struct tuple_memory memory[TUPLE_MEMORIES];
    uint64_t target;    /* of a direct transfer */
};
_Static_assert(sizeof(struct tuple_insn) == 144, "records of nine quarters of a cache line");

/* tuple_sequence.flags */
enum {
    TUPLE_PAD = 1,        /* not a sequence: skip `words` */
    TUPLE_EXACT = 2,      /* a piece of a whole run, not a burst */
    TUPLE_CONTINUES = 4,  /* it goes on where the sequence before it in this ring ended */
    TUPLE_WARM = 8,       /* no tuples: words of warm.h */
};

struct tuple_sequence {
    uint32_t words;     /* of this sequence or pad, header included; at least 1 */
    uint16_t count;     /* tuples */
    uint16_t flags;
    int32_t tid;
    uint32_t cpu;       /* UINT32_MAX: not known */
    uint64_t ticks;     /* time stamp counter when the first was observed */
    /* of the procedure that the first is in; 0: not found, or not asked for */
    uint64_t return_address;
    uint64_t context;   /* key of the call: return_address - 1; 0 without one */
    uint32_t every;     /* it stands for so many triggers */
    uint32_t skipped;   /* instructions between the interrupted one and the first */
    uint32_t window;    /* of a sampled simulation: its number, from 1; else 0 */
    uint32_t process;   /* spool_ref of whose it is; 0: of the process that has the ring */
};
_Static_assert(sizeof(struct tuple_sequence) == 56, "whole words");
enum {
    TUPLE_SEQUENCE_WORDS = 7,
    TUPLE_SEQUENCE_WORDS_MAX = TUPLE_SEQUENCE_WORDS + TUPLE_LENGTH_MAX * TUPLE_WORDS_MAX,
};

/* The longest sequence may need its room twice, where the ring ends: as long as nobody was woken it
 * has it. */
_Static_assert(TUPLE_RING_BURST - TUPLE_RING_BURST / TUPLE_BELL_SHARE >=
                   2 * 8 * TUPLE_SEQUENCE_WORDS_MAX,
               "no sequence is dropped before the bell has rung");

/* A tuple's first word, then `count` values. */
struct tuple_head {
    uint32_t id;    /* of its struct tuple_insn */
    uint8_t count;  /* values that follow: arguments, and the first so many of the record's */
    uint8_t flags;  /* TUPLE_ARGUMENTS */
    uint16_t reserved;
};
_Static_assert(sizeof(struct tuple_head) == 8, "a word");
/* the instruction before it called it: the first six values are registers */
enum { TUPLE_ARGUMENTS = 1 };

/* What the producer and the consumer write lies in cache lines of their own.
 * NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding) */
struct tuple_ring {
    spool_ref next;
    int32_t tid;        /* of the thread that it was made for; each sequence has its own */
    spool_ref data;     /* page-aligned */
    uint32_t size;      /* bytes: a power of two */
    uint64_t counts;    /* private to the producer: which process's it is */
    spool_ref window;   /* the producer's struct spool_window, which is another thread's later */
    /* Written by the producer. */
    _Alignas(64) uint64_t head; /* atomic; bytes ever published */
    uint64_t sequences, tuples; /* published */
    uint64_t dropped[TUPLE_DROP_COUNT]; /* sequences, by reason */
    /* Private to the producer: the sequence that it is writing. */
    struct tuple_cursor {
        uint64_t total;   /* instructions that are still to be observed */
        uint64_t begin;   /* bytes: of the sequence */
        uint64_t at;      /* bytes: where the next tuple begins; 0: there is no sequence */
        /* bytes: where the tuple that waits for its instruction's end begins; 0: none */
        uint64_t open;
        uint64_t address[TUPLE_MEMORIES]; /* memory operands of the open tuple */
        uint32_t skip;    /* instructions that are executed before one is observed */
        uint32_t skipped; /* of this burst, for the header */
        uint32_t left;    /* tuples that the sequence still has room for */
        uint8_t called;   /* the last tuple was a call */
        uint8_t continues; /* the sequence goes on where the last one ended */
        uint8_t lost;     /* the consumer was waited for in vain */
        uint8_t counted;  /* something of this burst was published, or counted as dropped */
        /* Through the engine's ring (tools/values_whole.c). */
        uint8_t after;    /* what the open tuple has after its instruction is there */
        uint8_t arrived;  /* `result` is that of a system call that may be the open tuple's */
        uint32_t site;    /* of the open tuple */
        /* Of a sampled simulation (tools/values_sampled.c). */
        uint32_t windows; /* begun */
        uint8_t inside;   /* the last of them is not over */
        uint8_t passing;  /* flush is at what lies between two windows */
        uint32_t window;  /* flush is at this one */
        /* memory operands of the instruction that is being executed */
        uint64_t now[TUPLE_MEMORIES];
        uint64_t arguments[TUPLE_ARGUMENT_COUNT]; /* if `called` */
        uint64_t result;
    } cursor;
    /* Written by the consumer. */
    _Alignas(64) uint64_t tail; /* atomic; bytes ever consumed */
    uint64_t reserved[7];
};

/* One a process that is observed so. */
struct spool_tuples {
    uint32_t rings;     /* atomic spool_ref, newest first */
    uint32_t used;      /* atomic; ids handed out, may exceed the room there is */
    uint32_t chunks[TUPLES_CHUNKS]; /* atomic spool_ref: id / TUPLES_CHUNK; page-aligned records */
    uint64_t dropped[TUPLE_DROP_COUNT]; /* atomic additions: what belongs to no ring */
};

/* What is linked into the process's counts, made if there is none; NULL when the spool is full.
 * Shadows of a process share its counts, and so this. */
struct spool_tuples *tuples_begin_as(const struct spool *s, struct spool_counts *c);

/* A ring of `size` bytes, linked; NULL when the spool is full. */
struct tuple_ring *tuples_ring_make_as(const struct spool *s, struct spool_tuples *t, int32_t tid,
                                       uint32_t size);

/* An empty record and its id; NULL when there is no room. The caller fills it in, and sets `length`
 * last (release). An id whose record is never completed is not used. */
struct tuple_insn *tuples_insn_make_as(const struct spool *s, struct spool_tuples *t, uint32_t *id);

/* The record, or NULL; for the collector, as long as length != 0 (acquire) it is constant. */
struct tuple_insn *tuples_insn_at(const struct spool *s, const struct spool_tuples *t, uint32_t id);

/* Room for a sequence of at most `words` words behind head; false: the consumer is behind. On
 * success ring->cursor.begin is where it is to be written, in one piece. */
bool tuples_reserve_as(const struct spool *s, struct tuple_ring *r, uint32_t words);
/* The word at a position of the reserved space. */
uint64_t *tuples_word_as(const struct spool *s, const struct tuple_ring *r, uint64_t position);
/* Publishes what was written from ring->cursor.begin to `end`, whose header is complete but for
 * `words`; wakes the consumer where it may be far behind. */
void tuples_publish_as(const struct spool *s, struct tuple_ring *r, uint64_t end);

/* The consumer: copies the next sequence, header included, to `to` (of at least
 * TUPLE_SEQUENCE_WORDS_MAX words), and frees its space. Returns its
 * words; 0: there is none. The copy is checked: its tuples' counts add up to its words. A ring that
 * cannot be true is emptied: *broken is set. */
uint32_t tuples_next(const struct spool *s, struct tuple_ring *r, uint64_t *to, bool *broken);

#endif

/* What the program in the kernel (walk.bpf.c) and the collector (machine_bpf.c) share: maps of
 * memory that both have mapped, and the records that the program writes.
 *
 *     pid ──> walk_process ──> walk_map: [lo, hi) ──> walk_table ──┐
 *                                                                  v
 *     pool of 64-bit words:  | table (unwind/table.h): header, buckets, rows | table | ...
 *
 * The collector writes while the program reads. What is being written has an odd sequence number,
 * and what has been written another one than before: the program looks before a walk and after it,
 * and believes the walk only if nothing was written meanwhile.
 *
 * Context: constants and layouts only; compiled for BPF, too. */
#ifndef PENUMBRA_COLLECTOR_MACHINE_BPF_LAYOUT_H
#define PENUMBRA_COLLECTOR_MACHINE_BPF_LAYOUT_H

#include <stdint.h>

enum {
    WALK_PROCESSES = 1024, /* a process is at its pid modulo this */
    WALK_MAPS = 256,       /* of a process */
    WALK_TABLES = 4096,    /* the first is none */
    WALK_FRAMES = 512,     /* of a user's stack */
    WALK_KERNEL = 127,     /* as perf has it: PERF_MAX_STACK_DEPTH */
    WALK_SEARCH = 9,       /* halves a bucket of 256 rows, or WALK_MAPS, to one */
    WALK_REGISTERS = 17,
    WALK_PAGE = 4096,
    WALK_PIECE = 16384,    /* of a stack that is not walked in the kernel; a power of two */
};

struct walk_map {
    uint64_t lo, hi;
    uint64_t bias;  /* run-time minus link-time address */
    uint32_t table; /* 0: none yet */
    uint32_t unused;
};

struct walk_process {
    uint32_t sequence;
    int32_t pid;       /* 0: nobody's */
    uint64_t identity; /* of its program and what is mapped (walk.bpf.c); as of `time` */
    uint64_t time;     /* CLOCK_MONOTONIC */
    uint32_t count;
    uint32_t unused;
    struct walk_map map[WALK_MAPS]; /* by address */
};

struct walk_table {
    uint64_t text_lo; /* as in struct unwind_table */
    uint32_t buckets, rows;
    uint32_t bucket_at, row_at; /* words of the pool */
    uint32_t used;              /* the program's: walk_control.epoch when a walk last needed it */
    uint32_t unused;
};

struct walk_control {
    uint32_t sequence; /* of tables and pool */
    uint32_t epoch;
};

/* Why a stack is not walked in the kernel. */
enum walk_reason {
    WALK_DONE,
    WALK_NO_PROCESS, /* it is not known what the process has mapped */
    WALK_NO_MAP,     /* an address is in no file that is known: generated code, for example */
    WALK_NO_TABLE,
    WALK_RULE,       /* a frame needs more than the stack and frame pointers */
    WALK_MEMORY,     /* the stack is not where it should be, or not in memory */
    WALK_DEEP,       /* more than WALK_FRAMES */
    WALK_MODE,       /* a 32-bit program */
    WALK_CHANGED,    /* tables or maps were written meanwhile */
    WALK_REASONS
};

/* What a record of the program's tells of. */
enum walk_subject {
    WALK_CPU,  /* a sample of the CPU's clock */
    WALK_WAIT, /* a thread begins to wait: its stack */
    WALK_WAKE, /* a thread that waits is woken: the waker's stack */
    WALK_SUBJECTS
};

/* Records of the program's. The kernel puts 4 bytes in front, a size, so that all else is
 * aligned. */
#define WALK_MAGIC UINT32_C(0x4b4c4157)  /* "WALK": struct walk_record */
#define PIECE_MAGIC UINT32_C(0x43454950) /* "PIEC": struct walk_piece */
#define END_MAGIC UINT32_C(0x53444e45)   /* "ENDS": struct wait_end */
struct walk_head {
    uint32_t magic;
    uint16_t reason;   /* DONE: the stack is in the record. Else it is a piece, or perf's sample */
    uint16_t subject;
    uint32_t ns;       /* that the walk took */
    uint16_t user;     /* so many addresses, leaf first: of the leaf, and of calls' last bytes */
    uint16_t kernel;   /* and so many behind them, as perf has them */
    uint32_t odds;     /* one wait in so many is taken; 0: it is none */
    uint64_t identity; /* NO_PROCESS: of what is mapped now */
    uint64_t at;       /* DONE: walk_process.time; NO_MAP, NO_TABLE, RULE: the address */
    int32_t pid, tid;  /* of who waits */
    uint64_t begun;    /* of the wait, CLOCK_MONOTONIC; 0: it is none */
} __attribute__((packed, aligned(4)));

struct walk_record {
    struct walk_head h;
    uint64_t address[WALK_FRAMES + WALK_KERNEL];
} __attribute__((packed, aligned(4)));

/* A stack that the collector is to walk. */
struct walk_piece {
    struct walk_head h;
    uint32_t abi;  /* enum perf_sample_regs_abi */
    uint32_t size; /* of the stack's inner end, in bytes */
    uint64_t regs[WALK_REGISTERS]; /* in the order of MACHINE_REGISTERS */
    uint64_t kernel[WALK_KERNEL];
    uint8_t bytes[WALK_PIECE + WALK_PAGE];
} __attribute__((packed, aligned(4)));

/* A wait of which a record has told is over. */
struct wait_end {
    uint32_t magic;
    uint32_t odds;     /* 1: looked at while it lasted */
    int32_t pid, tid;
    uint64_t begun;
    uint64_t blocked_ns, ready_ns; /* until it was woken; from then on until it ran */
} __attribute__((packed, aligned(4)));

/* What the program that looks at waiting threads (machine_look) tells of one. */
struct wait_look {
    int32_t pid, tid;
    uint64_t begun;
    uint32_t abi, kernel;
    uint64_t regs[WALK_REGISTERS];
    uint64_t address[WALK_KERNEL];
};

/* Settings of waits. */
struct wait_control {
    uint64_t period_ns;
    uint64_t cgroup;   /* 0: everything is recorded */
    uint64_t least_ns; /* a look takes waits that have lasted so long */
    uint32_t generation; /* another one: what was told before has been lost */
    uint32_t unused;
    /* What the programs count: */
    uint64_t no_room;  /* waits not recorded: there are too many threads */
    uint64_t met;      /* waits that looks have come upon */
};

/* Of each CPU: waits that have begun there. */
struct wait_counts {
    uint64_t all, taken;
};

#endif

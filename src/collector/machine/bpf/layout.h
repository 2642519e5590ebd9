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

/* A record of the program's. The kernel puts 4 bytes in front, a size, so that all else is
 * aligned. */
#define WALK_MAGIC UINT32_C(0x4b4c4157) /* "WALK" */
struct walk_record {
    uint32_t magic;
    uint32_t reason;   /* DONE: a sample. Else the sample is a record of its own */
    uint32_t ns;       /* that the walk took */
    uint16_t user;     /* so many addresses, leaf first: of the leaf, and of calls' last bytes */
    uint16_t kernel;   /* and so many behind them, as perf has them */
    uint32_t unused;
    uint64_t identity; /* NO_PROCESS: of what is mapped now */
    uint64_t at;       /* DONE: walk_process.time; NO_MAP, NO_TABLE, RULE: the address */
    uint64_t address[WALK_FRAMES + WALK_KERNEL];
} __attribute__((packed, aligned(4)));

#endif

/* Runs: the code that is executed from an address on, up to the next instruction that transfers
 * control.
 *
 *     edge ──> run ... syscall ──> run ... last ──> edge
 *
 * Context: ordinary code. Safe on any image file.
 * Ownership: the caller owns the lists of points. */
#ifndef PENUMBRA_REPORT_RUNS_H
#define PENUMBRA_REPORT_RUNS_H

#include "symbols/code.h"
#include "x86/insn.h"

struct run {
    uint64_t last; /* its last instruction */
    uint32_t bytes, instructions; /* 0: there is no code */
    bool system;   /* a system call ends it */
};

/* Where edges lead to, where they come from, or what is behind a system call. */
struct point {
    uint32_t image;
    uint64_t address, count;
    uint64_t in;    /* of where edges come from: executions that are in blocks */
    struct run run; /* from here on */
};

struct points {
    struct point *list; /* room for all that are added; settled: by image and address */
    uint32_t count;
};

void points_add(struct points *points, uint32_t image, uint64_t address, uint64_t count);
/* Sorts them, and makes one of those of one place. */
void points_settle(struct points *points);
/* Of settled ones. NULL: there is none. */
struct point *points_find(const struct points *points, uint32_t image, uint64_t address);

/* The run of a settled point; those of the points after it are known. code: its image's; NULL: it
 * cannot be read. late: system calls do not end it. */
void points_run(struct points *points, uint32_t index, struct code *code, bool late);
struct run run_from(struct code *code, uint64_t start, bool late);

/* Whether control is transferred, or execution ends. */
bool run_ends_with(const struct x86_insn *insn);

#endif

/* Loops of micro-operations for the model, and what the machine must make of them. */
#ifndef PENUMBRA_TESTS_MODEL_KERNELS_H
#define PENUMBRA_TESTS_MODEL_KERNELS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/machine_file.h"
#include "model/core.h"

enum { BODY = 4000, LENGTH = 4, CODE = 0x400000 };

struct kernel {
    struct machine machine;
    struct uop_insn body[BODY];
    unsigned count;
    /* The address of memory operand 0 of instruction `i`, the n-th that has run. */
    uint64_t (*address)(unsigned i, uint64_t n);
    struct model_cost cost; /* of the last half of the last run */
};

static void kernel_init(struct kernel *k, const char *const *sets)
{
    struct err e = {0};
    memset(k, 0, sizeof *k);
    if (!machine_file_load(MACHINES "/zen4.conf", sets, &k->machine, &e))
        fail_msg("%s", e.message);
}

static struct uop_insn *kernel_add(struct kernel *k)
{
    struct uop_insn *insn = &k->body[k->count++];
    assert_true(k->count <= BODY);
    *insn = (struct uop_insn){.length = LENGTH};
    return insn;
}

/* One micro-operation, result <- source; UOP_REGISTERS: none. */
static struct uop *kernel_uop(struct uop_insn *insn, unsigned class, unsigned result,
                              unsigned source)
{
    struct uop *u = &insn->uops[insn->count++];
    *u = (struct uop){.class = (uint8_t)class, .size = 8};
    if (result != UOP_REGISTERS)
        u->results[u->result_count++] = (uint8_t)result;
    if (source != UOP_REGISTERS)
        u->sources[u->source_count++] = (uint8_t)source;
    return u;
}

/* Fills the body up with copies, and jumps back to its beginning. */
static void kernel_close(struct kernel *k, unsigned times)
{
    unsigned once = k->count;
    for (unsigned i = 1; i < times; i++)
        for (unsigned j = 0; j < once; j++)
            *kernel_add(k) = k->body[j];
    struct uop_insn *jump = kernel_add(k);
    jump->transfer = TRANSFER_JUMP;
    kernel_uop(jump, UOP_BRANCH, UOP_REGISTERS, UOP_REGISTERS);
}

/* Cycles of one round through the body, of the last half of the rounds. */
static inline double kernel_run(struct kernel *k, unsigned rounds)
{
    struct model_core *core = model_core_new(&k->machine);
    uint64_t begin = 0, n = 0;
    assert_non_null(core);
    double all = 0;
    memset(&k->cost, 0, sizeof k->cost);
    for (unsigned round = 0; round < rounds; round++) {
        if (round == rounds / 2) {
            begin = model_cycles(core);
            all = cost_cycles(cost_parts(&k->cost));
            memset(&k->cost, 0, sizeof k->cost);
        }
        for (unsigned i = 0; i < k->count; i++) {
            bool last = i + 1 == k->count;
            struct uop_executed x = {.pc = CODE + LENGTH * i,
                                     .next = last ? CODE : CODE + LENGTH * (i + 1),
                                     .repeat = 1, .follower = &k->body[last ? 0 : i + 1]};
            x.known[0] = k->address != NULL;
            x.address[0] = k->address ? k->address(i, n++) : 0;
            model_step(core, &k->body[i], &x, &k->cost);
        }
    }
    all += cost_cycles(cost_parts(&k->cost));
    assert_true(all >= (double)model_cycles(core) - 1 && all <= (double)model_cycles(core) + 1);
    double cycles = (double)(model_cycles(core) - begin) / (rounds - rounds / 2);
    model_core_free(core);
    return cycles;
}

#define assert_near(cycles, right) assert_near_at(cycles, right, __LINE__)
static inline void assert_near_at(double cycles, double right, int line)
{
    if (getenv("PENUMBRA_KERNELS")) /* docs/results/simulate.md */
        printf("%10.3f  %10.3f  %+6.2f%%\n", right, cycles, 100 * (cycles - right) / right);
    if (cycles < right * 0.98 || cycles > right * 1.02)
        fail_msg("line %d: %.3f cycles instead of %.3f", line, cycles, right);
}

#endif

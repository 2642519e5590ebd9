/* The parts of a core, shared between core*.c. Context and ownership: core.h. */
#ifndef PENUMBRA_MODEL_CORE_INTERNAL_H
#define PENUMBRA_MODEL_CORE_INTERNAL_H

#include <assert.h>

#include "model/core.h"
#include "model/memory.h"
#include "model/predict.h"

/* Entries that become free in the order in which they were taken: times of the last so many. */
struct queue {
    uint64_t *free_at;
    uint32_t size, at;
};

/* Stores that may not be in the cache yet, by 8 bytes of address. */
enum { GRANULE_SHIFT = 3, GRANULES = 1 << 12 };
struct granule {
    uint64_t address; /* + 1, of 8 bytes; 0: none */
    uint64_t begin, end; /* bytes of the store */
    uint64_t data;    /* when its data and address are known */
    uint64_t source;  /* when its data's register is there */
    uint64_t drained; /* when it is in the cache */
    uint32_t form;
};

enum { PORT_SLOTS = 1 << 16 };
/* Banks of the first-level cache are words of a line. */
enum { BANK_BYTES = 8, BANKS = 8 };
struct port_slot {
    uint64_t cycle;
    uint32_t taken;
    uint8_t banks[BANKS]; /* loads that begin */
};

enum { SCHEDULER_SLOTS = 1 << 16 };

struct model_core {
    const struct machine *m;
    struct model_memory memory;
    struct predictor predictor;

    /* fetch */
    uint64_t fetch;         /* cycle of the current group */
    uint32_t insns, bytes, slots; /* of the group, so far */
    bool cached;            /* the group comes from the micro-op cache */
    enum cost_cause late;   /* why the group is not earlier */
    uint64_t line, window;  /* last fetched, + 1; of 64 and 32 bytes */
    struct set_table uop_cache;
    struct queue buffer;    /* between fetch and dispatch */
    uint64_t expected;      /* address of the next instruction; 0: not known */

    /* dispatch */
    uint64_t dispatch;
    uint32_t dispatched;    /* in that cycle */
    struct queue rob, loads, stores;
    uint16_t *leaving;      /* by cycle: micro-operations that leave the scheduler */
    uint64_t scheduler_at;  /* up to which cycle they have left */
    uint32_t scheduled;
    bool absorbed;          /* the next branch is part of the comparison before it */

    /* execution */
    uint64_t ready[UOP_REGISTERS]; /* by register: when its value is there */
    int16_t added[UOP_REGISTERS];  /* what renaming has added to it since */
    int top;                /* of the x87 stack */
    struct port_slot *ports;
    uint32_t popularity[MACHINE_PORTS]; /* classes that may use the port */
    uint64_t unit_free[UOP_TIMED_COUNT];
    uint64_t fence;         /* no load is issued before */
    struct granule *granules;

    /* commit */
    uint64_t commit, drain, drain_line;
    uint32_t committed, drained; /* in that cycle */
    uint32_t part;          /* of a cycle: what a slot is */
    uint64_t *also;         /* model_add_to */
    uint64_t nowhere[COST_CAUSE_COUNT]; /* what it is for NULL */
};

/* What a micro-operation went through. */
struct passage {
    uint64_t dispatch, ready, issue, done;
    uint64_t renamed;       /* of a load: when its result is there before done; else 0 */
    uint32_t tlb;           /* of the time before done: cycles of the translation */
    enum cost_cause late;   /* why dispatch was not earlier */
    enum cost_cause doing;  /* what the time between issue and done was for */
};

/* The cycle in which the instruction is fetched; its slots then wait to be dispatched. */
uint64_t core_fetch(struct model_core *core, const struct uop_insn *insn,
                    const struct uop_executed *x, uint32_t slots, struct model_cost *cost);
/* Windows of code of this size are kept, each in as many entries of the table as one has. The
 * address is in one: was it there? It is from now on. */
enum { WINDOW_SHIFT = 5 };
bool core_window_find(struct model_core *core, uint64_t address);
/* The cycle in which a decode stage that makes micro-operations of its own makes one, before the
 * instruction at `pc`. */
uint64_t core_fetch_inserted(struct model_core *core, uint64_t pc, struct model_cost *cost);
/* Executes those of `insn`, with its addresses in `x`, before the instruction at `pc`; when the
 * last result is there. */
uint64_t core_insert(struct model_core *core, uint64_t pc, const struct uop_insn *insn,
                     const struct uop_executed *x, struct model_cost *cost);
/* After it has been executed: where fetch goes on. done: when a branch's result is there. */
void core_follow(struct model_core *core, const struct uop_insn *insn, const struct uop_executed *x,
                 uint64_t done, struct model_cost *cost);
/* Fetch goes on at `at` at the earliest. */
void core_redirect(struct model_core *core, uint64_t at, enum cost_cause why);

/* Executes a micro-operation that has been dispatched; p->dispatch and p->late are given. */
void core_execute(struct model_core *core, const struct uop *u, const struct uop_executed *x,
                  uint64_t repeated, struct passage *p, struct model_cost *cost);
/* When all its operands are there. */
uint64_t core_sources_ready(const struct model_core *core, const struct uop *u);
/* A store that commits then: when it is in the cache. source, data: when the register with its data
 * is there, and when the data can be forwarded. */
struct stored { uint64_t source, data, commit; };
uint64_t core_drain(struct model_core *core, const struct uop_executed *x, const struct uop *u,
                    uint64_t repeated, struct stored s);

/* queue */
bool core_queue_make(struct queue *q, uint32_t size);
static inline uint64_t queue_free_at(const struct queue *q)
{
    return q->free_at[q->at];
}
static inline void queue_take(struct queue *q, uint64_t free_at)
{
    q->free_at[q->at] = free_at;
    q->at = q->at + 1 == q->size ? 0 : q->at + 1;
}

#endif

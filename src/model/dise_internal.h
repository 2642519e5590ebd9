/* The parts of DISE, shared between dise*.c. Context and ownership: dise.h. */
#ifndef PENUMBRA_MODEL_DISE_INTERNAL_H
#define PENUMBRA_MODEL_DISE_INTERNAL_H

#include "model/core_internal.h"
#include "model/dise.h"

/* Registers of the renamer: counters, initial values, and a sequence's own. */
enum { DISE_COUNTER = UOP_DISE, DISE_REGISTER = UOP_DISE + 8, DISE_OWN = UOP_DISE + 16 };
_Static_assert((int)DISE_OWN + 4 == UOP_REGISTERS, "four of its own");
_Static_assert((int)DISE_REGISTER - DISE_COUNTER == PRODUCTION_COUNTERS, "all counters");

/* ---- tables (dise_tables.c) ---- */

/* What a table holds: something of each production, or nothing. */
struct dise_table {
    uint32_t size, used;
    uint32_t sizes[PRODUCTIONS_MOST]; /* entries that the production takes; 0: none */
    uint64_t there;                   /* bit n: those of production n are in the table */
    uint64_t used_at[PRODUCTIONS_MOST], clock;
};

/* Entries of the pattern table: what is joined by || takes one each. */
uint32_t dise_pattern_entries(const struct production_program *p, const struct production *one);
/* Instructions of a production's sequence, T.INSN included; 0: it has none. */
uint32_t dise_sequence_entries(const struct production_program *p, const struct production *one,
                               enum dise_mode mode);
/* With the sizes given: what fits is there. */
void dise_table_fill(struct dise_table *t, uint32_t size);
/* How many of these productions are not there; they are, afterwards. */
uint32_t dise_table_use(struct dise_table *t, uint64_t productions);

/* ---- handlers (dise_handlers.c) ---- */

/* Where handlers keep what they find, in the model's own addresses: the program has none as
 * high. */
enum { DISE_KEPT = 1 << 14 /* entries of a hash table */ };
struct dise_memory {
    uint64_t *keys[PRODUCTION_GROUPS];       /* by group that counts: DISE_KEPT; NULL: no such */
    uint64_t appended[PRODUCTION_GROUPS];
};

/* Instructions of an action's handler. */
uint32_t dise_handler_entries(const struct production_group *g);
/* The handler of an action, for x; true: its last branch goes where it was not predicted to. */
bool dise_handler_make(struct dise_memory *memory, const struct production_group *g,
                       const struct dise_action *action, const struct uop_insn *insn,
                       struct uop_insn *out, struct uop_executed *x);

/* ---- sequences ---- */

/* One micro-operation more; UOP_REGISTERS: no register. */
struct uop *dise_uop(struct uop_insn *to, unsigned class, unsigned result, unsigned source);

#endif

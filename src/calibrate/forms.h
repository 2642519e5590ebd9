/* One instruction of each class of micro-operations (model/uop.h), as a chain and independent.
 *
 * Context: any; no state.
 * Ownership: tables. */
#ifndef PENUMBRA_CALIBRATE_FORMS_H
#define PENUMBRA_CALIBRATE_FORMS_H

#include "model/uop.h"
#include "x86/emit.h"

enum form_values { FORM_GENERAL, FORM_DOUBLES, FORM_SINGLES, FORM_MASKS };

struct form {
    uint8_t class;   /* enum uop_class */
    uint8_t values;  /* enum form_values: of which registers */
    bool unpipelined; /* how often it can begin is its _busy, not its number of ports */
    /* to <- to, from: a chain through `to`. from: a register that none writes. */
    void (*emit)(struct emit *e, unsigned to, unsigned from);
};

/* NULL after the last. */
const struct form *form_at(unsigned index);
/* Whether this processor has it. */
bool form_runs(const struct form *f);

/* mov xmm, [m] of 16 bytes, aligned */
void form_load_vector(struct emit *e, unsigned to, struct emit_mem from);
/* movd xmm, r32 and movd r32, xmm */
void form_to_vector(struct emit *e, unsigned to, unsigned from);
void form_from_vector(struct emit *e, unsigned to, unsigned from);

#endif

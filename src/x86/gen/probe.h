/* Asking Zydis about every opcode of every map, with every value of the selectors.
 *
 * Context: build time. */
#ifndef PENUMBRA_X86_GEN_PROBE_H
#define PENUMBRA_X86_GEN_PROBE_H

#include "x86/gen/model.h"

enum { PROBE_LEAVES = 2 * 4 * 2 * 2 * 8 * 8 * 2 * 2 };

/* An instruction to be made. Everything but row, opcode and modrm may be left 0. */
struct probe {
    unsigned row;               /* ROW_... */
    uint8_t opcode;
    uint8_t value[SELECTORS];   /* of the selectors */
    bool modrm;
    unsigned features;          /* FEATURE_R, _X, _B, _R2, _V2, _ZERO, _LOCK, _RIP, _A32 */
    unsigned vvvv;              /* not inverted */
    unsigned mask;              /* EVEX.aaa */
};

/* Writes the bytes of the instruction; a modrm operand in memory has disp8 = 1. Returns how many,
 * with zeros behind them that may serve as immediates up to the 15th. */
unsigned probe_bytes(const struct probe *p, uint8_t code[15]);

/* The values of all selectors that make the leaf. */
const uint8_t *probe_leaf_values(unsigned leaf);

/* How many values of a selector a row's encoding has. */
unsigned probe_values(unsigned row, unsigned selector);

/* The form of one leaf; false, with *form all zero: invalid whatever else the encoding says.
 * `alike` is NULL or the form of a leaf that differs in selectors that features do not depend on:
 * where the forms are the same otherwise, what is forbidden is taken from there. */
bool probe_leaf(struct model *m, const struct probe *p, const struct x86_form *alike,
    struct x86_form *form);

/* Whether the opcode is followed by a modrm byte; -1: no such opcode. */
int probe_modrm(struct model *m, unsigned row, uint8_t opcode);

#endif

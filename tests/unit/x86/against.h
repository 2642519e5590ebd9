/* The decoder's answer for one instruction against Zydis's.
 *
 * Context: tests; one thread.
 * Ownership: the caller owns the bytes. */
#ifndef PENUMBRA_TESTS_X86_AGAINST_H
#define PENUMBRA_TESTS_X86_AGAINST_H

#include "x86/gen/model.h"

struct against {
    struct model model;
    unsigned long compared;   /* instructions that Zydis decodes */
    unsigned long refused;    /* byte strings that both refuse */
    unsigned long excused;    /* registers that must differ (x86/insn.h), and an error of Zydis */
    unsigned long mismatches; /* each described on standard error, the first 40 */
};

void against_init(struct against *a);

/* Compares everything that is known of the instruction at `code`. Returns its length, 0 for
 * none. */
unsigned against_zydis(struct against *a, const uint8_t *code, size_t size);

#endif

/* Where a function's frame is, as far as its instructions tell: for code without CFI.
 *
 *     sub $0x60,%rsp          rsp = CFA - 0x68
 *     mov %rbp,8(%rsp)        [CFA - 0x60] = rbp at entry
 *     mov %rsp,%rbx           rbx = CFA - 0x68
 *     and $-0x1000,%rsp       rsp = ?                     from here on CFA = rbx + 0x68
 *
 * A layout is what is known before an instruction. What cannot be told is unknown; layouts of two
 * paths that meet keep what they agree in.
 *
 * Context: ordinary code, any thread. Ownership: the caller's; nothing is allocated. */
#ifndef PENUMBRA_UNWIND_LAYOUT_H
#define PENUMBRA_UNWIND_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "x86/insn.h"

enum { LAYOUT_SLOTS = 12, LAYOUT_REGISTERS = 16 };

/* A value is a distance from the CFA, or one of these. */
enum {
    LAYOUT_UNKNOWN = INT32_MIN,
    LAYOUT_ENTRY = INT32_MIN + 1 /* + r: what register r held at entry */
};

struct layout {
    int32_t reg[LAYOUT_REGISTERS]; /* by enum x86_register */
    uint32_t slots;
    struct layout_slot {
        int32_t at, value; /* the word at CFA + at; never unknown */
    } slot[LAYOUT_SLOTS]; /* ascending; zero from `slots` on, so that layouts can be compared by
                             bytes */
};

/* At the first instruction of a function. */
void layout_enter(struct layout *l);

/* What is left of l behind the instruction at `code`, if control goes on there (of a call: when it
 * has returned). */
void layout_pass(struct layout *l, const struct x86_insn *insn, const uint8_t *code);

/* Keeps of l what other says as well. False: l is unchanged. */
bool layout_meet(struct layout *l, const struct layout *other);

/* As it was at entry, as far as callers and callees depend on it. */
bool layout_is_entry(const struct layout *l);

/* The rule for the instruction that l stands before (table.h): RULE_CODE or RULE_NONE. */
uint32_t layout_rule(const struct layout *l);

#endif

/* What is captured of one instruction: its record (sigsafe/tuples.h) but for key and address'
 * bytes, from the decoded instruction and what the capture table asks for.
 *
 * Context: pure functions; any context.
 * Ownership: the caller's record is filled in. */
#ifndef PENUMBRA_TOOLS_VALUES_PLAN_H
#define PENUMBRA_TOOLS_VALUES_PLAN_H

#include "sigsafe/tuples.h"
#include "x86/insn.h"

/* Fills in everything of *record but `key` and `length`, from record->address and record->bytes. */
void values_plan_as(struct tuple_insn *record, const struct x86_insn *insn,
                    const struct tuple_capture *capture);

/* The table's answer for the instruction. */
uint16_t values_wanted_as(const struct tuple_capture *capture, const struct x86_insn *insn,
                          const uint8_t *code);

/* True if the instruction reads memory, so that it can be timed. */
bool values_loads_as(const struct x86_insn *insn, const uint8_t *code);

#endif

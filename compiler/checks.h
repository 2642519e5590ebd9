/* The instructions that the plugin adds: checks, their slow paths, operations. All are assembly in
 * volatile asm instructions, so that no later pass takes them apart.
 *
 * Context: in cfg layout mode, after register allocation; liveness is known. */
#ifndef PENUMBRA_COMPILER_CHECKS_H
#define PENUMBRA_COMPILER_CHECKS_H

#include "held.h"

/* Ends `block`, which falls through or jumps to its one successor, with a check whose jump to
 * `label` is taken if the counter is below zero (jumps_if_due) or if it is not. `scratch`: a
 * general register that is dead there, or -1. The flags are dead. */
void check_emit(basic_block block, rtx_code_label *label, bool jumps_if_due, int scratch,
                const held &where);

/* At the block's end: the counter comes into its register, or back to memory. */
void check_emit_load(basic_block block, const held &where);
void check_emit_store(basic_block block, const held &where);

/* Ends `block`, which goes on to its one successor, with a site: 5 bytes that do nothing until they
 * are made a jump to `label`. */
void check_emit_site(basic_block block, rtx_code_label *label);

/* Ends `block` with a site that is a jump to `to`, until it is made one to `check`. */
void check_emit_jump_site(basic_block block, rtx_code_label *to, rtx_code_label *check);

/* Makes a conditional jump of the program, which leads to its check, a site: it leads to `to`,
 * until it is made to lead to the check. */
void check_make_site(rtx_insn *jump, rtx_code_label *to);

/* Whether the instruction is an operation, a mark or a site that is none of the program's. */
bool check_is_ours(const rtx_insn *insn);

/* Ends `block`, which falls through or jumps to its one successor, with a branch to `label` that is
 * taken if the module's switch is on (jumps_if_on) or off. The flags are dead. */
void check_emit_switch(basic_block block, rtx_code_label *label, bool jumps_if_on);

/* The call of the slow path, at the end of an empty block. `red_zone`: how many bytes below the
 * stack pointer may be live. */
void check_emit_sample(basic_block block, int red_zone);

/* Where an operation stands. */
struct place {
    rtx_insn *insn; /* it goes before this one */
    int red_zone;   /* bytes below the stack pointer that may be live */
    bool flags;     /* are live. Only a guard changes them */
};

/* Operation number `block` or `value` of tables.h: preserves registers and flags. Without
 * duplication a check guards it. */
void operation_emit_event(int block, const place &at);
void operation_emit_value(int value, rtx operand, const place &at);

/* Operation number `value`, which is given the frame pointer, or the stack pointer as it is when
 * the number has been pushed. Nothing guards it. */
void operation_emit_frame(int value, bool by_frame_pointer, const place &at);

/* A mark of no bytes before an instruction: the beginning of piece number `piece` of a block of
 * paths, whose record is value number `value`. */
rtx_insn *place_emit(int piece, int value, rtx_insn *before);

/* What operations call, for `blocks` and `values` of them: at the end of the unit. */
void operations_write(FILE *assembly, int blocks, int values);

/* Counts in __penumbra1_module, at the end of the block, a check, an entry, a back edge. The flags
 * are dead. */
void count_emit(basic_block block, bool check, bool entry, bool back);

#endif

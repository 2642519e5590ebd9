/* Instrumentations: what is counted, each in a file of its own.
 *
 *     final instructions of a block, in duplicated code
 *     ──────────────────────────────────────────────────
 *     operations_insert (operations.h) asks every instrumentation that the user wants about each
 *     instruction; it answers with events and values, and the operations are made of the answers.
 *
 *     label                 <── call event                  one operation for all events up to
 *     mov  8(%rdi), %eax        READ node.count             and with the next call
 *     mov  %rax, 16(%rsi)       WRITE list.head
 *                           <── push %rbx; call value       a value right before its instruction
 *     call *%rbx                TARGET
 *                           <── call event                  after a call begins another block
 *
 * To add one: a file with `const instrumentation NAME_instrumentation`, and its row in
 * instrumentations.cc and meson.build. An instrumentation only looks: it changes no instruction.
 *
 * Context: within the plugin's pass; each instruction is looked at once.
 * Ownership: what is given to `into` is copied. */
#ifndef PENUMBRA_COMPILER_INSTRUMENT_H
#define PENUMBRA_COMPILER_INSTRUMENT_H

#include "tables.h"

class answers {
public:
    /* Happens whenever the instruction is executed. */
    void event(const event_record &event) { events.push_back(event); }

    /* The value of `operand` before the instruction is executed: a general register or memory, of
     * at most 8 bytes; right before a call also the product of rdi and rsi. */
    void value(const value_record &value, rtx operand)
    {
        values.push_back({value, operand});
    }

    struct asked_value {
        value_record record;
        rtx operand;
    };
    std::vector<event_record> events;
    std::vector<asked_value> values;
};

struct instrumentation {
    const char *name;
    void (*look)(rtx_insn *insn, answers *into);
    void (*enter)(answers *into); /* the function is entered; NULL: nothing to say */
    /* A marker of debug information, which is no instruction. It says lines and callers itself. May
     * be NULL. */
    void (*mark)(rtx_insn *marker, answers *into);
};

extern const instrumentation *const instrumentations[]; /* ends with NULL */

/* The inlined function that a scope is in: its linkage name; "": it is the function's own. */
std::string instrument_scope(tree block);

/* The function that the instruction's line belongs to, if it is inlined: its linkage name. Else
 * "". Known if scopes are kept, as with -g. */
std::string instrument_caller(const rtx_insn *insn);

/* The linkage name of what a direct call calls, though by way of the global offset table; "" for
 * other instructions. */
std::string instrument_callee(const rtx_insn *insn);

/* Linkage name, without the mark of a name that is given by asm(). */
std::string instrument_name(tree function);

#endif

/* Why an interpretation ends: names for files and --json, and sentences for reports.
 *
 * Context: constants. */
#ifndef PENUMBRA_INTERPRET_REASONS_H
#define PENUMBRA_INTERPRET_REASONS_H

/* X(enumerator, name, what there was) */
#define INTERPRET_ENDS(X)                                                                          \
    X(INTERPRET_NEXT, "complete", "all instructions asked for")                                    \
    X(INTERPRET_BRANCH, "branch", "a branch by flags that were not captured")                      \
    X(INTERPRET_TARGET, "target", "a jump, call or return to where was not captured")              \
    X(INTERPRET_CODE, "code", "code that could not be read")                                       \
    X(INTERPRET_INVALID, "invalid-instruction", "bytes that are no instruction")                   \
    X(INTERPRET_DEVICE, "device", "memory that may be a device's")                                 \
    X(INTERPRET_TRAP, "trap", "a system call, a trap, or a return from one")                       \
    X(INTERPRET_PRIVILEGED, "privileged", "an instruction on the processor's own state")           \
    X(INTERPRET_STACK, "stack", "another stack")                                                   \
    X(INTERPRET_UNSUPPORTED, "unsupported", "an instruction that is not interpreted")

#define INTERPRET_ENUMERATOR(id, name, sentence) id,
enum interpret_end { INTERPRET_ENDS(INTERPRET_ENUMERATOR) INTERPRET_END_COUNT };
#undef INTERPRET_ENUMERATOR

#endif

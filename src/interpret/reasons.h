/* Why an interpretation ends: sentences for reports.
 *
 * Context: constants. */
#ifndef PENUMBRA_INTERPRET_REASONS_H
#define PENUMBRA_INTERPRET_REASONS_H

/* X(enumerator, what there was) */
#define INTERPRET_ENDS(X)                                                                          \
    X(INTERPRET_NEXT, "all instructions asked for")                                                \
    X(INTERPRET_BRANCH, "a branch by flags that were not captured")                                \
    X(INTERPRET_TARGET, "a jump, call or return to where was not captured")                        \
    X(INTERPRET_CODE, "code that could not be read")                                               \
    X(INTERPRET_INVALID, "bytes that are no instruction")                                          \
    X(INTERPRET_DEVICE, "memory that may be a device's")                                           \
    X(INTERPRET_TRAP, "a system call, a trap, or a return from one")                               \
    X(INTERPRET_PRIVILEGED, "an instruction on the processor's own state")                         \
    X(INTERPRET_STACK, "another stack")                                                            \
    X(INTERPRET_UNSUPPORTED, "an instruction that is not interpreted")

#define INTERPRET_ENUMERATOR(id, sentence) id,
enum interpret_end { INTERPRET_ENDS(INTERPRET_ENUMERATOR) INTERPRET_END_COUNT };
#undef INTERPRET_ENUMERATOR

#endif

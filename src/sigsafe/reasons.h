/* Why a sample was not taken, and why a stack is incomplete. One list, used by the runtime (which
 * counts), the file (which stores counts by name) and the reports (which print them): every sample
 * not taken is counted, by reason, and shown.
 *
 * Context: constants only. */
#ifndef PENUMBRA_SIGSAFE_REASONS_H
#define PENUMBRA_SIGSAFE_REASONS_H

/* X(enumerator, name in files and --json, sentence for people) */
#define DROP_REASONS(X)                                                                            \
    X(DROP_NESTED, "nested", "the handler was already running in this thread")                     \
    X(DROP_SPOOL_FULL, "spool-full", "the collector had no more memory ready")                     \
    X(DROP_IMAGES_CHANGED, "images-changed", "a library was loaded or unloaded during the walk")   \
    X(DROP_LATE, "late", "the signal had been blocked and came long after its time")               \
    X(DROP_STOPPED, "stopped", "it arrived after the recording had ended")                         \
    X(DROP_FOREIGN, "foreign-thread", "it arrived in a thread or process it was not meant for")    \
    X(DROP_LOST, "lost", "the kernel merged several expirations into one signal")                 \
    X(DROP_NO_STACK, "no-stack", "the program's alternate signal stack had no room left")

#define TRUNCATION_REASONS(X)                                                                      \
    X(TRUNC_DEPTH, "depth", "the stack is deeper than the walk's limit")                           \
    X(TRUNC_NO_CFI, "no-cfi", "code without unwind information, and no heuristic fits")            \
    X(TRUNC_BAD_CFI, "bad-cfi", "unwind information that cannot be interpreted")                   \
    X(TRUNC_BAD_STACK, "bad-stack", "the caller's frame would be outside readable stack memory")   \
    X(TRUNC_NO_PROGRESS, "no-progress", "the caller's frame would not be above its callee's")

#define REASON_ENUMERATOR(id, name, sentence) id,
enum drop_reason { DROP_REASONS(REASON_ENUMERATOR) DROP_COUNT };
enum truncation { TRUNC_NONE, TRUNCATION_REASONS(REASON_ENUMERATOR) TRUNC_COUNT };
#undef REASON_ENUMERATOR

#endif

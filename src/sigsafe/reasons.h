/* Why a sample was not taken, why a stack is incomplete, and why the engine stopped. One list of
 * each, used by the runtime (which counts), the file (which stores counts by name) and the reports
 * (which print them): every sample not taken is counted, by reason, and shown.
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
    X(DROP_NO_STACK, "no-stack", "the program's stack, or alternate signal stack, was at its end") \
    X(DROP_PAUSED, "paused", "the program had paused the recording")                               \
    X(DROP_TRAMPOLINE, "trampoline",                                                               \
      "an unwinder was at work, or the trampoline's target was unknown")          \
    X(DROP_LOST, "lost", "the kernel's buffer was full before the collector had read it")         \
    X(DROP_LOCKED, "locked-code", "the kernel lets nobody write a module's compiled-in checks")

#define TRUNCATION_REASONS(X)                                                                      \
    X(TRUNC_DEPTH, "depth", "the stack is deeper than the walk's limit")                           \
    X(TRUNC_NO_CFI, "no-cfi", "code without unwind information, and no heuristic fits")            \
    X(TRUNC_BAD_CFI, "bad-cfi", "unwind information that cannot be interpreted")                   \
    X(TRUNC_BAD_STACK, "bad-stack", "the caller's frame would be outside readable stack memory")   \
    X(TRUNC_NO_PROGRESS, "no-progress", "the caller's frame would not be above its callee's")     \
    X(TRUNC_MODE, "32-bit", "the stack of a 32-bit program, which is not walked")                  \
    X(TRUNC_OUTSIDE, "outside", "a process outside Penumbra's PID namespace, not to be looked at")

/* Why code that ran under the engine went on natively. */
#define STOP_REASONS(X)                                                                            \
    X(STOP_BUDGET, "budget", "the burst was complete")                                             \
    X(STOP_SYSTEM_CALL, "system-call", "a system call that the carrier does not run")              \
    X(STOP_INVALID, "invalid-instruction", "bytes that are no instruction")                        \
    X(STOP_UNSUPPORTED, "unsupported", "an instruction that cannot be translated")                 \
    X(STOP_FAR_TRANSFER, "far-transfer", "a far call, jump or return, or a change of mode")        \
    X(STOP_UNREADABLE, "unreadable", "code that cannot be read")                                   \
    X(STOP_FAULT, "fault", "an instruction faulted")                                               \
    X(STOP_SIGNAL, "signal", "a signal arrived that the engine could not put off")                 \
    X(STOP_RSEQ, "rseq", "a restartable sequence")                                                 \
    X(STOP_GS, "gs-in-use", "the program uses the GS segment itself")                              \
    X(STOP_SELF_MODIFIED, "self-modified", "code that changes faster than it can be translated")   \
    X(STOP_CACHE_FULL, "cache-full", "the code cache had no more room")                            \
    X(STOP_COUNTERS_FULL, "counters-full", "there was no more memory for counters")                \
    X(STOP_SANDBOX, "sandbox", "the program entered a sandbox")                                    \
    X(STOP_NO_MEMORY, "no-memory", "the engine could not get memory or address space")             \
    X(STOP_HANDLER, "fault-handler", "the program set a fault's handler by a raw system call")     \
    X(STOP_ADDRESS, "address", "the address where it was to end was reached")                      \
    X(STOP_SHADOW_STACK, "shadow-stack", "the processor's shadow stack is on")                     \
    X(STOP_OWN_CODE, "own-code", "the trigger came in code of the profiler itself")                \
    X(STOP_BUSY, "busy", "another thread was looking at what code had changed")                    \
    X(STOP_NO_MAPS, "no-maps",                                                                     \
      "/proc/self/maps could not be read, which says what may be executed")                        \
    X(STOP_LONG_STRING, "long-string",                                                             \
      "a string instruction that has long to go, and signals would wait for it")

/* Why a program that a recorded one executed is not recorded. */
#define UNFOLLOWED_REASONS(X)                                                                      \
    X(UNFOLLOWED_USER, "user", "run as another user, who may not write the counters")            \
    X(UNFOLLOWED_SETUID, "setuid", "setuid or setgid (as root: record --external)")                 \
    X(UNFOLLOWED_STATIC, "static", "statically linked (as root: record --external)")                \
    X(UNFOLLOWED_FOREIGN, "foreign",                                                               \
      "for another machine or another C library (as root: record --external)")                     \
    X(UNFOLLOWED_AWAY, "away", "started where Penumbra's library is not (a chroot or container)")   \
    X(UNFOLLOWED_HIDDEN, "hidden", "started where the counters are not (another /dev/shm: --spool)") \
    X(UNFOLLOWED_CONFINED, "confined", "by children of vfork that had entered a sandbox")

/* Why a thread or a process that was made in a sandbox, or executed there, is not observed. */
#define LEFT_REASONS(X)                                                                            \
    X(LEFT_CARRIER, "unsupported", "what is recorded, or how, cannot be begun from outside")       \
    X(LEFT_MAKER, "maker", "whoever made it was not sampled")                                      \
    X(LEFT_DEADLY, "deadly", "samples could become deadly there while the collector is stopped")   \
    X(LEFT_COLLECTOR, "collector", "the collector did not answer")                                 \
    X(LEFT_ROOM, "room", "more were made at once than there was memory for")                       \
    X(LEFT_STACK, "stack", "the filter forbids sigaltstack, which samples need")                   \
    X(LEFT_REFUSED, "refused", "the kernel does not let the collector set its trigger")            \
    X(LEFT_ENDED, "ended", "it had ended before its trigger was set")                              \
    X(LEFT_EXECUTED, "executed", "a program that was executed there")                              \
    X(LEFT_FILTER, "filter", "another filter came while it began")

/* How a shadow ended (docs/shadow.md). */
#define END_REASONS(X)                                                                             \
    X(END_COMPLETE, "complete", "it ran all the instructions asked for")                           \
    X(END_EXIT, "exit", "the program's code ended the process")                                    \
    X(END_INPUT, "input", "it wanted what can be read only once")                                  \
    X(END_SYSTEM_CALL, "system-call", "a system call that must not be executed twice")             \
    X(END_WAIT, "wait", "it waited for another thread or process")                                 \
    X(END_SIGNAL, "signal", "it sent itself a signal, or returned from a handler")                 \
    X(END_SHARED_WRITE, "shared-write", "it wrote to memory that others see")                      \
    X(END_FAULT, "fault", "an instruction faulted, as where memory is kept from forks (MADV_DONTFORK)") \
    X(END_ENGINE, "engine", "the engine could not go on (see why it stopped)")                     \
    X(END_MEMORY, "memory", "it had changed as much memory as a shadow may")                       \
    X(END_BUDGET, "budget", "copies of the program's memory were using up the budget")            \
    X(END_SCARCE, "scarce", "memory of the machine or of a control group was running short")       \
    X(END_CACHE_LOST, "cache-lost", "the code cache was left half changed")                        \
    X(END_SETUP, "setup", "it could not be made safe")                                             \
    X(END_TORN, "torn", "a thread of the program woke up while it was copied")                      \
    X(END_PROGRAM, "program-ended", "the program or the recording had ended")                      \
    X(END_KILLED, "killed", "it was killed from outside")

/* Why a trigger made no shadow. */
#define DECLINE_REASONS(X)                                                                         \
    X(DECLINE_LOAD, "load", "enough shadows are active")                                           \
    X(DECLINE_BUDGET, "budget", "the budget (or half of the time) does not allow one yet")         \
    X(DECLINE_BUSY, "busy", "another thread was deciding about one")                                       \
    X(DECLINE_SEATS, "seats", "too many shadows are active or not yet buried")                     \
    X(DECLINE_FORK, "fork", "the kernel refused")                                                  \
    X(DECLINE_COLLECTOR, "collector", "the collector has ended, or cannot be seen: the process is in a PID namespace of its own")  \
    X(DECLINE_MEMORY, "memory", "there was no memory for its records")                             \
    X(DECLINE_SCARCE, "scarce", "memory of the machine or of a control group is running short")    \
    X(DECLINE_SANDBOX, "sandbox", "the program is in a sandbox")                                   \
    X(DECLINE_BARRIER, "barrier", "not all threads of the program stood still")

/* Why the barrier of all threads was given up (runtime/carrier/shadow/shadow_barrier.h). */
#define BARRIER_REASONS(X)                                                                         \
    X(BARRIER_TIMEOUT, "timeout", "a thread did not stop in time")                                 \
    X(BARRIER_UNKNOWN, "unreachable", "a thread was running that cannot be stopped")               \
    X(BARRIER_MANY, "many", "there were more threads than a shadow holds")                         \
    X(BARRIER_EVENTS, "no-events", "threads are stopped by perf events, which were refused")       \
    X(BARRIER_STATE, "state", "a thread used the GS segment itself")                               \
    X(BARRIER_LOOK, "look", "/proc did not say where a thread was")                                \
    X(BARRIER_RIGHTS, "rights",                                                                    \
      "the program has dropped its rights: /proc does not say where its threads are")

/* With the carrier `auto`: where the observed code of a process runs, and why there. Those behind
 * PLACE_SHADOWS are bursts in place. */
#define PLACE_REASONS(X)                                                                           \
    X(PLACE_UNDECIDED, "undecided", "no trigger came")                                             \
    X(PLACE_SHADOWS, "shadows", "the budget has room for forks")                                   \
    X(PLACE_MEMORY, "memory", "one fork of so much memory would take more than the budget allows") \
    X(PLACE_COST, "cost", "one fork was measured to cost more than the budget allows")             \
    X(PLACE_PROCESSORS, "processors", "there is one processor, which the program needs")           \
    X(PLACE_REFUSED, "refused", "the kernel refused to fork")                                      \
    X(PLACE_UNFIT, "unfit", "most shadows ended by a fault")

/* Why a process runs without trampolines (docs/trampoline.md says how each is found). */
#define TRAMPOLINE_STATES(X)                                                                       \
    X(TRAMPOLINE_NOT_ASKED, "off", "they were not asked for")                                      \
    X(TRAMPOLINE_ON, "on", "calls are counted where they return")                                  \
    X(TRAMPOLINE_SHADOW_STACK, "shadow-stack", "the processor's shadow stack is on")               \
    X(TRAMPOLINE_GO, "go", "the Go run time moves its stacks")                                     \
    X(TRAMPOLINE_JVM, "jvm", "the Java virtual machine walks its stacks")                          \
    X(TRAMPOLINE_V8, "v8", "the V8 engine walks its stacks")                                       \
    X(TRAMPOLINE_DOTNET, "dotnet", "the .NET run time walks its stacks")                           \
    X(TRAMPOLINE_OCAML, "ocaml", "the OCaml run time walks and moves its stacks")                  \
    X(TRAMPOLINE_HASKELL, "haskell", "the GHC run time manages its own stacks")                    \
    X(TRAMPOLINE_JULIA, "julia", "the Julia run time copies its stacks")                           \
    X(TRAMPOLINE_PYPY, "pypy", "the PyPy run time copies its stacks")                              \
    X(TRAMPOLINE_RUBY, "ruby", "Ruby's callcc copies its stacks")                                  \
    X(TRAMPOLINE_GUILE, "guile", "Guile's continuations copy its stacks")                          \
    X(TRAMPOLINE_GREENLET, "greenlet", "greenlets copy their stacks")                              \
    X(TRAMPOLINE_COPIED, "copied", "the program copies its stacks")                                \
    X(TRAMPOLINE_UNWINDER, "own-unwinder", "an image has an exception unwinder linked into it")    \
    X(TRAMPOLINE_SANITIZER, "sanitizer", "a sanitizer looks at its callers")                       \
    X(TRAMPOLINE_WINE, "wine", "Wine walks its stacks")                                            \
    X(TRAMPOLINE_ATTACHED, "attached", "it ran already when the recording began")                  \
    X(TRAMPOLINE_LOST, "lost", "the program switched or skipped too many stacks unseen")           \
    X(TRAMPOLINE_KEYS, "keys", "the program wanted all keys of thread-specific data for itself")

/* Why a sequence of observed instructions did not reach the collector (tuples.h). */
#define TUPLE_DROP_REASONS(X)                                                                      \
    X(TUPLE_DROP_RING_FULL, "ring-full", "the module had not looked at what came before")          \
    X(TUPLE_DROP_SPOOL_FULL, "spool-full", "the collector had no more memory ready")               \
    X(TUPLE_DROP_RECORDS, "records-full", "too many different instructions were observed")         \
    X(TUPLE_DROP_GONE, "module-gone", "the module's process had ended, or did not go on")          \
    X(TUPLE_DROP_EMPTY, "empty", "the burst ended before an instruction was observed")

/* Why a register that an instruction has written was not observed, though all results were to
 * be. */
#define UNOBSERVED_REASONS(X)                                                                      \
    X(UNOBSERVED_CALL, "system-call", "system calls")                                              \
    X(UNOBSERVED_TRANSFER, "loop", "loop; what the engine stops behind")                           \
    X(UNOBSERVED_GENERAL, "more-general", "general registers beyond those that are observed")      \
    X(UNOBSERVED_WIDE, "more-vector",                                                              \
      "vector, x87, mask and tile registers behind the first, or at once")

#define REASON_ENUMERATOR(id, name, sentence) id,
enum drop_reason { DROP_REASONS(REASON_ENUMERATOR) DROP_COUNT };
enum trampoline_state { TRAMPOLINE_STATES(REASON_ENUMERATOR) TRAMPOLINE_STATE_COUNT };
enum left_reason { LEFT_REASONS(REASON_ENUMERATOR) LEFT_COUNT };
enum unfollowed { UNFOLLOWED_REASONS(REASON_ENUMERATOR) UNFOLLOWED_COUNT };
enum truncation { TRUNC_NONE, TRUNCATION_REASONS(REASON_ENUMERATOR) TRUNC_COUNT };
enum tuple_drop_reason { TUPLE_DROP_REASONS(REASON_ENUMERATOR) TUPLE_DROP_COUNT };
enum stop_reason { STOP_REASONS(REASON_ENUMERATOR) STOP_COUNT };
enum shadow_end { END_REASONS(REASON_ENUMERATOR) END_COUNT };
enum shadow_place { PLACE_REASONS(REASON_ENUMERATOR) PLACE_COUNT };
enum barrier_reason { BARRIER_REASONS(REASON_ENUMERATOR) BARRIER_COUNT };
enum unobserved { UNOBSERVED_REASONS(REASON_ENUMERATOR) UNOBSERVED_COUNT };
enum shadow_decline { DECLINE_REASONS(REASON_ENUMERATOR) DECLINE_COUNT };
#undef REASON_ENUMERATOR

#endif

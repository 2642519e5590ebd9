/* System calls and function calls in a stopped thread of another process.
 *
 *   area:  0      4096                                   4096 + STACK
 *          | stub | data ->                    <- stack  |      mapped for the time of the calls
 *
 *   stub:  call *%rax
 *          mov  %rax, %rdi
 *          mov  $SYS_getpid, %eax
 *          syscall                 <- the stop at its entry says that the function has returned
 *          movabs $frame, %rsp     <- if nobody stops it here, the thread goes its way back
 *          ret
 *
 * The end of a call is a stop at a system call, and not a breakpoint: a SIGTRAP of ours would reset
 * the program's action for it. The call has a stack of its own, because nobody knows how much of
 * the thread's is left, and what lies below its stack pointer. All signals are blocked meanwhile;
 * at the end everything is put back: registers, vector and x87 state, signal mask, and the
 * interrupted system call.
 *
 * Until then the thread stands where it comes back by itself (collector/attach/attach_return.h): a
 * collector that is killed in the middle leaves the area, and what it has opened, but a program
 * that goes on.
 *
 * Context: the thread that has stopped the target's (collector/attach/attach_thread.h).
 * Ownership: attach_call_end lets the thread go and unmaps the area; it must be called once
 * attach_call_begin was, whatever it returned. */
#ifndef PENUMBRA_COLLECTOR_ATTACH_CALL_H
#define PENUMBRA_COLLECTOR_ATTACH_CALL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "collector/attach/attach_return.h"

enum { ATTACH_DATA = 4096, ATTACH_STACK = 256 << 10 };

struct attach_call {
    pid_t pid, tid;
    const struct attach_landmarks *marks;
    int mem;       /* /proc/PID/mem */
    uint64_t area; /* 0: not mapped */
    struct attach_thread_state state;
    struct attach_return back;
    bool saved;
};

bool attach_call_begin(struct attach_call *c, pid_t pid, pid_t tid,
                       const struct attach_landmarks *marks, struct err *e);
/* *result: as the kernel returns it, negative errno on failure. False: the thread is gone. */
bool attach_call_system(struct attach_call *c, long number, const uint64_t argument[6],
                        int64_t *result, struct err *e);
/* function(a, b) */
bool attach_call_function(struct attach_call *c, uint64_t function, uint64_t a, uint64_t b,
                          uint64_t *result, struct err *e);
/* Copies data to where the calls can read it, `offset` bytes (below ATTACH_DATA) into the data
 * part; returns its address there. */
uint64_t attach_call_data(struct attach_call *c, unsigned offset, const void *data, size_t size);
void attach_call_end(struct attach_call *c);

#endif

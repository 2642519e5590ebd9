/* The runtime in a program that it is linked into, without a collector: its spool is private
 * memory, and no trigger is armed. The caller calls the handler itself.
 *
 * Context: ordinary code, once a process.
 * Ownership: everything lasts as long as the process. */
#ifndef PENUMBRA_TESTS_UNIT_RUNTIME_ALONE_H
#define PENUMBRA_TESTS_UNIT_RUNTIME_ALONE_H

#include <signal.h>
#include <stdint.h>

#include "runtime/thread.h"

/* siginfo of a perf event's signal, as in trigger/delivery.c. */
union alone_info {
    siginfo_t info;
    struct {
        int32_t signo, error, code, padding;
        uint64_t address, data;
    } perf;
};

/* A recording of CPU time (and, if `more`, of that many triggers after it), in which the calling
 * thread is the only one; its stack lies below `stack_top`. NULL: there is no memory. */
struct rt_thread *alone_begin(uint32_t depth_most, uint32_t more, const void *stack_top,
                              uint64_t stack_size);

/* The signal of trigger `which` in that thread. */
union alone_info alone_signal(const struct rt_thread *t, uint32_t which);

#endif

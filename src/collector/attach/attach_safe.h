/* Where in the program a foreign call may be slipped in: dlopen() takes locks of the loader's and
 * of malloc's that the interrupted thread might hold.
 *
 * A thread is at a safe point if it waits in a system call that neither malloc nor the loader
 * makes, or runs code that is neither theirs nor libc's, nor called by them: and the same for
 * whatever a signal handler on its stack has interrupted. No stack needs to be unwound for that:
 * code outside libc is called by malloc or the loader only through constructors (where dlopen is
 * allowed) and signal handlers (whose frames are recognized by their return address).
 *
 * Context: ordinary code, about a stopped thread. */
#ifndef PENUMBRA_COLLECTOR_ATTACH_SAFE_H
#define PENUMBRA_COLLECTOR_ATTACH_SAFE_H

#include "collector/attach/attach_libc.h"

struct attach_landmarks {
    const struct attach_maps *maps;
    int mem;
    struct attach_libc glibc;
    uint64_t restorer; /* where signal handlers return to; 0: not found */
    uint64_t syscall;  /* a system call instruction, and a return behind it */
};

/* Finds the landmarks in a process. False: no libc. */
bool attach_landmarks_find(struct attach_landmarks *l, const struct attach_maps *maps, int mem);

/* patient: a thread that waits for a lock or a condition will do too. */
bool attach_is_safe(const struct attach_landmarks *l, pid_t tid, bool patient);

#endif

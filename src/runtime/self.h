/* The calling thread's state, for interposers (ordinary code). Handlers get theirs from the signal.
 *
 * Context: ordinary code in threads made by pthread_create, and the main thread.
 * Ownership: released when the thread ends, by a thread-specific-data destructor. */
#ifndef PENUMBRA_RUNTIME_SELF_H
#define PENUMBRA_RUNTIME_SELF_H

#include "runtime/runtime.h"

/* Once, in the constructor. False: no key left. */
bool self_init(void);
struct rt_thread *self_get(void);
void self_set(struct rt_thread *t);
/* The same without a system call. */
void self_set_quiet(struct rt_thread *t);

#endif

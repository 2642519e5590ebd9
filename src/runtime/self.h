/* The calling thread's state, for interposers (ordinary code). Handlers get theirs from the signal.
 *
 * Context: ordinary code in threads made by pthread_create, and the main thread.
 * Ownership: released when the thread ends, by a thread-specific-data destructor. */
#ifndef PENUMBRA_RUNTIME_SELF_H
#define PENUMBRA_RUNTIME_SELF_H

#include "runtime/runtime.h"

/* Once, in the constructor. False: no key left. */
bool self_init(void);
/* The program has all other keys and wants one more. True: ours is free. Ends of threads are found
 * by thread_reap_as() then. */
bool self_yield_key(void);
bool self_has_key(void);
struct rt_thread *self_get(void);
void self_set(struct rt_thread *t);
/* The same without a system call. */
void self_set_quiet(struct rt_thread *t);

#endif

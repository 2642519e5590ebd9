#include "runtime/self.h"

#include <pthread.h>

#include "runtime/carrier/trampoline.h"
#include "runtime/thread.h"

static pthread_key_t key;
static bool key_made;
static _Thread_local struct rt_thread *self __attribute__((tls_model("initial-exec")));

/* Runs when a thread returns, calls pthread_exit or is cancelled. */
static void self_end(void *state)
{
    struct rt_thread *t = state;
    trampoline_thread_end(t);
    self = NULL;
    if (rt_quiet_as())
        return; /* the kernel ends the trigger with the thread */
    thread_end_as(t);
}

bool self_init(void)
{
    key_made = pthread_key_create(&key, self_end) == 0;
    return key_made;
}

struct rt_thread *self_get(void)
{
    return self;
}

void self_set(struct rt_thread *t)
{
    self = t;
    if (!t || !key_made)
        return;
    pthread_setspecific(key, t);
    t->trampoline.allowed = true; /* from here on self_get() knows it */
}

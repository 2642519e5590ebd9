#include "runtime/self.h"

#include <pthread.h>

#include "runtime/trampoline/trampoline.h"
#include "runtime/sandbox.h"
#include "runtime/thread.h"
#include "sigsafe/sys.h"

static pthread_key_t key;
static bool key_made;
static _Thread_local struct rt_thread *self __attribute__((tls_model("initial-exec")));
static _Thread_local uint32_t generation __attribute__((tls_model("initial-exec")));

/* Runs when a thread returns, calls pthread_exit or is cancelled. */
static void self_end(void *state)
{
    struct rt_thread *t = state;
    bool ours = self && generation == rt.generation;
    if (ours)
        trampoline_thread_end(t);
    self = NULL;
    if (!ours || !rt_profiled_as()) /* in a shadow the thread's records are the program's */
        return;
    sandbox_in_as(NULL);
    if (!rt_quiet_as()) /* else the kernel ends the trigger with the thread */
        thread_end_as(t);
    sandbox_out_as(NULL, 0);
}

bool self_init(void)
{
    key_made = pthread_key_create(&key, self_end) == 0;
    return key_made;
}

/* A thread that was there before us armed itself in a handler, where it left no word here. */
struct rt_thread *self_get(void)
{
    if (self && generation == rt.generation)
        return self;
    if (!rt.attached || !rt_profiled_as() || rt_quiet_as())
        return NULL;
    return thread_find_as((int32_t)sys_call3_as(SYS_gettid, 0, 0, 0));
}

/* libc allocates memory for keys beyond the first ones. */
void self_set_quiet(struct rt_thread *t)
{
    enum { KEYS_AT_HAND = 32 };
    self = t;
    generation = rt.generation;
    if (!key_made || key >= KEYS_AT_HAND)
        return;
    pthread_setspecific(key, t);
    t->trampoline.allowed = true;
}

void self_set(struct rt_thread *t)
{
    self = t;
    generation = rt.generation;
    if (!t || !key_made)
        return;
    pthread_setspecific(key, t);
    t->trampoline.allowed = true; /* from here on self_get() knows it */
}

#include "runtime/self.h"

#include <limits.h>
#include <pthread.h>

#include "runtime/trampoline/trampoline.h"
#include "runtime/sandbox.h"
#include "runtime/thread.h"
#include "sigsafe/sys.h"

static pthread_key_t key;
static bool key_made;    /* atomic; false again when the program has it */
static uint32_t setting; /* atomic: threads that may be setting their value */
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
    bool made = pthread_key_create(&key, self_end) == 0;
    __atomic_store_n(&key_made, made, __ATOMIC_RELEASE);
    return made;
}

/* Nobody sets a value when the number is the program's: either we see the thread that is about to,
 * or it sees that there is no key. A fork child may wait for a thread that it does not have. */
bool self_yield_key(void)
{
    enum { LOOKS = 1 << 20 };
    if (!__atomic_exchange_n(&key_made, false, __ATOMIC_SEQ_CST))
        return false;
    for (uint32_t i = 0; __atomic_load_n(&setting, __ATOMIC_SEQ_CST); i++) {
        __builtin_ia32_pause();
        if (i == LOOKS) {
            __atomic_store_n(&key_made, true, __ATOMIC_SEQ_CST);
            return false;
        }
    }
    trampoline_disable_as(TRAMPOLINE_KEYS);
    return pthread_key_delete(key) == 0;
}

bool self_has_key(void)
{
    return __atomic_load_n(&key_made, __ATOMIC_RELAXED);
}

/* Below `most`. From then on self_get() knows the thread, and its end will be seen. */
static void value_set(struct rt_thread *t, pthread_key_t most)
{
    __atomic_fetch_add(&setting, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&key_made, __ATOMIC_SEQ_CST) && key < most) {
        pthread_setspecific(key, t);
        t->trampoline.allowed = true;
    }
    __atomic_fetch_sub(&setting, 1, __ATOMIC_SEQ_CST);
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
    value_set(t, KEYS_AT_HAND);
}

void self_set(struct rt_thread *t)
{
    self = t;
    generation = rt.generation;
    if (t)
        value_set(t, PTHREAD_KEYS_MAX);
}

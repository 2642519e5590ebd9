/* Threads made by pthread_create and thrd_create are sampled from their first instruction on. */
#include "runtime/thread.h"

#include <errno.h>
#include <pthread.h>
#include <threads.h>

#include "runtime/carrier/carrier.h"
#include "runtime/interpose/alternate.h"
#include "runtime/interpose/real.h"
#include "runtime/interpose/signals.h"
#include "runtime/interpose/signals_held.h"
#include "runtime/process.h"
#include "runtime/sandbox.h"
#include "runtime/sandbox_outside.h"
#include "runtime/self.h"
#include "runtime/trigger/trigger.h"

/* glibc keeps its thread descriptor and the first frames (clone3, start_thread) above the frame of
 * the start routine, in the same mapping. */
enum { ABOVE_START = 512, STACK_MARGIN = 32768 };

static void thread_arm(struct rt_thread *t)
{
    uint64_t begun_cpu_ns = rt_quiet_as() ? 0 : thread_cpu_ns_as();
    if (!rt_running_as()) {
        thread_free_as(t);
        return;
    }
    if (rt_quiet_as()) {
        enum left_reason why = outside_begin(t);
        if (why != LEFT_COUNT)
            sandbox_left_out_as(1, 0, why);
        return;
    }
    if (!thread_begin_as(t))
        return;
    alternate_begin_as(t);
    if (!trigger_arm_as(t)) {
        thread_unarmed_as();
        thread_end_as(t);
        return;
    }
    self_set(t);
    trigger_took_as(t, thread_cpu_ns_as() - begun_cpu_ns);
}

static void thread_started(struct rt_thread *t)
{
    uint64_t usable = t->begin.stack_size > STACK_MARGIN ? t->begin.stack_size - STACK_MARGIN : 0;
    signals_believe_blocked(t->mask.trap_blocked);
    held_forget_thread_as();
    thread_stack_as(t, (const char *)__builtin_frame_address(0) + ABOVE_START, usable);
    sandbox_in_as(NULL);
    thread_arm(t);
    sandbox_out_as(NULL, 0);
}

static void *thread_run(void *state)
{
    struct rt_thread *t = state;
    void *(*start)(void *) = t->begin.start;
    void *argument = t->begin.argument;
    thread_started(t);
    return start(argument);
}

static struct rt_thread *thread_prepare(const pthread_attr_t *attributes, void *(*start)(void *),
                                        void *argument)
{
    pthread_attr_t defaults;
    size_t size = 0;
    process_adopt();
    if (!rt_running_as() || !carrier_samples_as())
        return NULL;
    bool quiet = rt_quiet_as();
    if (!quiet && !self_has_key())
        thread_reap_as();
    enum left_reason why = LEFT_COUNT;
    struct rt_thread *t = quiet ? outside_prepare(&why) : thread_make_as();
    if (!t && quiet)
        sandbox_left_out_as(1, 0, why);
    if (!t)
        return NULL;
    t->begin.start = start;
    t->begin.argument = argument;
    t->mask.trap_blocked = signals_believed_blocked();
    if (attributes) {
        pthread_attr_getstacksize(attributes, &size);
    } else if (pthread_attr_init(&defaults) == 0) {
        pthread_attr_getstacksize(&defaults, &size);
        pthread_attr_destroy(&defaults);
    }
    t->begin.stack_size = size;
    return t;
}

/* ---- keys: the program can have them all ---- */

EXPORT int pthread_key_create(pthread_key_t *key, void (*end)(void *))
{
    int result = REAL(pthread_key_create)(key, end);
    if (result == EAGAIN && rt_profiled_as() && self_yield_key())
        result = REAL(pthread_key_create)(key, end);
    return result;
}

/* As libgcc and libstdc++ call it. */
int __pthread_key_create(pthread_key_t *key, void (*end)(void *));
EXPORT int __pthread_key_create(pthread_key_t *key, void (*end)(void *))
{
    return pthread_key_create(key, end);
}

EXPORT int tss_create(tss_t *key, tss_dtor_t end)
{
    int result = REAL(tss_create)(key, end);
    if (result != thrd_success && rt_profiled_as() && self_yield_key())
        result = REAL(tss_create)(key, end);
    return result;
}

/* ---- threads ---- */

EXPORT int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes,
                          void *(*start)(void *), void *restrict argument)
{
    struct rt_thread *t = thread_prepare(attributes, start, argument);
    if (!t)
        return REAL(pthread_create)(thread, attributes, start, argument);
    int result = REAL(pthread_create)(thread, attributes, thread_run, t);
    if (result != 0)
        thread_free_as(t);
    return result;
}

/* C11's start routines return int: called through a second thunk with the right type. */

static int c11_run(void *state)
{
    struct rt_thread *t = state;
    thrd_start_t start = (thrd_start_t)(void (*)(void))t->begin.start;
    void *argument = t->begin.argument;
    thread_started(t);
    return start(argument);
}

EXPORT int thrd_create(thrd_t *thread, thrd_start_t start, void *argument)
{
    struct rt_thread *t =
        thread_prepare(NULL, (void *(*)(void *))(void (*)(void))start, argument);
    if (!t)
        return REAL(thrd_create)(thread, start, argument);
    int result = REAL(thrd_create)(thread, c11_run, t);
    if (result != thrd_success)
        thread_free_as(t);
    return result;
}

/* Threads that the program makes by clone, on stacks of its own that may have no room for a signal:
 * they begin with a stack of ours for those, and are sampled from there on. Nobody tells us of
 * their end (thread_reap_as). */
#include <sched.h>
#include <stdarg.h>

#include "runtime/interpose/alternate.h"
#include "runtime/interpose/real.h"
#include "runtime/interpose/signals.h"
#include "runtime/interpose/vfork.h"
#include "runtime/process.h"
#include "runtime/runtime.h"
#include "runtime/sandbox.h"
#include "runtime/thread.h"
#include "runtime/trigger/trigger.h"

struct arming {
    struct rt_thread *t;
    bool done;
};

static void arm(void *state)
{
    struct arming *arming = state;
    arming->done = trigger_arm_as(arming->t);
}

/* What takes much stack is done on ours. The thread's local storage may be its maker's: self_set is
 * not called. */
static void thread_start(struct rt_thread *t)
{
    struct arming arming = {.t = t};
    thread_stack_as(t, NULL, 0);
    if (!thread_begin_as(t))
        return;
    alternate_begin_as(t);
    alternate_call_as(t, arm, &arming);
    if (arming.done)
        return;
    thread_unarmed_as();
    thread_end_as(t);
}

static int cloned(void *state)
{
    struct rt_thread *t = state;
    int (*start)(void *) = (int (*)(void *))(void (*)(void))t->begin.start;
    void *argument = t->begin.argument;
    sandbox_in_as(NULL);
    if (rt_running_as() && !rt_quiet_as())
        thread_start(t);
    else
        thread_free_as(t);
    sandbox_out_as(NULL, 0);
    return start(argument);
}

static struct rt_thread *clone_prepare(int (*start)(void *), const void *stack, int flags,
                                       void *argument)
{
    if (!start || !stack || !(flags & CLONE_THREAD) || !(flags & CLONE_VM) || !rt_running_as() ||
        rt_quiet_as() ||
        !alternate_takes_as())
        return NULL;
    struct rt_thread *t = thread_make_as();
    if (!t)
        return NULL;
    t->begin.start = (void *(*)(void *))(void (*)(void))start;
    t->begin.argument = argument;
    t->mask.trap_blocked = signals_believed_blocked();
    return t;
}

EXPORT int clone(int (*start)(void *), void *stack, int flags, void *argument, ...)
{
    va_list list;
    void *more[3]; /* parent's thread id, thread-local storage, child's thread id */
    va_start(list, argument);
    for (int i = 0; i < 3; i++)
        more[i] = va_arg(list, void *);
    va_end(list);
    if (start && stack && vfork_is_clone(flags))
        return vfork_clone(start, stack, flags, argument, more);
    if (start && stack && flags & CLONE_THREAD)
        process_copy_prepare();
    struct rt_thread *t = clone_prepare(start, stack, flags, argument);
    int result = t ? REAL(clone)(cloned, stack, flags, t, more[0], more[1], more[2])
                   : REAL(clone)(start, stack, flags, argument, more[0], more[1], more[2]);
    if (t && result < 0)
        thread_free_as(t);
    return result;
}

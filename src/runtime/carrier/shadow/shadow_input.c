/* In a shadow: calls that read what can be read only once, answered with what the program has got
 * (input_log.h). */
#include <asm-generic/errno-base.h>
#include <time.h>

#include "runtime/input/input_log.h"
#include "runtime/carrier/shadow/shadow.h"
#include "runtime/carrier/shadow/shadow_self.h"
#include "runtime/runtime.h"
#include "runtime/thread.h"
#include "sigsafe/sys.h"

/* The program, which runs natively, is usually ahead. For one that waits for its input a shadow
 * waits no longer. */
enum { PATIENCE_NS = 100000000, LOOK_NS = 500000 };

enum found { FOUND, NONE, LOST };

static bool same(const struct input_request *a, const struct input_request *b)
{
    return a->number == b->number && a->size == b->size && a->frame == b->frame &&
           a->returns == b->returns && a->system_call == b->system_call && a->fd == b->fd &&
           a->flags == b->flags;
}

/* Looks at the records that are there now. NONE: the call's has not come yet. */
static enum found look_as(const struct input_request *wanted, struct input_record *record)
{
    struct shadow_self *self = &shadow_self;
    for (uint64_t end = input_log_position_as(); self->input_at < end; self->input_at++) {
        if (!input_log_get_as(self->input_at, record, NULL))
            return LOST;
        if (record->tid != self->tid || record->request.number < wanted->number)
            continue;
        /* Where it is a later call's, this one's was left out. */
        return record->request.number == wanted->number ? FOUND : LOST;
    }
    return NONE;
}

static enum found wait_as(const struct input_request *wanted, struct input_record *record)
{
    const struct timespec moment = {.tv_nsec = LOOK_NS};
    uint64_t begin = thread_monotonic_ns_as();
    enum found found;
    while ((found = look_as(wanted, record)) == NONE &&
           thread_monotonic_ns_as() - begin < PATIENCE_NS)
        sys_call3_as(SYS_nanosleep, (long)&moment, 0, 0);
    return found;
}

/* A signal's handler has run in the program, and not here. */
static bool is_interrupted(const struct input_record *record)
{
    return record->result == -EINTR;
}

/* A function of a libc stream reads: first what the record has, and then, if it was there, the end
 * of the file. */
static bool stream_as(const struct input_call *call, long *result)
{
    struct shadow_self *self = &shadow_self;
    const struct input_request *now = &input_now;
    struct input_record record;
    bool again = self->stream_number == now->number;
    if (again && !self->stream_ends)
        return false; /* it has read more than the program has */
    if (again) {
        *result = 0;
        return true;
    }
    enum found found = wait_as(now, &record);
    if (found == NONE || (found == FOUND && !same(&record.request, now)))
        return false;
    if (found == LOST || record.left_out || record.kept > call->wanted.size ||
        !input_log_get_as(self->input_at, &record, call)) {
        __atomic_fetch_add(&self->record->input_lost, 1, __ATOMIC_RELAXED);
        return false;
    }
    self->input_at++;
    self->stream_number = now->number;
    self->stream_ends = record.kept && !record.result;
    __atomic_fetch_add(&self->record->replayed, 1, __ATOMIC_RELAXED);
    *result = (long)record.kept;
    return true;
}

bool shadow_input_as(const struct input_call *call, long *result)
{
    struct input_request wanted = call->wanted;
    struct input_record record;
    const struct input_request *now = &input_now;
    /* Not a system call that the interposed function makes: nobody has numbered it. */
    if (!(shadow_settings->flags & SHADOW_LOG_INPUT) || !input_numbered || !now->active)
        return false;
    if (now->flags == INPUT_STREAM && now->fd == wanted.fd &&
        now->system_call == wanted.system_call)
        return stream_as(call, result);
    wanted.number = now->number;
    wanted.frame = now->frame;
    wanted.returns = now->returns;
    if (!same(now, &wanted))
        return false;
    enum found found = wait_as(&wanted, &record);
    if (found == FOUND && (!same(&record.request, &wanted) || is_interrupted(&record)))
        return false;
    if (found == NONE)
        return false;
    if (found == LOST || record.left_out ||
        !input_log_get_as(shadow_self.input_at, &record, call)) {
        __atomic_fetch_add(&shadow_self.record->input_lost, 1, __ATOMIC_RELAXED);
        return false;
    }
    shadow_self.input_at++;
    __atomic_fetch_add(&shadow_self.record->replayed, 1, __ATOMIC_RELAXED);
    *result = (long)record.result;
    return true;
}

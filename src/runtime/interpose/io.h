/* What the files of the family `io` share: counting bytes.
 *
 * Context: in the program's calls. errno stays as it is. */
#ifndef PENUMBRA_RUNTIME_INTERPOSE_IO_H
#define PENUMBRA_RUNTIME_INTERPOSE_IO_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>

#include "runtime/input/input_calls.h"
#include "runtime/self.h"
#include "runtime/thread.h"
#include "runtime/trigger/sync.h"

/* The recording's triggers once the process is armed, 1 << kind; until then none. */
extern uint32_t io_triggers;

static inline bool io_counts(enum trigger_kind trigger)
{
    return io_triggers >> trigger & 1;
}

/* `bytes` (an error if negative) were moved, and the kernel does not count them in /proc/PID/io. */
static inline void io_moved_unseen(enum trigger_kind trigger, int64_t bytes)
{
    if (bytes > 0 && io_counts(trigger) && sync_due(trigger, (uint64_t)bytes))
        sync_take(trigger);
}

/* ... and the kernel does. */
static inline void io_moved(enum trigger_kind trigger, int64_t bytes)
{
    if (bytes <= 0 || !io_counts(trigger))
        return;
    struct rt_thread *t = self_get();
    if (t)
        t->seen[trigger == TRIGGER_WRITE] += (uint64_t)bytes;
    if (sync_due(trigger, (uint64_t)bytes))
        sync_take(trigger);
}

/* The same, through a stream, if it is one of a file descriptor. */
static inline void io_stream_moved(enum trigger_kind trigger, const FILE *f, int64_t bytes)
{
    enum { IS_FILEBUF = 0x2000 }; /* glibc's libio.h: streams in memory do not have it */
    if (f->_flags & IS_FILEBUF)
        io_moved(trigger, bytes);
}

/* A call of libc's that is this system call with these arguments, numbered for shadows and kept for
 * them (input/input_calls.h). */
#define LOGGED(call, number, ...)                                                                  \
    ({                                                                                             \
        struct input_request outer;                                                                \
        struct input_call of;                                                                      \
        bool numbered = input_numbered;                                                            \
        if (numbered)                                                                              \
            io_input_begin(&outer, &of, (number), LOGGED_ARGUMENTS(__VA_ARGS__),                   \
                           __builtin_frame_address(0), __builtin_return_address(0));               \
        __typeof__(call) answer = (call);                                                          \
        if (numbered)                                                                              \
            input_end(&outer, &of, answer < 0 ? -(int64_t)errno : (int64_t)answer);                \
        answer;                                                                                    \
    })
#define LOGGED_ARGUMENTS(...) LOGGED_SIX(__VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define LOGGED_SIX(a, b, c, d, e, f, ...)                                                          \
    ((const uint64_t[6]){(uint64_t)(a), (uint64_t)(b), (uint64_t)(c), (uint64_t)(d),               \
                         (uint64_t)(e), (uint64_t)(f)})

static inline void io_input_begin(struct input_request *outer, struct input_call *of,
                                  uint32_t number, const uint64_t *arguments, const void *frame,
                                  const void *returns)
{
    /* or not: then no shadow takes it for one of its calls */
    input_call_describe_as(number, arguments, of);
    of->wanted.frame = (uint64_t)frame;
    of->wanted.returns = (uint64_t)returns;
    input_begin(outer, &of->wanted);
}

#endif

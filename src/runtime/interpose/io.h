/* What the files of the family `io` share: counting bytes.
 *
 * Context: in the program's calls. errno stays as it is. */
#ifndef PENUMBRA_RUNTIME_INTERPOSE_IO_H
#define PENUMBRA_RUNTIME_INTERPOSE_IO_H

#include <stdint.h>
#include <stdio.h>

#include "runtime/self.h"
#include "runtime/trigger/sync.h"

/* The recording's trigger once the process is armed; until then one that no function has. */
extern uint32_t io_trigger;

/* `bytes` (an error if negative) were moved, and the kernel does not count them in /proc/PID/io. */
static inline void io_moved_unseen(uint32_t trigger, int64_t bytes)
{
    if (bytes > 0 && io_trigger == trigger && sync_due((uint64_t)bytes))
        sync_take();
}

/* ... and the kernel does. */
static inline void io_moved(uint32_t trigger, int64_t bytes)
{
    if (bytes <= 0 || io_trigger != trigger)
        return;
    struct rt_thread *t = self_get();
    if (t)
        t->seen += (uint64_t)bytes;
    if (sync_due((uint64_t)bytes))
        sync_take();
}

/* The same, through a stream, if it is one of a file descriptor. */
static inline void io_stream_moved(uint32_t trigger, const FILE *f, int64_t bytes)
{
    enum { IS_FILEBUF = 0x2000 }; /* glibc's libio.h: streams in memory do not have it */
    if (f->_flags & IS_FILEBUF)
        io_moved(trigger, bytes);
}

#endif

/* What `penumbra record -p` and the runtime that it loads into a process say to each other. The
 * collector calls the two functions in one of the process's threads
 * (collector/attach/record_attach.h), in this order:
 *
 *   penumbra_rt_attach     maps the spool, installs the handler, opens an event on every thread
 *   ... the process runs, and is sampled ...
 *   penumbra_rt_detach(ATTACH_SILENCE)   no event fires any more; the handler stays
 *   ... the collector stops each thread once: signals that were on their way have arrived ...
 *   penumbra_rt_detach(ATTACH_LEAVE)     events closed, handler gone, spool unmapped
 *
 * Context: declarations only. */
#ifndef PENUMBRA_SIGSAFE_ATTACH_H
#define PENUMBRA_SIGSAFE_ATTACH_H

#include <stdint.h>

#define ATTACH_FUNCTION "penumbra_rt_attach"
#define DETACH_FUNCTION "penumbra_rt_detach"

struct attach_request {
    uint32_t layout;      /* SPOOL_LAYOUT of the collector */
    int32_t spool_fd;     /* descriptors in the process, the collector's to close */
    int32_t lifeline_fd;  /* read end of a pipe that closes when the collector ends */
    uint32_t reserved;
};

enum attach_result {
    ATTACH_DONE = 0,
    ATTACH_BUSY,     /* another recording goes on in this process; leaving: not just now */
    ATTACH_STALE,    /* a recording that has ended has left its handler: detach first */
    ATTACH_VERSION,  /* this runtime is of another version of penumbra */
    ATTACH_MEMORY,   /* the spool could not be mapped, or is full */
    ATTACH_SIGNAL,   /* the handler could not be installed */
    ATTACH_EVENT,    /* no event could be opened: its errno is in the process's arm_error */
};

enum attach_step { ATTACH_SILENCE, ATTACH_LEAVE };

#endif

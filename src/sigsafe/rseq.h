/* Restartable sequences, as glibc registers them with the kernel for each thread. From then on the
 * kernel writes to the thread's area whenever it gives the thread a processor or a signal, and ends
 * the process where it cannot.
 *
 * Context: any. */
#ifndef PENUMBRA_SIGSAFE_RSEQ_H
#define PENUMBRA_SIGSAFE_RSEQ_H

#include <linux/rseq.h>
#include <stdbool.h>

#include "sigsafe/sys.h"

/* What glibc has registered: the kernel wants to hear the same again. */
enum { RSEQ_SIZE = 32, RSEQ_SIGNATURE = 0x53053053 };

/* From now on the kernel leaves the calling thread's area alone, and has written there that it is
 * nobody's. False: it is not registered. */
static inline bool rseq_end_as(void *area)
{
    return sys_call6_as(SYS_rseq, (long)area, RSEQ_SIZE, RSEQ_FLAG_UNREGISTER, RSEQ_SIGNATURE, 0,
                        0) == 0;
}

#endif

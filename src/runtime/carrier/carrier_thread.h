/* What carriers keep about a thread. To its own part each has access only.
 *
 * Context: the thread's, unless a member says otherwise.
 * Ownership: a part of struct rt_thread. */
#ifndef PENUMBRA_RUNTIME_CARRIER_CARRIER_THREAD_H
#define PENUMBRA_RUNTIME_CARRIER_CARRIER_THREAD_H

#include "runtime/carrier/burst/burst.h"
#include "runtime/carrier/burst/burst_watch.h"
#include "runtime/carrier/shadow/shadow_barrier.h"

struct carrier_thread {
    struct rt_burst burst;
    struct rt_sent sent;
    struct rt_watch watch;     /* stays with the state: the next thread maps its ring over it */
    struct rt_barrier barrier;
};

#endif

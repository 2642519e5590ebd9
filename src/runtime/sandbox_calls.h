/* All that the runtime asks the kernel for in a recording, beyond what the program does: a filter
 * that lets it pass is no sandbox to us. What a carrier asks for stands in its own list
 * (carrier/carrier.h).
 *
 * Context: any.
 * Ownership: the caller's. */
#ifndef PENUMBRA_RUNTIME_SANDBOX_CALLS_H
#define PENUMBRA_RUNTIME_SANDBOX_CALLS_H

#include <sys/syscall.h>

#include "sigsafe/filter.h"

struct sandbox_call {
    uint16_t number;
    bool may_be_refused; /* it is asked for, and done without */
    bool may_be_avoided; /* where rt.avoids, it is not asked for */
    bool known;          /* `argument` is */
    struct filter_argument argument;
};

#define SANDBOX_PLAIN(name) {.number = SYS_##name}
#define SANDBOX_REFUSABLE(name) {.number = SYS_##name, .may_be_refused = true}
#define SANDBOX_AVOIDABLE(name)                                                                    \
    {.number = SYS_##name, .may_be_refused = true, .may_be_avoided = true}
#define SANDBOX_WITH(name, index, value)                                                           \
    {.number = SYS_##name, .known = true, .argument = {index, (uint32_t)(value)}}

struct sandbox_calls {
    const struct sandbox_call *calls;
    uint32_t count;
    const struct sandbox_calls *more; /* NULL: that is all */
};

/* True if the filter lets all calls pass that the runtime makes, and the carrier (`of_carrier`, may
 * be NULL), with our arguments where filters look at those; what we can do without may fail.
 * `states` as in filter.h. *avoid: in, whether what can be avoided may be; out, that it must be,
 * since it does not even fail. */
bool sandbox_calls_pass_as(const struct sock_filter *code, uint32_t count,
                           const struct sandbox_calls *of_carrier, bool *avoid,
                           struct filter_state *states);

#endif

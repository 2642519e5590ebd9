/* The samples table of a thread in the Firefox Profiler's format: moments (export/moments.h) as
 * points in time.
 *
 *     moments    |  a3 b1  |          |  a2  |      bins
 *     samples      a  a a b -          - a a        a's weight is 3, at the middle of what it takes
 *                            `-- null --'           where nothing was sampled
 *
 * Weight that is spread over several bins becomes several samples.
 *
 * Context: ordinary code.
 * Ownership: firefox_samples_fini releases them. */
#ifndef PENUMBRA_EXPORT_FIREFOX_SAMPLES_H
#define PENUMBRA_EXPORT_FIREFOX_SAMPLES_H

#include "export/moments.h"
#include "report/json.h"

struct firefox_sample {
    uint64_t from_ns, to_ns, at_ns;
    uint64_t weight; /* 0: a gap begins or ends */
    uint32_t stack;
};

struct firefox_samples {
    struct firefox_sample *list; /* by at_ns */
    size_t count, capacity;
};

/* Replaces what is in *s. stacks: by thread and node. False without memory. */
bool firefox_samples_of(struct firefox_samples *s, const struct profile *p,
                        const struct moments *m, uint32_t *const *stacks);
void firefox_samples_fini(struct firefox_samples *s);

/* The table, as a key of the thread's object, which is open. */
void firefox_put_samples(struct json *j, const struct firefox_samples *s,
                         const struct profile_metric *metric);

#endif

/* What executing an instruction costs in the model: cycles by their cause, and events.
 *
 * Each cycle has as many commit slots as the machine retires micro-operations a cycle. A slot that
 * is used is `base`. One that is lost belongs to what the next micro-operation to commit waited
 * for, and so to that one's instruction. So all parts of all instructions add up to the cycles of
 * the run: COST_CYCLE parts are a cycle.
 *
 * Context: plain data.
 * Ownership: the caller's. */
#ifndef PENUMBRA_MODEL_COST_H
#define PENUMBRA_MODEL_COST_H

#include <stdint.h>

/* X(enumerator, name in files and JSON, title, what the slot waited for) */
#define COST_CAUSES(X)                                                                             \
    X(BASE, base, "base", "micro-operations that commit")                                          \
    X(FRONT_END, front_end, "front end", "fetch and decode: width, taken branches unknown there")  \
    X(CODE, code, "code", "code that is not in the first-level cache or TLB")                      \
    X(BRANCH, branch, "branch", "the right path behind a mispredicted branch")                     \
    X(DEPENDENCY, dependency, "depend", "results of arithmetic")                                   \
    X(PORTS, ports, "ports", "a free port or divider")                                             \
    X(FORWARD, forward, "forward", "data of a store that is still queued")                         \
    X(L1, l1, "L1", "loads from the first-level cache")                                            \
    X(L2, l2, "L2", "loads from the second-level cache")                                           \
    X(L3, l3, "L3", "loads from the third-level cache")                                            \
    X(MEMORY, memory, "memory", "loads from memory")                                               \
    X(TLB, tlb, "TLB", "translations of data addresses")                                           \
    X(STORES, stores, "stores", "room in the store queue")                                         \
    X(SERIAL, serial, "serial", "system calls, fences, locked and serializing instructions")

#define COST_ENUMERATOR(id, name, title, what) COST_##id,
enum cost_cause { COST_CAUSES(COST_ENUMERATOR) COST_CAUSE_COUNT };
#undef COST_ENUMERATOR

/* X(enumerator, name, title) */
#define COST_EVENTS(X)                                                                             \
    X(UOPS, uops, "micro-operations, fused ones once")                                             \
    X(BRANCHES, branches, "branches")                                                              \
    X(MISPREDICTED, mispredicted, "branches mispredicted")                                         \
    X(LOADS, loads, "loads")                                                                       \
    X(L1D_MISSES, l1d_misses, "loads not in L1")                                                   \
    X(L2_MISSES, l2_misses, "loads not in L2")                                                     \
    X(MEMORY_LOADS, memory_loads, "loads from memory")                                             \
    X(FORWARDED, forwarded, "loads forwarded from a store")                                        \
    X(BLOCKED, blocked, "loads that a store blocked")                                              \
    X(WALKS, walks, "page walks for data")                                                         \
    X(L1I_MISSES, l1i_misses, "lines of code not in L1")

#define COST_ENUMERATOR(id, name, title) COST_EVENT_##id,
enum cost_event { COST_EVENTS(COST_ENUMERATOR) COST_EVENT_COUNT };
#undef COST_ENUMERATOR

enum { COST_CYCLE = 2520 }; /* divisible by each width up to 10, and by 12 */

struct model_cost {
    uint64_t parts[COST_CAUSE_COUNT]; /* of a cycle */
    uint64_t events[COST_EVENT_COUNT];
};

static inline double cost_cycles(uint64_t parts)
{
    return (double)parts / COST_CYCLE;
}

/* Rounded. */
static inline uint64_t cost_whole_cycles(uint64_t parts)
{
    return parts / COST_CYCLE + (parts % COST_CYCLE >= COST_CYCLE / 2);
}

static inline uint64_t cost_parts(const struct model_cost *c)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < COST_CAUSE_COUNT; i++)
        sum += c->parts[i];
    return sum;
}

#endif

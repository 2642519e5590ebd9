#include "sigsafe/shadow_common.h"

#include <stdbool.h>

struct shadow_common *shadow_common_find(struct shadow_common *among, uint64_t program)
{
    for (unsigned i = 0; i < SHADOW_PROGRAMS; i++) {
        uint64_t found = 0;
        if (__atomic_compare_exchange_n(&among[i].program, &found, program, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED) ||
            found == program)
            return &among[i];
    }
    return 0;
}

void shadow_common_note(struct shadow_common *c, uint64_t fork_ns)
{
    enum { KEPT = 3, WHOLE = 4 };
    uint64_t before = __atomic_load_n(&c->fork_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&c->fork_ns, before ? (KEPT * before + fork_ns) / WHOLE : fork_ns,
                     __ATOMIC_RELAXED);
}

#include "runtime/carrier/shadow/shadow_self.h"

#include <sys/mman.h>

#include "engine/mappings.h"
#include "runtime/carrier/translated.h"
#include "runtime/runtime.h"
#include "sigsafe/rseq.h"
#include "sigsafe/sys.h"

enum { RANGES = 1024 };

/* What has been taken away: disjoint, ascending. */
static struct {
    struct range {
        uint64_t lo, hi;
    } at[RANGES];
    uint32_t count;
} shared;

static bool range_add(uint64_t lo, uint64_t hi)
{
    if (shared.count && shared.at[shared.count - 1].hi == lo) {
        shared.at[shared.count - 1].hi = hi;
        return true;
    }
    if (shared.count == RANGES)
        return false;
    shared.at[shared.count++] = (struct range){lo, hi};
    return true;
}

/* The spool, and the code that shadows share: this is what they are for. */
static bool is_ours(uint64_t address)
{
    return address - (uint64_t)guest.spool.base < guest.spool.mapped ||
           engine_holds_as(shadow_self.engine, address) ||
           (shadow_self.passing && engine_holds_as(shadow_self.passing, address));
}

/* Memory that cannot be written to now may be made so later by the program: it is remembered
 * too. */
static bool take_away(void *data, const struct mapping *m)
{
    (void)data;
    if (!m->shared || is_ours(m->lo))
        return true;
    long rest = (m->readable ? PROT_READ : 0) | (m->executable ? PROT_EXEC : 0);
    if (m->writable && sys_call3_as(SYS_mprotect, (long)m->lo, (long)(m->hi - m->lo), rest) != 0)
        return false;
    return range_add(m->lo, m->hi);
}

bool shadow_memory_part_as(void)
{
    return mappings_each_as(take_away, NULL);
}

/* The thread stays on the processor that its area names, as far as it can tell: nothing interrupts
 * it. */
void shadow_rseq_part_as(void)
{
    enum { WORDS = RSEQ_SIZE / sizeof(uint64_t) };
    uint64_t before[WORDS], *area = translated_rseq_area_as();
    if (!area)
        return;
    for (unsigned i = 0; i < WORDS; i++)
        before[i] = area[i];
    if (rseq_end_as(area))
        for (unsigned i = 0; i < WORDS; i++)
            area[i] = before[i];
}

bool shadow_memory_is_shared(uint64_t lo, uint64_t hi)
{
    for (uint32_t i = 0; i < shared.count && shared.at[i].lo < hi; i++)
        if (lo < shared.at[i].hi)
            return true;
    return false;
}

/* Results in the spool: the most frequent values of each instruction that writes a general register, of a thread.
 * A row (spool_rows.h) of a THING_RESULT has a concise sample of them.
 *
 *      lead   seen | until | bits | mask     what every result touches: half a cache line
 *      row    same | settled | hotlist       what others touch
 *
 * A result is *simple*, and only counted, in `seen`, if it is
 *
 *      the same as the one before it, while p is 1       mask: the bits of the register that are written
 *      passed over, which was drawn beforehand           mask 0; `until`: of which result on it is not
 *
 * Simple ones of the first kind are added to their entry when another comes; until then the entries lack them
 * (result_copy). So what was counted is in the spool when it is counted, whenever the thread is killed.
 *
 * Context: the owning thread, general registers only; result_copy: any.
 * Ownership: the spool's. */
#ifndef PENUMBRA_SIGSAFE_SPOOL_RESULTS_H
#define PENUMBRA_SIGSAFE_SPOOL_RESULTS_H

#include "sigsafe/concise.h"
#include "sigsafe/spool_rows.h"

/* Zeroes: nothing is simple yet. */
struct result_lead {
    uint64_t seen;  /* results so far */
    uint64_t until;
    uint64_t bits;  /* the whole register */
    uint64_t mask;
};
_Static_assert(sizeof(struct result_lead) == 32, "two a cache line");

struct spool_result {
    uint32_t same;  /* the entry that lead.bits is in */
    uint32_t reserved;
    uint64_t settled; /* while p is 1: how many of `seen` are in entries */
    struct hotlist list; /* but for `observed`; one more entry than are kept, the more frequent ones rather first */
};

enum { RESULT_ROW_SIZE = 448 };
#define RESULT_ENTRIES_SIZE ((HOTLIST_CONCISE_MAX + 1) * sizeof(struct hotlist_entry))
_Static_assert(sizeof(struct spool_result) + RESULT_ENTRIES_SIZE <= RESULT_ROW_SIZE, "the entries fit");
#define RESULT_LAYOUT ((struct rows_layout){.lead = sizeof(struct result_lead), .row = RESULT_ROW_SIZE})

static inline struct result_lead *result_lead_at(uint8_t *chunk, uint32_t id)
{
    return (struct result_lead *)(void *)chunk + id % ROWS_CHUNK;
}

/* Counts the result if it is simple. */
static inline bool result_count_simple(struct result_lead *lead, uint64_t bits)
{
    if ((bits ^ lead->bits) & lead->mask || lead->seen >= lead->until)
        return false;
    lead->seen++;
    return true;
}

/* One result that is not; `mask`: which bits of the register the instruction writes. */
void result_draw_as(struct result_lead *lead, struct spool_result *row, uint64_t bits, uint64_t mask,
                    struct hotlist_random *r);

static inline void result_add_as(struct result_lead *lead, struct spool_result *row, uint64_t bits, uint64_t mask,
                                 struct hotlist_random *r)
{
    if (!result_count_simple(lead, bits))
        result_draw_as(lead, row, bits, mask, r);
}

/* The row's hotlist as it stands for all that was seen; somebody may be writing to it. False: it is none. */
union result_list {
    struct hotlist list;
    uint64_t room[(sizeof(struct hotlist) + RESULT_ENTRIES_SIZE) / sizeof(uint64_t)];
};
bool result_copy(union result_list *to, const struct result_lead *lead, const struct spool_result *row);

#endif

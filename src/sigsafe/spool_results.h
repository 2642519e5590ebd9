/* Results in the spool: the most frequent values of each instruction that writes a register, of a
 * thread. What is wider than 8 bytes is several results, a word each. A row (spool_rows.h) of a
 * THING_RESULT has a concise sample of them, its lead (spool_counts.h) says which are not looked
 * at:
 *
 *      lead   left | bits            what every result touches, in line: a quarter of a cache line
 *      front  value | count, x 8     what those touch that are one of the most frequent: a cache line or two
 *      row    seen | gap | hotlist   what the others touch
 *
 *      results so far    seen, of which the hotlist knows     gap - left     0 - left, if left is below 0
 *                        |---------------- + front ------|-- passed over --|-- the same as `bits` --|
 *
 * A result is *drawn* if it is neither passed over, as was drawn beforehand, nor the same as the
 * last one that was. While p is 1 none is passed over, and those that are of eight values, the
 * first or the most frequent, are counted apart: in the front. These and those that are the same
 * belong to the hotlist, too: they enter it when another one is drawn, and whoever reads lets them
 * enter his copy (result_copy). So what was counted is in the spool when it is counted, whenever
 * the thread is killed. The results of one instruction do not enter its sample in the order of
 * execution, but each enters once, and with the same probability whatever it is.
 *
 * In runs that are samples anyway a block that is executed often is observed now and then only, by
 * its gate (engine/hook.h):
 *
 *      gate   count | left | asked | steps     the block's counter
 *
 *      executions so far     |-- passed --|o|-- passed --|o|-- passed --|o|--- ...
 *                             p is (15/16)^steps, at first a ninetieth, and less when there are too many
 *
 * Where p becomes less, the values that all rows of the block have kept are thinned, and it is what
 * each row's own p begins with (spool_result.base). So each execution counts the same, whenever it
 * was.
 *
 * Context: the owning thread, general registers only; result_copy: any.
 * Ownership: the spool's. */
#ifndef PENUMBRA_SIGSAFE_SPOOL_RESULTS_H
#define PENUMBRA_SIGSAFE_SPOOL_RESULTS_H

#include "sigsafe/concise.h"
#include "sigsafe/spool_rows.h"

/* What is in thing_result.what: the register's number (enum tuple_register), and */
enum {
    /* how long the elements are that it has: 0: it is one; n: 1 << n - 1 bytes */
    RESULT_LANE_SHIFT = 8, RESULT_LANE_MASK = 3,
    RESULT_FORM_SHIFT = 10, RESULT_FORM_MASK = 3, /* enum x86_lane_form of them */
    RESULT_SECOND = 1 << 12, /* the second general register */
    RESULT_REST = 1 << 13,   /* not the first word */
    RESULT_DIVISOR = 1 << 14, /* no result: a register that the instruction divides by ... */
    RESULT_COUNT = 1 << 15,   /* ... or shifts by, and leaves as it is */
};

enum { RESULT_FRONT = 8 };
#define RESULT_COUNT_MAX (UINT64_C(1) << 55) /* no honest count exceeds it */

/* Zeroes, of all three: nothing was seen, or only zeroes. An entry of a value and a count of 0 may
 * become another value's. */
struct result_front {
    struct {
        uint64_t value;
        int64_t count; /* below 0: it is none */
    } of[RESULT_FRONT];
};
_Static_assert(sizeof(struct result_front) == 128, "two cache lines");

struct spool_result {
    uint64_t seen;
    uint64_t gap;   /* where lead.left began */
    /* steps of p that are the gate's: it is 1 here while the list has no more. Without those that a
     * gate begins with, which are not in the list either: a row need not be written to before
     * something is observed */
    uint32_t base;
    uint32_t reserved;
    /* but for `observed`; one more entry than are kept, the more frequent ones rather first */
    struct hotlist list;
};

enum { RESULT_ROW_SIZE = 448 };
#define RESULT_ENTRIES_SIZE ((HOTLIST_CONCISE_MAX + 1) * sizeof(struct hotlist_entry))
_Static_assert(sizeof(struct spool_result) + RESULT_ENTRIES_SIZE <= RESULT_ROW_SIZE,
               "the entries fit");
#define RESULT_LAYOUT                                                                              \
    ((struct rows_layout){.front = sizeof(struct result_front), .row = RESULT_ROW_SIZE})

static inline struct result_front *result_front_at(uint8_t *chunk, uint32_t id)
{
    return (struct result_front *)(void *)chunk + id % ROWS_CHUNK;
}

/* A result may be that of another id of its block, always: `copy_of` says which. It has no lead and
 * no row then. What lies in another piece of a window is not said so. */
static inline bool result_is_copy(uint64_t of, uint32_t id)
{
    return of && of < id && of / COUNTS_PIECE == id / COUNTS_PIECE;
}

/* One was taken off lead->left, which is below 0, for a result that is not the same as `bits`. True
 * where nothing else was: it becomes `bits`, and whatever comes next can tell the row. So no row is
 * touched for what has only one value, or was executed once. */
static inline bool result_first(struct counts_lead *lead, uint64_t value)
{
    bool first = lead->left == -1 && !lead->bits;
    if (first)
        __atomic_store_n(&lead->bits, value, __ATOMIC_RELEASE);
    return first;
}

/* Where not all values can be kept: at most RESULT_LEAST and one for RESULT_SHARE results, and no
 * more than `most`. */
enum { RESULT_LEAST = 128, RESULT_SHARE = 32, RESULT_SAMPLED_MOST = 1024 };
#define RESULT_ALL UINT64_MAX

/* A result that is drawn, as wide as it is: one was taken off lead->left for it, which is below 0.
 * p becomes less where more than may be are kept (RESULT_ALL: there is no limit), too. */
void result_draw_as(struct counts_lead *lead, struct result_front *front, struct spool_result *row,
                    uint64_t value, uint64_t most, struct hotlist_random *r);

/* Of the block's counter. p is (15/16)^steps, and at first a ninetieth: */
enum { RESULT_GATE_FIRST = 70, RESULT_GATE_STEPS = 215 /* p is a millionth */ };

/* The gate is asked, at an execution that has been counted: how many are passed over from here on,
 * it included, before the next one that is observed. True: rows are to be thinned to gate->steps
 * (result_thin), before anything else. */
bool result_gate_as(struct counts_gate *gate, struct hotlist_random *r);

/* The row of a result of a block whose gate has so many steps now. */
void result_thin(struct counts_lead *lead, struct result_front *front, struct spool_result *row,
                 uint32_t steps, struct hotlist_random *r);

/* The row's hotlist as it stands for all that was seen; somebody may be writing to it. gated: the
 * block has a gate. False: it is none. */
union result_list {
    struct hotlist list;
    uint64_t room[(sizeof(struct hotlist) + RESULT_ENTRIES_SIZE) / sizeof(uint64_t)];
};
bool result_copy(union result_list *to, struct counts_lead lead, const struct result_front *front,
                 const struct spool_result *row, bool gated);

#endif

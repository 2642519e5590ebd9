/* The unsymbolized profile of `llvm-profgen --unsymbolized-profile` (LLVM 19, llvm/tools/
 * llvm-profgen/PerfReader.h), with addresses as linked (--use-offset=0), without contexts:
 *
 *     number of ranges
 *     START-LAST:COUNT      LAST: of the last instruction
 *     number of branches
 *     FROM->TO:COUNT        FROM: 1 is outside the binary (ExternalAddr there) */
#include <inttypes.h>

#include "base/saturate.h"
#include "export/export.h"
#include "export/transfers.h"

enum { EXTERNAL = 1 };

struct totals {
    uint64_t ranges, branches; /* executions */
    uint64_t outside;          /* ... of branches that leave the binary */
    uint32_t range_lines, branch_lines;
};

/* How it was entered does not matter here. */
static void put_ranges(struct buf *lines, const struct transfers *t, struct totals *totals)
{
    for (uint32_t i = 0; i < t->range_count; totals->range_lines++) {
        const struct transfer_range *first = &t->ranges[i];
        uint64_t count = 0;
        for (; i < t->range_count && t->ranges[i].start == first->start &&
               t->ranges[i].last == first->last; i++)
            count = add_saturated(count, t->ranges[i].count);
        buf_printf(lines, "%" PRIx64 "-%" PRIx64 ":%" PRIu64 "\n", first->start, first->last,
                   count);
        totals->ranges = add_saturated(totals->ranges, count);
    }
}

static void put_branches(struct buf *lines, const struct transfers *t, struct totals *totals)
{
    for (uint32_t i = 0; i < t->branch_count; i++) {
        const struct transfer_branch *b = &t->branches[i];
        uint64_t from = b->from == TRANSFER_OUTSIDE ? EXTERNAL : b->from;
        if (b->to == TRANSFER_OUTSIDE) {
            totals->outside = add_saturated(totals->outside, b->count);
            continue;
        }
        buf_printf(lines, "%" PRIx64 "->%" PRIx64 ":%" PRIu64 "\n", from, b->to, b->count);
        totals->branches = add_saturated(totals->branches, b->count);
        totals->branch_lines++;
    }
}

static bool put_all(struct buf *out, const struct transfers *t, struct totals *totals)
{
    struct buf ranges = {0}, branches = {0};
    put_ranges(&ranges, t, totals);
    put_branches(&branches, t, totals);
    bool ok = buf_ok(&ranges) && buf_ok(&branches);
    if (ok) {
        buf_printf(out, "%" PRIu32 "\n", totals->range_lines);
        buf_put(out, ranges.data, ranges.size);
        buf_printf(out, "%" PRIu32 "\n", totals->branch_lines);
        buf_put(out, branches.data, branches.size);
    }
    buf_free(&ranges);
    buf_free(&branches);
    return ok && buf_ok(out);
}

bool export_llvm_profgen(const struct profile *p, const struct symbols *s,
                         const struct export_options *options, struct buf *out,
                         struct export_result *result, struct err *e)
{
    struct binary b;
    struct transfers t;
    struct totals totals = {0};
    (void)s;
    *result = (struct export_result){0};
    if (!binary_open(&b, p, options->image, &result->remarks, e))
        return false;
    bool ok = transfers_find(&t, &b, true, e);
    if (ok) {
        ok = put_all(out, &t, &totals) ||
             err_set(e, ERR_INTERNAL, "writing for llvm-profgen: out of memory");
        result->samples = add_saturated(totals.branches, totals.ranges);
        buf_printf(&result->remarks,
                   "of %s: %" PRIu64 " executions of %" PRIu32 " branches, %" PRIu64 " of %" PRIu32
                   " ranges\n", p->images[b.image].path, totals.branches, totals.branch_lines,
                   totals.ranges, totals.range_lines);
        if (totals.outside)
            buf_printf(&result->remarks, "left out: %" PRIu64 " transfers to other programs "
                       "and libraries\n", totals.outside);
        transfers_remark(&t, &b, &result->remarks);
        transfers_fini(&t);
    }
    binary_close(&b);
    return ok;
}

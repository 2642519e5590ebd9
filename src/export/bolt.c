/* The pre-aggregated profile of `llvm-bolt -pa` and `perf2bolt -pa` (LLVM 19, bolt/include/bolt/
 * Profile/DataAggregator.h), without a header, addresses as linked:
 *
 *     B FROM TO COUNT MISPREDICTED    taken branch; X:0 is outside the binary
 *     F START LAST COUNT              executed from START to the instruction at LAST
 *     f START LAST COUNT              the same, and a return led to START
 *
 * BOLT takes the fall-throughs between blocks from F and f. So a range that is entered by falling
 * begins with the instruction before it: then the edge between the two is in it. */
#include <inttypes.h>

#include "base/saturate.h"
#include "export/export.h"
#include "export/transfers.h"

static void put_address(struct buf *out, uint64_t address)
{
    if (address == TRANSFER_OUTSIDE)
        buf_puts(out, " X:0");
    else
        buf_printf(out, " %" PRIx64, address);
}

static uint64_t put_branches(struct buf *out, const struct transfers *t)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < t->branch_count; i++) {
        const struct transfer_branch *b = &t->branches[i];
        buf_puts(out, "B");
        put_address(out, b->from);
        put_address(out, b->to);
        buf_printf(out, " %" PRIu64 " 0\n", b->count);
        sum = add_saturated(sum, b->count);
    }
    return sum;
}

static uint64_t put_ranges(struct buf *out, const struct transfers *t)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < t->range_count; i++) {
        const struct transfer_range *r = &t->ranges[i];
        buf_printf(out, "%c %" PRIx64 " %" PRIx64 " %" PRIu64 "\n",
                   r->entry == ENTERED_BY_RETURN ? 'f' : 'F',
                   r->entry == ENTERED_BY_FALLING ? r->before : r->start, r->last, r->count);
        sum = add_saturated(sum, r->count);
    }
    return sum;
}

bool export_bolt(const struct profile *p, const struct symbols *s,
                 const struct export_options *options, struct buf *out,
                 struct export_result *result, struct err *e)
{
    struct binary b;
    struct transfers t;
    (void)s;
    *result = (struct export_result){0};
    if (!binary_open(&b, p, options->image, &result->remarks, e))
        return false;
    bool ok = transfers_find(&t, &b, false, e);
    if (ok) {
        uint64_t branches = put_branches(out, &t), ranges = put_ranges(out, &t);
        result->samples = add_saturated(branches, ranges);
        buf_printf(&result->remarks,
                   "of %s: %" PRIu64 " executions of %" PRIu32 " branches, %" PRIu64 " of %" PRIu32
                   " ranges\n", p->images[b.image].path, branches, t.branch_count, ranges,
                   t.range_count);
        transfers_remark(&t, &b, &result->remarks);
        transfers_fini(&t);
    }
    binary_close(&b);
    return ok && (buf_ok(out) || err_set(e, ERR_INTERNAL, "writing for BOLT: out of memory"));
}

#include "export/transfers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/saturate.h"
#include "export/list.h"
#include "export/transfers_internal.h"
#include "profile/paths.h"
#include "sigsafe/tools.h"

/* ---- the lists ---- */

void transfers_branch(struct transfers *t, uint64_t from, uint64_t to, uint64_t count)
{
    if (!count)
        return;
    if (!ARRAY_ROOM(t->branches, t->branch_count, t->branch_capacity)) {
        t->failed = true;
        return;
    }
    t->branches[t->branch_count++] = (struct transfer_branch){ from, to, count };
}

void transfers_range(struct transfers *t, const struct transfer_range *range)
{
    if (!range->count)
        return;
    if (!ARRAY_ROOM(t->ranges, t->range_count, t->range_capacity)) {
        t->failed = true;
        return;
    }
    t->ranges[t->range_count++] = *range;
}

static int compare_branches(const void *a, const void *b)
{
    const struct transfer_branch *x = a, *y = b;
    int order = list_compare(x->from, y->from);
    return order ? order : list_compare(x->to, y->to);
}

static int compare_ranges(const void *a, const void *b)
{
    const struct transfer_range *x = a, *y = b;
    int order = list_compare(x->start, y->start);
    if (!order)
        order = list_compare(x->last, y->last);
    if (!order)
        order = list_compare(x->entry, y->entry);
    return order ? order : list_compare(x->before, y->before);
}

static void settle(struct transfers *t)
{
    uint32_t kept = 0;
    if (t->branch_count)
        qsort(t->branches, t->branch_count, sizeof *t->branches, compare_branches);
    for (uint32_t i = 0; i < t->branch_count; i++) {
        struct transfer_branch *last = kept ? &t->branches[kept - 1] : NULL;
        if (last && !compare_branches(last, &t->branches[i]))
            last->count = add_saturated(last->count, t->branches[i].count);
        else
            t->branches[kept++] = t->branches[i];
    }
    t->branch_count = kept;
    kept = 0;
    if (t->range_count)
        qsort(t->ranges, t->range_count, sizeof *t->ranges, compare_ranges);
    for (uint32_t i = 0; i < t->range_count; i++) {
        struct transfer_range *last = kept ? &t->ranges[kept - 1] : NULL;
        if (last && !compare_ranges(last, &t->ranges[i]))
            last->count = add_saturated(last->count, t->ranges[i].count);
        else
            t->ranges[kept++] = t->ranges[i];
    }
    t->range_count = kept;
}

/* ---- code ---- */

bool transfers_insn(const struct binary *b, uint64_t address, struct transfer_insn *out)
{
    size_t available = 0;
    const uint8_t *bytes = code_bytes(b->code, address, &available);
    struct x86_insn insn;
    unsigned length = bytes ? x86_decode_as(bytes, available, &insn) : 0;
    if (!length)
        return false;
    bool direct = insn.kind == X86_JCC || insn.kind == X86_LOOP || insn.kind == X86_JMP ||
                  insn.kind == X86_CALL;
    *out = (struct transfer_insn){ .kind = insn.kind,
                                   .conditional = insn.kind == X86_JCC || insn.kind == X86_LOOP ||
                                                  x86_is_xbegin(&insn),
                                   .transfers = run_ends_with(&insn),
                                   .next = address + length };
    if (direct)
        out->target = out->next + (uint64_t)(int64_t)x86_relative_as(&insn, bytes);
    return true;
}

bool transfers_is_behind_call(const struct binary *b, uint64_t address)
{
    enum { CALL_SHORTEST = 2, CALL_LONGEST = 9 };
    struct code_function f;
    struct transfer_insn insn;
    if (code_function(b->code, address, &f) && f.start == address)
        return false;
    for (uint64_t back = CALL_SHORTEST; back <= CALL_LONGEST; back++)
        if (transfers_insn(b, address - back, &insn) && insn.next == address &&
            (insn.kind == X86_CALL || insn.kind == X86_CALL_INDIRECT))
            return true;
    return false;
}

/* ---- sources ---- */

static bool has_edges(const struct profile *p)
{
    return observed_code(p) && observed_code(p)->edge_count;
}

static bool has_paths(const struct profile *p)
{
    return observed_code(p) && profile_paths_of(p) && profile_paths_of(p)->count;
}

static bool has_blocks(const struct profile *p)
{
    return observed_code(p) && observed_code(p)->block_count;
}

bool transfers_known(const struct profile *p, bool blocks)
{
    return has_edges(p) || has_paths(p) || (blocks && has_blocks(p));
}

static bool refuse(const struct profile *p, struct err *e)
{
    const struct profile_counts *c = observed_code(p);
    if (c && (tools_about(c->tools).transfers || c->tools & tools_one(TOOL_PATHS)))
        return err_set(e, ERR_USAGE,
                       "no transfer of control was observed: the recording is too short for a "
                       "sample. Record for longer, merge several recordings, or record with "
                       "--exact");
    return err_set(e, ERR_USAGE,
                   "the profile has no transfers of control%s: record the program with "
                   "'penumbra record --carrier shadow --budget 1%% --tool edges -- PROGRAM' (a "
                   "sample), or '--exact --tool edges' (all of them)",
                   has_blocks(p) ? ", only counts of blocks" : "");
}

bool transfers_find(struct transfers *t, const struct binary *b, bool blocks, struct err *e)
{
    *t = (struct transfers){ 0 };
    if (has_edges(b->profile)) {
        t->source = TRANSFERS_OF_EDGES;
        transfers_of_edges(t, b);
    } else if (has_paths(b->profile)) {
        t->source = TRANSFERS_OF_PATHS;
        transfers_of_paths(t, b);
    } else if (blocks && has_blocks(b->profile)) {
        t->source = TRANSFERS_OF_BLOCKS;
        transfers_of_blocks(t, b);
    } else {
        return refuse(b->profile, e);
    }
    settle(t);
    if (!t->failed)
        return true;
    transfers_fini(t);
    return err_set(e, ERR_INTERNAL, "cannot collect transfers of control: out of memory");
}

void transfers_fini(struct transfers *t)
{
    free(t->branches);
    free(t->ranges);
    *t = (struct transfers){ 0 };
}

uint64_t transfers_behind_stub(const struct transfers *t, const struct binary *b, uint64_t stub)
{
    enum { STUB_BYTES = 16 };
    if (!code_stub(b->code, stub))
        return stub;
    uint32_t low = ARRAY_LEADING(t->branch_count, i, t->branches[i].from < stub);
    /* until it is bound, it goes on within itself, to the loader */
    const struct transfer_branch *best = NULL;
    for (; low < t->branch_count && t->branches[low].from - stub < STUB_BYTES; low++)
        if (t->branches[low].to - stub >= STUB_BYTES &&
            (!best || t->branches[low].count > best->count))
            best = &t->branches[low];
    return best ? best->to : stub;
}

void transfers_remark(const struct transfers *t, const struct binary *b, struct buf *remarks)
{
    const struct profile_paths *paths = profile_paths_of(b->profile);
    if (t->unread)
        buf_printf(remarks, "left out: %" PRIu64 " executions of code that cannot be read\n",
                   t->unread);
    if (t->source == TRANSFERS_OF_PATHS && t->ends)
        buf_printf(remarks, "left out: %" PRIu64 " transfers at the end of paths, which do not say "
                   "where they lead (--tool edges has them)\n", t->ends);
    if (t->source == TRANSFERS_OF_PATHS && (paths->dropped || paths->cut))
        buf_printf(remarks, "left out: %" PRIu64 " executions of paths that the recording did not "
                   "keep, and %" PRIu64 " that it saw in part\n", paths->dropped, paths->cut);
    if (t->source == TRANSFERS_OF_BLOCKS)
        buf_puts(remarks, "of blocks, only direct calls and jumps are known: --tool edges has "
                 "conditional and indirect ones\n");
    const struct profile_observation *code =
        observation_of(&b->profile->observations, OBSERVED_CODE);
    bool estimated = code && code->carrier == CARRIER_COMPILED;
    if (!profile_is_exact(b->profile) && !estimated && (t->branch_count || t->range_count))
        buf_puts(remarks, "counts are those that were observed, of a sample: not scaled\n");
}

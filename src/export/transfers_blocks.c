/* Transfers of blocks, and of paths, which are sequences of blocks. */
#include <stdlib.h>

#include "base/saturate.h"
#include "export/transfers_internal.h"
#include "profile/paths.h"
#include "sigsafe/spool_paths.h"

/* What is known of a block of the binary. */
struct block {
    uint64_t start, last;
    struct transfer_insn end; /* its last instruction */
    bool here;                /* it is in the binary, and can be read */
};

static struct block block_read(const struct binary *b, const struct profile_block *block)
{
    struct block out = { .start = block->offset, .last = block->offset };
    uint64_t end = block->offset + block->bytes;
    if (!binary_has(b, block->image))
        return out;
    for (uint64_t at = out.start; at < end; at = out.end.next) {
        if (!transfers_insn(b, at, &out.end))
            return out;
        out.last = at;
    }
    out.here = out.end.next == end && block->bytes;
    return out;
}

static void unread(struct transfers *t, const struct binary *b, const struct profile_block *block)
{
    if (binary_has(b, block->image))
        t->unread = add_saturated(t->unread, block->count);
}

/* A direct jump or call: where it leads does not depend on anything. */
static bool is_certain(const struct transfer_insn *insn)
{
    return insn->kind == X86_JMP || insn->kind == X86_CALL;
}

static uint64_t inside(const struct binary *b, uint64_t address)
{
    size_t available;
    return code_bytes(b->code, address, &available) ? address : TRANSFER_OUTSIDE;
}

void transfers_of_blocks(struct transfers *t, const struct binary *b)
{
    const struct profile_counts *c = observed_code(b->profile);
    for (uint32_t i = 0; i < c->block_count; i++) {
        const struct block block = block_read(b, &c->blocks[i]);
        if (!block.here) {
            unread(t, b, &c->blocks[i]);
            continue;
        }
        transfers_range(t, &(struct transfer_range){.start = block.start,
                                                    .last = block.last,
                                                    .count = c->blocks[i].count});
        if (is_certain(&block.end))
            transfers_branch(t, block.last, inside(b, block.end.target), c->blocks[i].count);
    }
}

/* How a path comes from one block to the next; it adds the branch, if there is one. */
static struct transfer_range enter(struct transfers *t, const struct binary *b,
                                   const struct block *from, const struct block *to, uint64_t count)
{
    struct transfer_range range = {.start = to->start, .last = to->last, .count = count};
    if (from->here && from->end.next == to->start &&
        (from->end.conditional || !from->end.transfers)) {
        range.entry = ENTERED_BY_FALLING;
        range.before = from->last;
        return range;
    }
    /* a signal comes between any two instructions: what is no transfer has made none */
    if (from->here && from->end.transfers)
        transfers_branch(t, from->last, to->start, count);
    else if (!from->here)
        transfers_branch(t, TRANSFER_OUTSIDE, to->start, count);
    if (from->here ? from->end.kind == X86_RET : transfers_is_behind_call(b, to->start))
        range.entry = ENTERED_BY_RETURN;
    return range;
}

/* The last block's way on: a path that is not too long ended by going backward. */
static void leave(struct transfers *t, const struct binary *b, const struct profile_path *path,
                  const struct block *last, uint32_t branches)
{
    bool backward = branches < PATH_BRANCHES && path->length < PATH_BLOCKS;
    const struct transfer_insn *end = &last->end;
    if (!last->here)
        return;
    if (is_certain(end) || (backward && end->target && end->target <= last->last))
        transfers_branch(t, last->last, inside(b, end->target), path->count);
    else
        t->ends = add_saturated(t->ends, path->count);
}

static void add_path(struct transfers *t, const struct binary *b, const struct block *blocks,
                     const struct profile_paths *paths, const struct profile_path *path)
{
    const uint32_t *sequence = paths->sequence + path->first;
    uint32_t branches = 0;
    for (uint32_t i = 0; i < path->length; i++) {
        const struct block *block = &blocks[sequence[i]];
        const struct block *before = i ? &blocks[sequence[i - 1]] : NULL;
        struct transfer_range range = {
            .start = block->start, .last = block->last, .count = path->count};
        branches += !block->here || block->end.transfers;
        if (!block->here) {
            if (before && before->here && before->end.transfers)
                transfers_branch(t, before->last, TRANSFER_OUTSIDE, path->count);
            continue;
        }
        if (before)
            range = enter(t, b, before, block, path->count);
        transfers_range(t, &range);
    }
    leave(t, b, path, &blocks[sequence[path->length - 1]], branches);
}

void transfers_of_paths(struct transfers *t, const struct binary *b)
{
    const struct profile_counts *c = observed_code(b->profile);
    const struct profile_paths *paths = profile_paths_of(b->profile);
    struct block *blocks = calloc((size_t)c->block_count + 1, sizeof *blocks);
    if (!blocks) {
        t->failed = true;
        return;
    }
    for (uint32_t i = 0; i < c->block_count; i++) {
        blocks[i] = block_read(b, &c->blocks[i]);
        if (!blocks[i].here)
            unread(t, b, &c->blocks[i]);
    }
    for (uint32_t i = 0; i < paths->count; i++)
        add_path(t, b, blocks, paths, &paths->paths[i]);
    free(blocks);
}

#include "gcc.h"
#include "partial.h"

#include "operations.h"

typedef std::vector<bool> marks;

static bool is_marked(const marks &m, const_basic_block block)
{
    return (size_t)block->index < m.size() && m[block->index];
}

/* Within the duplicate, which back edges leave. */
static bool is_forward(const_edge e, const marks &can_copy)
{
    return !(e->flags & (EDGE_DFS_BACK | EDGE_COMPLEX)) && is_marked(can_copy, e->src) &&
           is_marked(can_copy, e->dest);
}

/* One step: marks what leads to something marked. */
static bool mark_before(marks *before, const marks &can_copy, basic_block block)
{
    edge e;
    edge_iterator ei;
    if (is_marked(*before, block))
        return false;
    FOR_EACH_EDGE(e, ei, block->succs)
        if (is_forward(e, can_copy) && is_marked(*before, e->dest))
            return (*before)[block->index] = true;
    return false;
}

/* One step: marks what something marked leads to. */
static bool mark_after(marks *after, const marks &can_copy, basic_block block)
{
    edge e;
    edge_iterator ei;
    if (is_marked(*after, block))
        return false;
    FOR_EACH_EDGE(e, ei, block->preds)
        if (is_forward(e, can_copy) && is_marked(*after, e->src))
            return (*after)[block->index] = true;
    return false;
}

partial_blocks partial_choose(const marks &can_copy, bool counts_entries)
{
    marks before(can_copy.size(), false);
    basic_block block;
    FOR_EACH_BB_FN(block, cfun)
        if (is_marked(can_copy, block))
            before[block->index] = operations_are_in(block);
    marks after = before;
    basic_block first = single_succ(ENTRY_BLOCK_PTR_FOR_FN(cfun));
    if (counts_entries && is_marked(can_copy, first))
        after[first->index] = true;
    bool changed = true;
    while (changed) {
        changed = false;
        FOR_EACH_BB_REVERSE_FN(block, cfun)
            changed |= mark_before(&before, can_copy, block);
        FOR_EACH_BB_FN(block, cfun)
            changed |= mark_after(&after, can_copy, block);
    }
    partial_blocks chosen = {marks(can_copy.size(), false), marks(can_copy.size(), false)};
    for (size_t i = 0; i < can_copy.size(); i++) {
        chosen.top[i] = can_copy[i] && !after[i];
        chosen.bottom[i] = can_copy[i] && !before[i];
    }
    return chosen;
}

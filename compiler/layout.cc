#include "gcc.h"
#include "layout.h"

static bool reordered;

void layout_enter()
{
    df_analyze();
    free_dominance_info(CDI_DOMINATORS);
    /* GCC refuses the mode once blocks are in two parts, hot and cold; here they are kept so. */
    reordered = crtl->bb_reorder_complete;
    crtl->bb_reorder_complete = false;
    cfg_layout_initialize(0);
}

void layout_leave()
{
    basic_block block;
    FOR_EACH_BB_FN(block, cfun)
        block->aux = block->next_bb == EXIT_BLOCK_PTR_FOR_FN(cfun) ? NULL : block->next_bb;
    cfg_layout_finalize();
    crtl->bb_reorder_complete = reordered;
}

bool layout_is_table(const_basic_block block)
{
    return block != ENTRY_BLOCK_PTR_FOR_FN(cfun) && tablejump_p(BB_END(block), NULL, NULL);
}

static bool is_hot(const_basic_block block)
{
    return !crtl->has_bb_partition || BB_PARTITION(block) != BB_COLD_PARTITION;
}

void layout_place_last(basic_block block)
{
    unlink_block(block);
    basic_block last = EXIT_BLOCK_PTR_FOR_FN(cfun)->prev_bb;
    if (is_hot(block))
        while (!is_hot(last))
            last = last->prev_bb;
    link_block(block, last);
}

void layout_place_before(basic_block block, basic_block to)
{
    edge before = find_fallthru_edge(to->prev_bb->succs);
    if ((before && before->dest == to) || BB_PARTITION(block) != BB_PARTITION(to))
        return;
    unlink_block(block);
    link_block(block, to->prev_bb);
}

void layout_set_crossing(edge e)
{
    if (crtl->has_bb_partition && BB_PARTITION(e->src) != BB_PARTITION(e->dest))
        e->flags |= EDGE_CROSSING;
    else
        e->flags &= ~EDGE_CROSSING;
}

basic_block layout_split(edge e)
{
    basic_block from = e->src;
    basic_block between = split_edge(e);
    if (from != ENTRY_BLOCK_PTR_FOR_FN(cfun))
        BB_COPY_PARTITION(between, from);
    layout_set_crossing(single_pred_edge(between));
    layout_set_crossing(single_succ_edge(between));
    if (layout_is_table(from))
        layout_place_last(between);
    return between;
}

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

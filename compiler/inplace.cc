#include "gcc.h"
#include "inplace.h"

#include "checks.h"
#include "layout.h"
#include "operations.h"

/* All operations where their events are: guarded (no duplication), or exhaustive. */
void instrument_in_place()
{
    layout_enter();
    operations_begin();
    std::vector<basic_block> all;
    basic_block block;
    FOR_EACH_BB_FN(block, cfun)
        all.push_back(block);
    for (basic_block b : all)
        operations_insert(b);
    edge entry = single_succ_edge(ENTRY_BLOCK_PTR_FOR_FN(cfun));
    bool flags = bitmap_bit_p(df_get_live_in(entry->dest), FLAGS_REG);
    operations_enter(split_edge(entry), flags);
    layout_leave();
}

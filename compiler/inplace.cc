#include "gcc.h"
#include "inplace.h"

#include "edges.h"
#include "layout.h"
#include "operations.h"
#include "pgo.h"

static void insert_edges(basic_block block)
{
    std::vector<edge> ways;
    edge e;
    edge_iterator ei;
    if (!edges_leave(block))
        return;
    FOR_EACH_EDGE(e, ei, block->succs)
        if (!(e->flags & EDGE_COMPLEX))
            ways.push_back(e);
    for (edge way : ways) {
        event_record event;
        if (edges_event(block->index, way->dest->index, &event))
            operations_at_end(layout_split(way), event);
    }
}

/* All operations where their events are: guarded (no duplication), or exhaustive. */
void instrument_in_place()
{
    layout_enter();
    operations_begin();
    std::vector<basic_block> all;
    basic_block block;
    FOR_EACH_BB_FN(block, cfun)
        all.push_back(block);
    edges_number();
    for (basic_block b : all)
        operations_insert(b);
    for (basic_block b : all) {
        insert_edges(b);
        pgo_remove_counted(b);
    }
    edge entry = single_succ_edge(ENTRY_BLOCK_PTR_FOR_FN(cfun));
    bool flags = bitmap_bit_p(df_get_live_in(entry->dest), FLAGS_REG);
    operations_enter(layout_split(entry), flags);
    layout_leave();
}

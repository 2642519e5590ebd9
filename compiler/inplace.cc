#include "gcc.h"
#include "inplace.h"

#include "edges.h"
#include "layout.h"
#include "operations.h"
#include "paths.h"
#include "pgo.h"
#include "report.h"

static path_operations path_on(const_edge way)
{
    if (paths_end_before(way->dest->index))
        return {PENUMBRA_INST_PATH_END};
    if (way->flags & EDGE_DFS_BACK || paths_end_behind(way->src->index))
        return {PENUMBRA_INST_PATH_END, PENUMBRA_INST_PATH_BEGIN};
    return {};
}

static void insert_on(edge way, bool counts)
{
    event_record event;
    int to = way->dest->index;
    path_operations paths = path_on(way);
    counts = counts && edges_event(way->src->index, to, &event);
    if (!counts && (paths.empty() || !paths_are_observed()))
        return;
    basic_block between = layout_split(way);
    if (counts)
        operations_at_end(between, event);
    paths_at_end(between, to, FRAME_AT_HEAD, paths);
}

static void insert_on_ways(basic_block block)
{
    std::vector<edge> ways;
    edge e;
    edge_iterator ei;
    bool counts = edges_leave(block);
    FOR_EACH_EDGE(e, ei, block->succs)
        if (!(e->flags & EDGE_COMPLEX) && e->dest != EXIT_BLOCK_PTR_FOR_FN(cfun))
            ways.push_back(e);
    for (edge way : ways)
        insert_on(way, counts);
}

static void insert_at_entry()
{
    edge entry = single_succ_edge(ENTRY_BLOCK_PTR_FOR_FN(cfun));
    bool flags = bitmap_bit_p(df_get_live_in(entry->dest), FLAGS_REG);
    int first = entry->dest->index;
    basic_block enters = layout_split(entry);
    operations_enter(enters, flags);
    paths_at_end(enters, first, FRAME_AT_HEAD, {PENUMBRA_INST_PATH_BEGIN});
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
    mark_dfs_back_edges();
    if (const char *reason = paths_number())
        report_without_paths(reason);
    for (basic_block b : all) {
        operations_insert(b);
        paths_in_block(b, b->index);
        paths_at_label(b);
    }
    for (basic_block b : all)
        insert_on_ways(b);
    paths_mark();
    for (basic_block b : all)
        pgo_remove_counted(b);
    insert_at_entry();
    layout_leave();
    paths_mark_ends();
}

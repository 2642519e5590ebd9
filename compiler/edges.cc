/* Edges within a function: of blocks that end with a branch or a jump through a table, each way
 * on. */
#include "gcc.h"
#include "edges.h"

#include "arguments.h"
#include "instrument.h"
#include "penumbra/inst.h"

struct edge_row {
    uint32_t number, from_line, to_line;
};

static std::map<std::pair<int, int>, edge_row> rows;

static unsigned countable(const_basic_block block)
{
    edge e;
    edge_iterator ei;
    unsigned count = 0;
    FOR_EACH_EDGE(e, ei, const_cast<basic_block>(block)->succs)
        count += !(e->flags & EDGE_COMPLEX);
    return count;
}

bool edges_leave(const_basic_block block)
{
    return arguments_want("edges") && countable(block) > 1;
}

static uint32_t line_of(rtx_insn *insn)
{
    return NONDEBUG_INSN_P(insn) && INSN_HAS_LOCATION(insn) ? (uint32_t)insn_line(insn) : 0;
}

static uint32_t first_line(basic_block block)
{
    rtx_insn *insn;
    FOR_BB_INSNS(block, insn)
        if (uint32_t line = line_of(insn))
            return line;
    return 0;
}

static uint32_t last_line(basic_block block)
{
    rtx_insn *insn;
    FOR_BB_INSNS_REVERSE(block, insn)
        if (uint32_t line = line_of(insn))
            return line;
    return 0;
}

void edges_number()
{
    rows.clear();
    basic_block block;
    uint32_t number = 0;
    FOR_EACH_BB_FN(block, cfun) {
        edge e;
        edge_iterator ei;
        if (!edges_leave(block))
            continue;
        FOR_EACH_EDGE(e, ei, block->succs)
            if (!(e->flags & EDGE_COMPLEX))
                rows[{block->index, e->dest->index}] = {number++, last_line(block),
                                                        first_line(e->dest)};
    }
}

bool edges_event(int from, int to, event_record *event)
{
    auto row = rows.find({from, to});
    if (row == rows.end())
        return false;
    uint32_t start = (uint32_t)LOCATION_LINE(DECL_SOURCE_LOCATION(current_function_decl));
    uint32_t distance = row->second.from_line - start;
    event->kind = PENUMBRA_INST_EDGE;
    event->aux = row->second.number;
    event->line = row->second.to_line;
    event->source = (uint16_t)(row->second.from_line >= start && distance < 65535 ? distance
                                                                                  : 65535);
    return true;
}

static void look(rtx_insn *, answers *) {}

extern const instrumentation edges_instrumentation;
const instrumentation edges_instrumentation = {"edges", look, NULL, NULL};

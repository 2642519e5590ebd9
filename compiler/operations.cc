#include "gcc.h"
#include "operations.h"

#include "checks.h"
#include "edges.h"
#include "instrument.h"
#include "arguments.h"
#include "paths.h"
#include "penumbra/inst.h"

/* Calls seen on each line of the function. */
static std::map<uint32_t, unsigned> sites;

/* Control flow by lines and degrees: two builds of the same source agree. */
static uint32_t checksum()
{
    uint32_t sum = 2166136261u;
    basic_block block;
    FOR_EACH_BB_FN(block, cfun)
        sum = (sum ^ (EDGE_COUNT(block->succs) * 16 + EDGE_COUNT(block->preds))) * 16777619u;
    return sum;
}

void operations_begin()
{
    expanded_location at = expand_location(DECL_SOURCE_LOCATION(current_function_decl));
    sites.clear();
    tables_function(instrument_name(current_function_decl), at.file ? at.file : "",
                    (uint32_t)at.line, checksum());
}

int operations_red_zone()
{
    return crtl->is_leaf ? cfun->machine->frame.red_zone_size : 0;
}

static bool ask(rtx_insn *insn, answers *into)
{
    for (const instrumentation *const *i = instrumentations; *i; i++)
        if (arguments_want((*i)->name))
            (*i)->look(insn, into);
    return !into->events.empty() || !into->values.empty();
}

static unsigned site_of(uint32_t line)
{
    unsigned site = sites[line]++;
    return site < 255 ? site : 255;
}

/* What the instrumentations say of a marker. */
static std::vector<event_record> ask_marker(rtx_insn *insn)
{
    answers into;
    for (const instrumentation *const *i = instrumentations; *i; i++)
        if ((*i)->mark && arguments_want((*i)->name))
            (*i)->mark(insn, &into);
    return into.events;
}

bool operations_are_in(basic_block block)
{
    rtx_insn *insn;
    if (edges_leave(block) || paths_are_observed())
        return true;
    FOR_BB_INSNS(block, insn) {
        answers into;
        if (NONDEBUG_INSN_P(insn) && ask(insn, &into))
            return true;
        if (DEBUG_MARKER_INSN_P(insn) && !ask_marker(insn).empty())
            return true;
    }
    return false;
}

static void ask_at_entry(answers *into)
{
    for (const instrumentation *const *i = instrumentations; *i; i++)
        if ((*i)->enter && arguments_want((*i)->name))
            (*i)->enter(into);
}

bool operations_at_entry()
{
    answers into;
    ask_at_entry(&into);
    return !into.events.empty() || !into.values.empty() || paths_are_observed();
}

/* What is the same for every instrumentation: lines, sites, inlined callers. */
static void complete(rtx_insn *insn, answers *into)
{
    uint32_t line = INSN_HAS_LOCATION(insn) ? (uint32_t)insn_line(insn) : 0;
    std::string caller = instrument_caller(insn);
    for (event_record &event : into->events) {
        event.line = line;
        event.caller = caller;
        if (event.kind == PENUMBRA_INST_CALL)
            event.site = (uint8_t)site_of(line);
    }
    for (answers::asked_value &value : into->values) {
        value.record.line = line;
        value.record.caller = caller;
        if (value.record.kind != PENUMBRA_INST_ARGUMENT)
            value.record.index = (uint16_t)site_of(line);
    }
}

/* Whether the flags are live before `insn`: only guards want to know. */
static bool flags_live(rtx_insn *insn)
{
    if (argument.how != VARIANT_NONE)
        return false;
    basic_block block = BLOCK_FOR_INSN(insn);
    bool live = bitmap_bit_p(df_get_live_out(block), FLAGS_REG);
    for (rtx_insn *i = BB_END(block); i != PREV_INSN(insn); i = PREV_INSN(i)) {
        if (!NONDEBUG_INSN_P(i))
            continue;
        df_ref def, use;
        FOR_EACH_INSN_DEF(def, i)
            if (DF_REF_REGNO(def) == FLAGS_REG)
                live = false;
        FOR_EACH_INSN_USE(use, i)
            if (DF_REF_REGNO(use) == FLAGS_REG)
                live = true;
    }
    return live;
}

/* An operation to insert, once the block has been looked at. */
struct pending {
    int number;
    rtx operand; /* of a value; NULL: an event */
    rtx_insn *before;
};

static void flush(std::vector<event_record> *events, rtx_insn *first, std::vector<pending> *all)
{
    if (!events->empty())
        all->push_back({tables_block(*events), NULL_RTX, first});
    events->clear();
}

static std::vector<pending> look_at(basic_block block)
{
    std::vector<pending> all;
    std::vector<event_record> events;
    rtx_insn *insn, *first = NULL;
    FOR_BB_INSNS(block, insn) {
        bool marker = DEBUG_MARKER_INSN_P(insn);
        if (!NONDEBUG_INSN_P(insn) && !marker)
            continue;
        if (!first)
            first = insn;
        if (marker) {
            std::vector<event_record> marked = ask_marker(insn);
            events.insert(events.end(), marked.begin(), marked.end());
            continue;
        }
        answers into;
        if (ask(insn, &into)) {
            complete(insn, &into);
            events.insert(events.end(), into.events.begin(), into.events.end());
            for (const answers::asked_value &value : into.values)
                all.push_back({tables_value(value.record), value.operand, insn});
        }
        if (CALL_P(insn)) {
            flush(&events, first, &all);
            first = NULL;
        }
    }
    flush(&events, first, &all);
    return all;
}

static void insert(const pending &operation, bool flags)
{
    place at = {operation.before, operations_red_zone(), flags};
    if (operation.operand)
        operation_emit_value(operation.number, operation.operand, at);
    else
        operation_emit_event(operation.number, at);
}

void operations_insert(basic_block block)
{
    std::vector<pending> all = look_at(block);
    std::vector<bool> flags;
    for (const pending &operation : all)
        flags.push_back(flags_live(operation.before));
    for (size_t i = 0; i < all.size(); i++)
        insert(all[i], flags[i]);
}

/* Whether the flags are live where the block goes on to. */
static bool flags_live_after(basic_block block)
{
    return argument.how == VARIANT_NONE &&
           bitmap_bit_p(df_get_live_in(single_succ(block)), FLAGS_REG);
}

void operations_at_end(basic_block block, const event_record &event)
{
    rtx_insn *insn = emit_note_after(NOTE_INSN_DELETED, BB_END(block));
    operation_emit_event(tables_block({event}),
                         {insn, operations_red_zone(), flags_live_after(block)});
}

void operations_enter(basic_block block, bool flags)
{
    answers into;
    ask_at_entry(&into);
    uint32_t line = (uint32_t)LOCATION_LINE(DECL_SOURCE_LOCATION(current_function_decl));
    if (into.events.empty() && into.values.empty())
        return;
    rtx_insn *insn = emit_note_after(NOTE_INSN_DELETED, BB_END(block));
    place at = {insn, 0, flags};
    for (event_record &event : into.events)
        event.line = line;
    if (!into.events.empty())
        operation_emit_event(tables_block(into.events), at);
    for (answers::asked_value &value : into.values) {
        value.record.line = line;
        operation_emit_value(tables_value(value.record), value.operand, at);
    }
}

/* Call edges: caller, call site, callee, and calls that are inlined. A direct call is an event, the
 * target of an indirect call a value; both happen right before the call. Entries are counted as
 * well, since not all callers are instrumented. */
#include "gcc.h"
#include "instrument.h"

#include "penumbra/inst.h"

/* A direct call, or the operand that holds an indirect call's target. */
static void look(rtx_insn *insn, answers *into)
{
    std::string name = instrument_callee(insn);
    if (!name.empty()) {
        event_record event;
        event.kind = PENUMBRA_INST_CALL;
        event.text = name;
        into->event(event);
        return;
    }
    rtx call = CALL_P(insn) ? get_call_rtx_from(insn) : NULL_RTX;
    rtx target = call ? XEXP(XEXP(call, 0), 0) : NULL_RTX;
    if (!target || !(REG_P(target) || MEM_P(target)) || GET_MODE(target) != DImode)
        return;
    value_record value;
    value.kind = PENUMBRA_INST_TARGET;
    into->value(value, target);
}

/* Where the body of an inlined function begins there is a marker, with -g. The call's line is that
 * of the scope. */
static void mark(rtx_insn *marker, answers *into)
{
    tree block = LOCATION_BLOCK(INSN_LOCATION(marker));
    while (block && TREE_CODE(block) == BLOCK && !inlined_function_outer_scope_p(block))
        block = BLOCK_SUPERCONTEXT(block);
    if (INSN_DEBUG_MARKER_KIND(marker) != NOTE_INSN_INLINE_ENTRY || !block ||
        TREE_CODE(block) != BLOCK)
        return;
    tree callee = block_ultimate_origin(block);
    if (!callee || TREE_CODE(callee) != FUNCTION_DECL)
        return;
    event_record event;
    event.kind = PENUMBRA_INST_INLINED;
    event.text = instrument_name(callee);
    event.line = (uint32_t)LOCATION_LINE(BLOCK_SOURCE_LOCATION(block));
    event.caller = instrument_scope(BLOCK_SUPERCONTEXT(block));
    into->event(event);
}

static void enter(answers *into)
{
    event_record event;
    event.kind = PENUMBRA_INST_ENTRY;
    into->event(event);
}

extern const instrumentation calls_instrumentation;
const instrumentation calls_instrumentation = {"calls", look, enter, mark};

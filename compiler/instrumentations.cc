#include "gcc.h"
#include "instrument.h"

extern const instrumentation calls_instrumentation, fields_instrumentation, values_instrumentation,
    allocations_instrumentation, edges_instrumentation, paths_instrumentation,
    pgo_instrumentation;

const instrumentation *const instrumentations[] = {
    &calls_instrumentation,
    &fields_instrumentation,
    &values_instrumentation,
    &allocations_instrumentation,
    &edges_instrumentation,
    &paths_instrumentation,
    &pgo_instrumentation,
    NULL,
};

std::string instrument_name(tree function)
{
    const char *name = IDENTIFIER_POINTER(DECL_ASSEMBLER_NAME(function));
    return *name == '*' ? name + 1 : name;
}

std::string instrument_callee(const rtx_insn *insn)
{
    if (!CALL_P(insn))
        return "";
    rtx call = get_call_rtx_from(insn);
    rtx target = call ? XEXP(XEXP(call, 0), 0) : NULL_RTX;
    /* the address may be read from the global offset table */
    if (rtx note = find_reg_note(insn, REG_CALL_DECL, NULL_RTX))
        if (XEXP(note, 0) && GET_CODE(XEXP(note, 0)) == SYMBOL_REF)
            target = XEXP(note, 0);
    if (!target || GET_CODE(target) != SYMBOL_REF)
        return "";
    tree decl = SYMBOL_REF_DECL(target);
    if (decl && TREE_CODE(decl) == FUNCTION_DECL)
        return instrument_name(decl);
    const char *name = XSTR(target, 0);
    return *name == '*' ? name + 1 : name;
}

std::string instrument_scope(tree block)
{
    for (; block && TREE_CODE(block) == BLOCK;
         block = BLOCK_SUPERCONTEXT(block)) {
        if (!inlined_function_outer_scope_p(block))
            continue;
        tree origin = block_ultimate_origin(block);
        if (origin && TREE_CODE(origin) == FUNCTION_DECL && origin != current_function_decl)
            return instrument_name(origin);
        return "";
    }
    return "";
}

std::string instrument_caller(const rtx_insn *insn)
{
    return instrument_scope(LOCATION_BLOCK(INSN_LOCATION(insn)));
}

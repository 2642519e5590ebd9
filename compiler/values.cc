/* Values with names: integer and pointer arguments in registers at entry, divisors, the lengths
 * that memcpy and its family are given. */
#include "gcc.h"
#include "instrument.h"

#include "penumbra/inst.h"

static bool fits(machine_mode mode)
{
    return mode == QImode || mode == HImode || mode == SImode || mode == DImode;
}

static uint8_t bytes_of(machine_mode mode)
{
    return (uint8_t)GET_MODE_SIZE(mode).to_constant();
}

/* The first division in an expression, NULL if there is none. */
static const_rtx division_in(const_rtx x)
{
    subrtx_iterator::array_type array;
    FOR_EACH_SUBRTX(iter, array, x, NONCONST) {
        rtx_code code = GET_CODE(*iter);
        if (code == DIV || code == UDIV || code == MOD || code == UMOD)
            return *iter;
    }
    return NULL;
}

static void look_at_division(rtx_insn *insn, answers *into)
{
    const_rtx division = division_in(PATTERN(insn));
    if (!division || !SCALAR_INT_MODE_P(GET_MODE(division)))
        return;
    rtx by = XEXP(division, 1);
    if (GET_CODE(by) == SIGN_EXTEND || GET_CODE(by) == ZERO_EXTEND)
        by = XEXP(by, 0);
    if (!(REG_P(by) || MEM_P(by)) || !fits(GET_MODE(by)))
        return;
    value_record value;
    value.kind = PENUMBRA_INST_DIVISOR;
    value.bytes = bytes_of(GET_MODE(by));
    value.is_signed = GET_CODE(division) == DIV || GET_CODE(division) == MOD;
    into->value(value, by);
}

static void look_at_length(rtx_insn *insn, answers *into)
{
    static const char *const with_length[] = {"memcpy",  "memmove", "memset",  "memcmp",
                                              "mempcpy", "memchr",  "strncmp", "strncpy"};
    std::string name = instrument_callee(insn);
    for (const char *known : with_length) {
        if (name != known)
            continue;
        value_record value;
        value.kind = PENUMBRA_INST_LENGTH;
        value.name = name;
        into->value(value, gen_rtx_REG(DImode, DX_REG));
    }
}

static void look(rtx_insn *insn, answers *into)
{
    if (CALL_P(insn))
        look_at_length(insn, into);
    else if (asm_noperands(PATTERN(insn)) < 0)
        look_at_division(insn, into);
}

static void enter(answers *into)
{
    uint16_t index = 0;
    for (tree p = DECL_ARGUMENTS(current_function_decl); p; p = DECL_CHAIN(p), index++) {
        rtx incoming = DECL_INCOMING_RTL(p);
        tree type = TREE_TYPE(p);
        if (!incoming || !REG_P(incoming) || !GENERAL_REGNO_P(REGNO(incoming)) ||
            !(INTEGRAL_TYPE_P(type) || POINTER_TYPE_P(type)) || !fits(TYPE_MODE(type)))
            continue;
        value_record value;
        value.kind = PENUMBRA_INST_ARGUMENT;
        value.index = index;
        value.name = DECL_NAME(p) ? IDENTIFIER_POINTER(DECL_NAME(p)) : "";
        value.bytes = bytes_of(TYPE_MODE(type));
        value.is_signed = INTEGRAL_TYPE_P(type) && !TYPE_UNSIGNED(type);
        into->value(value, gen_rtx_REG(DImode, REGNO(incoming)));
    }
}

extern const instrumentation values_instrumentation;
const instrumentation values_instrumentation = {"values", look, enter, NULL};

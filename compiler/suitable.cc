#include "gcc.h"
#include "suitable.h"

#include "arguments.h"

/* Whether an asm defines a symbol, of which there can be only one: a word before a colon. Local
 * labels are digits; %= and %l are operands. */
static bool defines_symbol(const char *text)
{
    for (const char *p = text; (p = strchr(p, ':')); p++) {
        const char *word = p;
        while (word > text && (ISALNUM(word[-1]) || strchr("_.$", word[-1])))
            word--;
        bool starts_line = word == text || strchr("\n;\t |{", word[-1]);
        if (word < p && starts_line && !ISDIGIT(*word) && *word != '$')
            return true;
    }
    return strstr(text, ".set") || strstr(text, ".macro") || strstr(text, ".globl") ||
           strstr(text, ".equ");
}

static const char *asm_of(const_rtx pattern)
{
    if (GET_CODE(pattern) == ASM_INPUT)
        return XSTR(pattern, 0);
    if (rtx operands = extract_asm_operands(CONST_CAST_RTX(pattern)))
        return ASM_OPERANDS_TEMPLATE(operands);
    if (GET_CODE(pattern) == PARALLEL && GET_CODE(XVECEXP(pattern, 0, 0)) == ASM_INPUT)
        return XSTR(XVECEXP(pattern, 0, 0), 0);
    return NULL;
}

static const char *instructions_reason()
{
    for (rtx_insn *insn = get_insns(); insn; insn = NEXT_INSN(insn)) {
        if (!INSN_P(insn) || DEBUG_INSN_P(insn))
            continue;
        const char *text = asm_of(PATTERN(insn));
        if (text && defines_symbol(text))
            return "an asm in it defines a symbol";
    }
    return NULL;
}

static bool is_ifunc_resolver()
{
    cgraph_node *node = cgraph_node::get(current_function_decl);
    ipa_ref *ref;
    if (!node)
        return false;
    FOR_EACH_ALIAS(node, ref)
        if (cgraph_node *alias = dyn_cast<cgraph_node *>(ref->referring))
            if (alias->ifunc_resolver)
                return true;
    return false;
}

static bool has_attribute(const char *name)
{
    return lookup_attribute(name, DECL_ATTRIBUTES(current_function_decl)) ||
           lookup_attribute(name, TYPE_ATTRIBUTES(TREE_TYPE(current_function_decl)));
}

static const char *attribute_reason()
{
    if (has_attribute("naked") || has_attribute("ms_hook_prologue"))
        return "its entry is the program's own (naked, ms_hook_prologue)";
    if (has_attribute("interrupt") || has_attribute("no_caller_saved_registers"))
        return "it is an interrupt handler";
    if (has_attribute("no_instrument_function"))
        return "no_instrument_function";
    if (is_ifunc_resolver())
        return "it resolves an ifunc, before the counter exists";
    return NULL;
}

const char *suitable_unit_reason()
{
    if (!TARGET_64BIT || TARGET_X32)
        return "it is not x86-64 code";
    if (ASSEMBLER_DIALECT == ASM_INTEL)
        return "-masm=intel";
    if (ix86_cmodel != CM_SMALL && ix86_cmodel != CM_SMALL_PIC && ix86_cmodel != CM_MEDIUM &&
        ix86_cmodel != CM_MEDIUM_PIC)
        return "its code model";
    return flag_split_stack ? "-fsplit-stack" : NULL;
}

const char *suitable_reason()
{
    if (const char *reason = suitable_unit_reason())
        return reason;
    if (cfun->calls_setjmp)
        return "it calls setjmp, vfork or the like";
    if (cfun->has_nonlocal_label || crtl->has_nonlocal_goto)
        return "nonlocal labels";
    if (crtl->calls_eh_return || crtl->eh.sjlj_fc)
        return "it unwinds the stack itself";
    if (const char *reason = attribute_reason())
        return reason;
    return instructions_reason();
}

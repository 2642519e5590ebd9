/* Allocation sites: the bytes that each call of an allocation function asks for, and the type that
 * the result points to. */
#include "gcc.h"
#include "instrument.h"

#include "allocations.h"
#include "gimple.h"
#include "gimple-iterator.h"
#include "penumbra/inst.h"
#include "types.h"

struct allocation_function {
    const char *name;
    int size, count; /* registers of its arguments; count -1: none */
};

static const allocation_function functions[] = {
    {"malloc", DI_REG, -1},  {"calloc", SI_REG, DI_REG},       {"realloc", SI_REG, -1},
    {"valloc", DI_REG, -1},  {"aligned_alloc", SI_REG, -1},    {"memalign", SI_REG, -1},
    {"_Znwm", DI_REG, -1},   {"_ZnwmRKSt9nothrow_t", DI_REG, -1}, {"posix_memalign", DX_REG, -1},
    {"_Znam", DI_REG, -1},   {"_ZnamRKSt9nothrow_t", DI_REG, -1},
    {"_ZnwmSt11align_val_t", DI_REG, -1},
};

static const allocation_function *function_named(const std::string &name)
{
    for (const allocation_function &f : functions)
        if (name == f.name)
            return &f;
    return NULL;
}

/* Types by where the call is in the source, of the current function. */
static std::map<location_t, int> types;

void allocations_find_types(function *in)
{
    types.clear();
    basic_block block;
    FOR_EACH_BB_FN(block, in) {
        for (gimple_stmt_iterator i = gsi_start_bb(block); !gsi_end_p(i); gsi_next(&i)) {
            gimple *call = gsi_stmt(i);
            tree callee = is_gimple_call(call) ? gimple_call_fndecl(call) : NULL_TREE;
            tree to = callee ? gimple_call_lhs(call) : NULL_TREE;
            if (!to || !POINTER_TYPE_P(TREE_TYPE(to)) || !function_named(instrument_name(callee)))
                continue;
            int type = types_record(TREE_TYPE(TREE_TYPE(to)));
            if (type >= 0)
                types[LOCATION_LOCUS(gimple_location(call))] = type;
        }
    }
}

static void look(rtx_insn *insn, answers *into)
{
    const allocation_function *f = function_named(instrument_callee(insn));
    if (!f)
        return;
    value_record value;
    value.kind = PENUMBRA_INST_ALLOC;
    value.name = f->name;
    auto type = types.find(LOCATION_LOCUS(INSN_LOCATION(insn)));
    value.type = type == types.end() ? -1 : type->second;
    rtx size = gen_rtx_REG(DImode, f->size);
    into->value(value, f->count < 0 ? size
                                    : gen_rtx_MULT(DImode, gen_rtx_REG(DImode, f->count), size));
}

extern const instrumentation allocations_instrumentation;
const instrumentation allocations_instrumentation = {"allocations", look, NULL, NULL};

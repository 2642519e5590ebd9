/* penumbra.so: instrumentation sampling for GCC (docs/instrumentation.md).
 *
 * Its pass runs when a function's instructions and their order are final, before the control
 * flow graph is given up. A small one before it looks for what instructions do not have. */
#include "gcc.h"

#include "accesses.h"
#include "allocations.h"
#include "arguments.h"
#include "bitfields.h"
#include "checks.h"
#include "duplicate.h"
#include "inplace.h"
#include "paths.h"
#include "pgo.h"
#include "report.h"
#include "suitable.h"
#include "support.h"
#include "tables.h"

int plugin_is_GPL_compatible;

static const char *instrument()
{
    const char *reason = suitable_reason();
    if (reason)
        return reason;
    if (argument.how != VARIANT_NONE && argument.how != VARIANT_EXHAUSTIVE)
        return duplicate_function();
    instrument_in_place();
    return NULL;
}

static const pass_data sampling_pass_data = {
    RTL_PASS, "penumbra", OPTGROUP_NONE, TV_NONE, PROP_cfg, 0, 0, 0, 0,
};

class sampling_pass : public rtl_opt_pass {
public:
    explicit sampling_pass(gcc::context *context) : rtl_opt_pass(sampling_pass_data, context) {}

    unsigned int execute(function *) final override
    {
        const char *reason = instrument();
        if (reason)
            report_left(reason);
        else
            report_instrumented();
        return 0;
    }
};

static const pass_data types_pass_data = {
    GIMPLE_PASS, "penumbra_types", OPTGROUP_NONE, TV_NONE, PROP_cfg, 0, 0, 0, 0,
};

class types_pass : public gimple_opt_pass {
public:
    explicit types_pass(gcc::context *context) : gimple_opt_pass(types_pass_data, context) {}

    unsigned int execute(function *in) final override
    {
        if (arguments_want("allocations"))
            allocations_find_types(in);
        if (arguments_want("fields")) {
            accesses_find(in);
            bitfields_find(in);
        }
        return 0;
    }
};

static const pass_data accesses_pass_data = {
    GIMPLE_PASS, "penumbra_accesses", OPTGROUP_NONE, TV_NONE, PROP_cfg, 0, 0, 0, 0,
};

class accesses_pass : public gimple_opt_pass {
public:
    explicit accesses_pass(gcc::context *context) : gimple_opt_pass(accesses_pass_data, context) {}

    bool gate(function *) final override { return arguments_want("fields"); }

    unsigned int execute(function *in) final override
    {
        accesses_note(in);
        return 0;
    }
};

static const pass_data pgo_pass_data = {
    SIMPLE_IPA_PASS, "penumbra_pgo", OPTGROUP_NONE, TV_NONE, 0, 0, 0, 0, 0,
};

class pgo_pass : public simple_ipa_opt_pass {
public:
    explicit pgo_pass(gcc::context *context) : simple_ipa_opt_pass(pgo_pass_data, context) {}

    /* gcc's own code counts what is not instrumented */
    bool gate(function *) final override { return pgo_wanted() && !suitable_unit_reason(); }

    unsigned int execute(function *) final override
    {
        pgo_convert_all();
        return 0;
    }
};

static void unit_ends(void *, void *)
{
    if (tables_are_used() && asm_out_file) {
        tables_write(asm_out_file);
        paths_write(asm_out_file);
        operations_write(asm_out_file, tables_blocks(), tables_values());
        support_write(asm_out_file);
    }
    report_write();
}

/* A release's structures are those of all its builds; plugin_default_version_check would ask for
 * the very build, which distributions make again for each correction. */
int plugin_init(plugin_name_args *args, plugin_gcc_version *version)
{
    if (strcmp(version->basever, gcc_version.basever) != 0) {
        error("penumbra-gcc: it is built for GCC %s, and this is %s: build Penumbra with the "
              "headers of that", gcc_version.basever, version->basever);
        return 1;
    }
    if (!arguments_read(args->argc, args->argv))
        return 1;
    if (pgo_wanted())
        pgo_begin();
    paths_begin();
    register_pass_info counters = {new pgo_pass(g), "profile", 1, PASS_POS_INSERT_AFTER};
    register_callback(args->base_name, PLUGIN_PASS_MANAGER_SETUP, NULL, &counters);
    register_pass_info accesses = {new accesses_pass(g), "ivopts", 1, PASS_POS_INSERT_BEFORE};
    register_callback(args->base_name, PLUGIN_PASS_MANAGER_SETUP, NULL, &accesses);
    register_pass_info types = {new types_pass(g), "optimized", 1, PASS_POS_INSERT_BEFORE};
    register_callback(args->base_name, PLUGIN_PASS_MANAGER_SETUP, NULL, &types);
    register_pass_info pass = {new sampling_pass(g), "alignments", 1, PASS_POS_INSERT_BEFORE};
    register_callback(args->base_name, PLUGIN_PASS_MANAGER_SETUP, NULL, &pass);
    register_callback(args->base_name, PLUGIN_FINISH_UNIT, unit_ends, NULL);
    return 0;
}

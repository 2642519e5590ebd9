#include "gcc.h"
#include "pgo.h"

#include "arguments.h"
#include "gimple.h"
#include "gimple-iterator.h"
#include "gimplify.h"
#include "instrument.h"
#include "penumbra/inst.h"
#include "ssa.h"
#include "tree-dfa.h"
#include "tree-into-ssa.h"

/* By their texts the asms are known again. */
static const char counter_asm[] = "lock addq\t$1, %0";
static const char way_asm[] = "# a way through a function";

/* Counters of a way, at most: operands of an asm. */
enum { WAY_MOST = 24 };

bool pgo_wanted()
{
    return arguments_want("pgo");
}

void pgo_begin()
{
    bool links = strcmp(lang_hooks.name, "GNU GIMPLE") == 0; /* -flto: counters are there */
    if (!profile_arc_flag && !links)
        error("penumbra-gcc: %<what=pgo%> needs %<-fprofile-generate%>");
    flag_profile_values = 0;
}

/* ---- from stores to asms ---- */

/* Whether it is one of the array of counters of a function's edges. */
static bool is_counter(tree ref)
{
    static const char prefix[] = "__gcov0.";
    tree base = TREE_CODE(ref) == ARRAY_REF ? TREE_OPERAND(ref, 0) : NULL_TREE;
    return base && VAR_P(base) && DECL_NAME(base) &&
           strncmp(IDENTIFIER_POINTER(DECL_NAME(base)), prefix, sizeof prefix - 1) == 0;
}

/* The counter that a statement counts: by a store, or by an atomic addition. */
static tree counted_by(gimple *statement)
{
    if (gimple_assign_single_p(statement) && is_counter(gimple_assign_lhs(statement)))
        return gimple_assign_lhs(statement);
    if (is_gimple_call(statement) && gimple_call_num_args(statement) == 3) {
        tree first = gimple_call_arg(statement, 0);
        if (TREE_CODE(first) == ADDR_EXPR && is_counter(TREE_OPERAND(first, 0)))
            return TREE_OPERAND(first, 0);
    }
    return NULL_TREE;
}

static tree operand_make(const char *constraint, tree counter)
{
    tree text = build_string((int)strlen(constraint), constraint);
    return build_tree_list(build_tree_list(NULL_TREE, text), unshare_expr(counter));
}

static gimple *asm_make(const char *text, vec<tree, va_gc> *inputs, vec<tree, va_gc> *outputs)
{
    gasm *made = gimple_build_asm_vec(ggc_strdup(text), inputs, outputs, NULL, NULL);
    gimple_asm_set_volatile(made, true);
    gimple_asm_set_inline(made, true);
    return made;
}

static gimple *counter_make(tree counter)
{
    vec<tree, va_gc> *inputs = NULL, *outputs = NULL;
    vec_safe_push(outputs, operand_make("=m", counter));
    vec_safe_push(inputs, operand_make("m", counter));
    return asm_make(counter_asm, inputs, outputs);
}

/* What has computed the sum that a store stores: a load and an addition. */
static void remove_sum(tree sum)
{
    for (int i = 0; i < 2 && sum && TREE_CODE(sum) == SSA_NAME && has_zero_uses(sum); i++) {
        gimple *made = SSA_NAME_DEF_STMT(sum);
        tree from = is_gimple_assign(made) ? gimple_assign_rhs1(made) : NULL_TREE;
        gimple_stmt_iterator at = gsi_for_stmt(made);
        unlink_stmt_vdef(made);
        gsi_remove(&at, true);
        release_ssa_name(sum);
        sum = from;
    }
}

/* Whether it has counted. */
static bool convert(gimple_stmt_iterator *at)
{
    gimple *old = gsi_stmt(*at);
    tree counter = counted_by(old);
    if (!counter)
        return false;
    tree sum = is_gimple_assign(old) ? gimple_assign_rhs1(old) : NULL_TREE;
    gimple *made = counter_make(counter);
    gimple_set_location(made, gimple_location(old));
    gimple_move_vops(made, old);
    gsi_replace(at, made, false);
    update_stmt(made);
    remove_sum(sum);
    return true;
}

/* ---- where gcc's counters are written to their file, or set to 0 ---- */

static bool is_named(tree function, const char *name)
{
    return DECL_NAME(function) && strcmp(IDENTIFIER_POINTER(DECL_NAME(function)), name) == 0;
}

/* gcc writes the counters before a program executes another. */
static bool wants_flush(gimple *statement)
{
    tree callee = is_gimple_call(statement) ? gimple_call_fndecl(statement) : NULL_TREE;
    if (!callee)
        return false;
    if (fndecl_built_in_p(callee, BUILT_IN_NORMAL))
        switch (DECL_FUNCTION_CODE(callee)) {
        case BUILT_IN_EXECL:
        case BUILT_IN_EXECLE:
        case BUILT_IN_EXECLP:
        case BUILT_IN_EXECV:
        case BUILT_IN_EXECVE:
        case BUILT_IN_EXECVP:
            return true;
        default:
            return false;
        }
    return is_named(callee, "__gcov_dump") || is_named(callee, "__gcov_reset");
}

/* support.h's function; NULL: not declared. Only while all functions are converted, as nothing else
 * keeps it. */
static tree flush_declared;

static tree flush_function()
{
    if (flush_declared)
        return flush_declared;
    tree type = build_function_type_list(void_type_node, NULL_TREE);
    tree function = build_fn_decl("__penumbra1_flush", type);
    DECL_VISIBILITY(function) = VISIBILITY_HIDDEN;
    DECL_VISIBILITY_SPECIFIED(function) = 1;
    TREE_NOTHROW(function) = 1;
    return flush_declared = function;
}

static bool insert_flush(gimple_stmt_iterator *at)
{
    if (!wants_flush(gsi_stmt(*at)))
        return false;
    gimple *call = gimple_build_call(flush_function(), 0);
    gimple_set_location(call, gimple_location(gsi_stmt(*at)));
    gsi_insert_before(at, call, GSI_SAME_STMT);
    return true;
}

/* ---- a way through a function ---- */

/* The counter that one of our asms counts; NULL: it is none. */
static tree counter_of(gimple *statement)
{
    gasm *by = dyn_cast<gasm *>(statement);
    if (!by || strcmp(gimple_asm_string(by), counter_asm) != 0)
        return NULL_TREE;
    return TREE_VALUE(gimple_asm_output_op(by, 0));
}

static std::vector<tree> counters_in(basic_block block)
{
    std::vector<tree> found;
    for (gimple_stmt_iterator i = gsi_start_bb(block); !gsi_end_p(i); gsi_next(&i))
        if (tree counter = counter_of(gsi_stmt(i)))
            found.push_back(counter);
    return found;
}

/* Blocks of a function: which counters each has, and how it is reached from the entry by the fewest
 * counters. By index. */
struct ways {
    std::vector<std::vector<tree>> counters;
    std::vector<size_t> least; /* SIZE_MAX: it is not reached */
    std::vector<basic_block> from;
    std::vector<std::vector<basic_block>> reached; /* by counters */
};

static void reach(ways *w, basic_block block, basic_block from, size_t counters)
{
    if (counters > WAY_MOST || w->least[block->index] <= counters)
        return;
    w->least[block->index] = counters;
    w->from[block->index] = from;
    w->reached[counters].push_back(block);
}

static void reach_successors(ways *w, basic_block block, size_t counters)
{
    edge e;
    edge_iterator ei;
    FOR_EACH_EDGE(e, ei, block->succs)
        if (!(e->flags & (EDGE_COMPLEX | EDGE_FAKE)))
            reach(w, e->dest, block, counters + w->counters[e->dest->index].size());
}

/* Dijkstra's algorithm; counters are few. */
static ways ways_find(function *in)
{
    size_t blocks = last_basic_block_for_fn(in);
    basic_block block, entry = ENTRY_BLOCK_PTR_FOR_FN(in);
    ways w;
    w.counters.resize(blocks);
    FOR_EACH_BB_FN(block, in)
        w.counters[block->index] = counters_in(block);
    w.least.assign(blocks, SIZE_MAX);
    w.from.assign(blocks, NULL);
    w.reached.resize(WAY_MOST + 1);
    reach(&w, entry, NULL, 0);
    for (size_t n = 0; n <= WAY_MOST; n++)
        for (size_t i = 0; i < w.reached[n].size(); i++)
            reach_successors(&w, w.reached[n][i], n);
    return w;
}

/* Where the shortest way ends: at the exit, or where the function does not return. Or NULL. */
static basic_block way_end(function *in, const ways &w)
{
    basic_block block, end = NULL, exit = EXIT_BLOCK_PTR_FOR_FN(in);
    if (w.least[exit->index] != SIZE_MAX)
        return exit;
    FOR_EACH_BB_FN(block, in)
        if (EDGE_COUNT(block->succs) == 0 && w.least[block->index] != SIZE_MAX &&
            (!end || w.least[block->index] < w.least[end->index]))
            end = block;
    return end;
}

/* At the entry, so that it is there wherever the function is inlined. */
static bool insert_way(function *in)
{
    ways w = ways_find(in);
    basic_block end = way_end(in, w);
    vec<tree, va_gc> *inputs = NULL;
    if (!end || w.least[end->index] == 0)
        return false;
    for (basic_block block = end; block; block = w.from[block->index])
        for (tree counter : w.counters[block->index])
            vec_safe_push(inputs, operand_make("m", counter));
    gimple_stmt_iterator at = gsi_after_labels(single_succ(ENTRY_BLOCK_PTR_FOR_FN(in)));
    gsi_insert_before(&at, asm_make(way_asm, inputs, NULL), GSI_SAME_STMT);
    return true;
}

/* ---- all functions ---- */

static void convert_function(function *in)
{
    basic_block block;
    bool counted = false, inserted = false;
    FOR_EACH_BB_FN(block, in)
        for (gimple_stmt_iterator i = gsi_start_bb(block); !gsi_end_p(i); gsi_next(&i)) {
            counted |= convert(&i);
            inserted |= insert_flush(&i);
        }
    inserted |= counted && insert_way(in);
    if (inserted) {
        mark_virtual_operands_for_renaming(in);
        update_ssa(TODO_update_ssa_only_virtuals);
    }
    if (counted || inserted) /* the call graph knows calls, and references to variables */
        cgraph_edge::rebuild_edges();
}

void pgo_convert_all()
{
    cgraph_node *node;
    flush_declared = NULL_TREE;
    FOR_EACH_FUNCTION_WITH_GIMPLE_BODY(node) {
        function *in = DECL_STRUCT_FUNCTION(node->decl);
        if (!in || !in->cfg)
            continue;
        push_cfun(in);
        convert_function(in);
        pop_cfun();
    }
}

/* ---- final instructions ---- */

/* One of our asms, or NULL. */
static rtx asm_of(const rtx_insn *insn, const char *text)
{
    rtx operands = NONJUMP_INSN_P(insn) ? extract_asm_operands(PATTERN(insn)) : NULL_RTX;
    return operands && strcmp(ASM_OPERANDS_TEMPLATE(operands), text) == 0 ? operands : NULL_RTX;
}

/* The array of counters, and how many bytes from its start; NULL: not known. */
static tree array_of(const_rtx mem, HOST_WIDE_INT *bytes)
{
    tree expr = MEM_P(mem) ? MEM_EXPR(mem) : NULL_TREE;
    poly_int64 offset = 0;
    tree base = expr ? get_addr_base_and_unit_offset(expr, &offset) : NULL_TREE;
    bool known = base && VAR_P(base) && offset.is_constant(bytes) && !DECL_COMDAT_GROUP(base);
    return known ? base : NULL_TREE;
}

/* An event of a counter, which the assembler knows by its array's name. */
static event_record event_of(tree array, HOST_WIDE_INT bytes)
{
    event_record event;
    const char *name = IDENTIFIER_POINTER(DECL_ASSEMBLER_NAME(array));
    event.kind = PENUMBRA_INST_COUNTER;
    event.counter = (*name == '*' ? name + 1 : name) + ("+" + std::to_string(bytes));
    return event;
}

static bool counter_event(const rtx_insn *insn, event_record *event)
{
    rtx operands = asm_of(insn, counter_asm);
    HOST_WIDE_INT bytes;
    tree array = operands && ASM_OPERANDS_INPUT_LENGTH(operands) == 1
                     ? array_of(ASM_OPERANDS_INPUT(operands, 0), &bytes)
                     : NULL_TREE;
    if (array)
        *event = event_of(array, bytes);
    return array != NULL_TREE;
}

/* The record of a way, once for each array: no code counts its block. */
static void note_way(const rtx_insn *insn)
{
    static std::set<std::string> known;
    rtx operands = asm_of(insn, way_asm);
    std::vector<event_record> events(1);
    for (int i = 0; operands && i < ASM_OPERANDS_INPUT_LENGTH(operands); i++) {
        HOST_WIDE_INT bytes;
        tree array = array_of(ASM_OPERANDS_INPUT(operands, i), &bytes);
        if (!array)
            return;
        events.push_back(event_of(array, bytes));
        events[0] = event_of(array, 0);
        events[0].kind = PENUMBRA_INST_WAY;
        events[0].aux = (uint32_t)(int_size_in_bytes(TREE_TYPE(array)) / 8);
    }
    if (events.size() > 1 && known.insert(events[0].counter).second)
        tables_block(events);
}

void pgo_remove_counted(basic_block block)
{
    rtx_insn *insn, *next;
    event_record event;
    if (!pgo_wanted())
        return;
    FOR_BB_INSNS_SAFE(block, insn, next) {
        note_way(insn);
        if (counter_event(insn, &event) || asm_of(insn, way_asm))
            delete_insn(insn);
    }
}

static void look(rtx_insn *insn, answers *into)
{
    event_record event;
    if (counter_event(insn, &event))
        into->event(event);
}

extern const instrumentation pgo_instrumentation;
const instrumentation pgo_instrumentation = {"pgo", look, NULL, NULL};

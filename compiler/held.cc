#include "gcc.h"
#include "held.h"

#include "arguments.h"

typedef std::set<int> blocks;

struct loop_of_blocks {
    blocks in;
    held where;
    bool used;
};

static std::vector<loop_of_blocks> loops;
static std::map<int, int> loop_of; /* by block */

static const held nowhere = {HELD_NOWHERE, HELD_NOWHERE, HELD_NOWHERE};

/* The counter is in memory there: calls count in it, and edges of exceptions cannot be split. */
static bool is_apart(basic_block block)
{
    edge e;
    edge_iterator ei;
    rtx_insn *insn;
    FOR_EACH_EDGE(e, ei, block->preds)
        if (e->flags & EDGE_COMPLEX)
            return true;
    FOR_EACH_EDGE(e, ei, block->succs)
        if (e->flags & EDGE_COMPLEX)
            return true;
    FOR_BB_INSNS(block, insn)
        if (CALL_P(insn))
            return true;
    return false;
}

/* What leads to `from` without passing what is in the loop already. False: it has a second
 * entry. */
static bool add_before(blocks *in, basic_block from)
{
    std::vector<basic_block> open = {from};
    while (!open.empty()) {
        basic_block block = open.back();
        open.pop_back();
        if (block == ENTRY_BLOCK_PTR_FOR_FN(cfun))
            return false;
        if (!in->insert(block->index).second)
            continue;
        edge e;
        edge_iterator ei;
        FOR_EACH_EDGE(e, ei, block->preds)
            open.push_back(e->src);
    }
    return true;
}

static void remove_apart(blocks *in)
{
    for (auto i = in->begin(); i != in->end();)
        i = is_apart(BASIC_BLOCK_FOR_FN(cfun, *i)) ? in->erase(i) : std::next(i);
}

/* All loops, the natural ones of one header as one, less what is apart; the largest first. */
static std::vector<blocks> find_loops()
{
    std::vector<blocks> found;
    basic_block header;
    FOR_EACH_BB_FN(header, cfun) {
        blocks in = {header->index};
        bool is_loop = false, has_one_entry = true;
        edge e;
        edge_iterator ei;
        FOR_EACH_EDGE(e, ei, header->preds)
            if (e->flags & EDGE_DFS_BACK) {
                is_loop = true;
                has_one_entry = has_one_entry && add_before(&in, e->src);
            }
        if (is_loop && has_one_entry && !is_apart(header)) {
            remove_apart(&in);
            found.push_back(in);
        }
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const blocks &a, const blocks &b) { return a.size() > b.size(); });
    return found;
}

/* ---- registers ---- */

struct registers {
    HARD_REG_SET used; /* in some instruction */
    HARD_REG_SET live; /* somewhere */
};

static registers registers_of(const blocks &in)
{
    registers r;
    CLEAR_HARD_REG_SET(r.used);
    CLEAR_HARD_REG_SET(r.live);
    for (int index : in) {
        basic_block block = BASIC_BLOCK_FOR_FN(cfun, index);
        rtx_insn *insn;
        for (int regno = 0; regno < FIRST_PSEUDO_REGISTER; regno++)
            if (bitmap_bit_p(df_get_live_in(block), regno) ||
                bitmap_bit_p(df_get_live_out(block), regno))
                SET_HARD_REG_BIT(r.live, regno);
        FOR_BB_INSNS(block, insn) {
            if (!NONDEBUG_INSN_P(insn))
                continue;
            df_ref ref;
            FOR_EACH_INSN_DEF(ref, insn)
                SET_HARD_REG_BIT(r.used, DF_REF_REGNO(ref));
            FOR_EACH_INSN_USE(ref, insn)
                SET_HARD_REG_BIT(r.used, DF_REF_REGNO(ref));
        }
    }
    return r;
}

/* Unwinders look for a caller's register where the frame has it: they must not find ours. */
static bool may_change(int regno)
{
    if (fixed_regs[regno] || global_regs[regno] ||
        (crtl->drap_reg && regno == (int)REGNO(crtl->drap_reg)))
        return false;
    return crtl->abi->clobbers_full_reg_p(regno) ||
           (df_regs_ever_live_p(regno) && !crtl->shrink_wrapped &&
            !crtl->shrink_wrapped_separate);
}

static int take_vector(registers *r)
{
    for (int regno = XMM15_REG; TARGET_SSE2 && regno >= XMM8_REG; regno--)
        if (may_change(regno) && !TEST_HARD_REG_BIT(r->used, regno) &&
            !TEST_HARD_REG_BIT(r->live, regno)) {
            SET_HARD_REG_BIT(r->used, regno);
            return regno;
        }
    return HELD_NOWHERE;
}

/* Free ones first. HELD_NOWHERE: all are used. */
static int take_general(const registers &r, bool live)
{
    static const int candidates[] = {R11_REG, R10_REG, R9_REG,  R8_REG,  DI_REG,  SI_REG, CX_REG,
                                     DX_REG,  AX_REG,  R15_REG, R14_REG, R13_REG, R12_REG, BX_REG};
    for (int regno : candidates)
        if (may_change(regno) && !TEST_HARD_REG_BIT(r.used, regno) &&
            TEST_HARD_REG_BIT(r.live, regno) == live)
            return regno;
    return HELD_NOWHERE;
}

static held take_registers(const blocks &in)
{
    registers r = registers_of(in);
    held where = {take_general(r, false), HELD_NOWHERE, HELD_NOWHERE};
    if (where.counter < 0) {
        where = {take_general(r, true), take_vector(&r), HELD_NOWHERE};
        if (where.counter < 0 || where.kept < 0)
            return nowhere;
    }
    if (!flag_shlib || argument.global_counter)
        return where;
    where.scratch = take_vector(&r);
    return where.scratch < 0 ? nowhere : where;
}

/* ---- whether it is worth it ---- */

static int times(const_edge e)
{
    return e->count().initialized_p() ? e->count().to_frequency(cfun) : 0;
}

/* In micro-operations: what back edges save, less what it costs to enter the loop and to leave it,
 * twice: counts are mostly guesses. */
static bool is_worth_it(const blocks &in, const held &where)
{
    enum { SAVED = 3, MOVED = 6, MOVED_KEPT = 8 };
    long back = 0, crossing = 0;
    for (int index : in) {
        basic_block block = BASIC_BLOCK_FOR_FN(cfun, index);
        edge e;
        edge_iterator ei;
        FOR_EACH_EDGE(e, ei, block->preds) {
            if (!in.count(e->src->index))
                crossing += times(e);
            else if (e->flags & EDGE_DFS_BACK)
                back += times(e);
        }
        FOR_EACH_EDGE(e, ei, block->succs)
            if (!in.count(e->dest->index))
                crossing += times(e);
    }
    return back * SAVED > crossing * (where.kept >= 0 ? MOVED_KEPT : MOVED);
}

void held_choose()
{
    loops.clear();
    loop_of.clear();
    if (argument.check != CHECK_COMPILED)
        return;
    mark_dfs_back_edges();
    for (const blocks &in : find_loops()) {
        bool apart = true;
        for (int index : in)
            apart = apart && !loop_of.count(index);
        held where = apart ? take_registers(in) : nowhere;
        if (where.counter < 0 || !is_worth_it(in, where))
            continue;
        for (int index : in)
            loop_of[index] = (int)loops.size();
        loops.push_back({in, where, false});
    }
}

int held_loop(int block)
{
    auto found = loop_of.find(block);
    return found == loop_of.end() ? HELD_NOWHERE : found->second;
}

void held_use(int loop)
{
    if (loop >= 0)
        loops[(size_t)loop].used = true;
}

held held_in(int loop)
{
    return loop >= 0 && loops[(size_t)loop].used ? loops[(size_t)loop].where : nowhere;
}

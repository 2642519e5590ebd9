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

static bool is_complex(basic_block block)
{
    edge e;
    edge_iterator ei;
    FOR_EACH_EDGE(e, ei, block->preds)
        if (e->flags & EDGE_COMPLEX)
            return true;
    FOR_EACH_EDGE(e, ei, block->succs)
        if (e->flags & EDGE_COMPLEX)
            return true;
    return false;
}

static bool has_call(basic_block block)
{
    rtx_insn *insn;
    FOR_BB_INSNS(block, insn)
        if (CALL_P(insn))
            return true;
    return false;
}

/* What leads to `from` without passing what is in the loop already. False: the loop has a second
 * entry, a call, or edges that cannot be split. */
static bool add_before(blocks *in, basic_block from)
{
    std::vector<basic_block> open = {from};
    while (!open.empty()) {
        basic_block block = open.back();
        open.pop_back();
        if (block == ENTRY_BLOCK_PTR_FOR_FN(cfun) || is_complex(block) || has_call(block))
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

/* All loops, the natural ones of one header as one; the largest first. */
static std::vector<blocks> find_loops()
{
    std::vector<blocks> found;
    basic_block header;
    FOR_EACH_BB_FN(header, cfun) {
        blocks in = {header->index};
        bool is_loop = false, can_hold = !is_complex(header) && !has_call(header);
        edge e;
        edge_iterator ei;
        FOR_EACH_EDGE(e, ei, header->preds)
            if (e->flags & EDGE_DFS_BACK) {
                is_loop = true;
                can_hold = can_hold && add_before(&in, e->src);
            }
        if (is_loop && can_hold)
            found.push_back(in);
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const blocks &a, const blocks &b) { return a.size() > b.size(); });
    return found;
}

/* The registers that a loop uses, or that are live somewhere in it. */
static HARD_REG_SET used_in(const blocks &in)
{
    HARD_REG_SET used;
    CLEAR_HARD_REG_SET(used);
    for (int index : in) {
        basic_block block = BASIC_BLOCK_FOR_FN(cfun, index);
        rtx_insn *insn;
        for (int regno = 0; regno < FIRST_PSEUDO_REGISTER; regno++)
            if (bitmap_bit_p(df_get_live_in(block), regno) ||
                bitmap_bit_p(df_get_live_out(block), regno))
                SET_HARD_REG_BIT(used, regno);
        FOR_BB_INSNS(block, insn) {
            if (!NONDEBUG_INSN_P(insn))
                continue;
            df_ref ref;
            FOR_EACH_INSN_DEF(ref, insn)
                SET_HARD_REG_BIT(used, DF_REF_REGNO(ref));
            FOR_EACH_INSN_USE(ref, insn)
                SET_HARD_REG_BIT(used, DF_REF_REGNO(ref));
        }
    }
    return used;
}

/* A register that is not used, and is then; HELD_NOWHERE: there is none. One that calls preserve is
 * as good where the function saves it anyway. */
static int take_register(HARD_REG_SET *used)
{
    static const int candidates[] = {R11_REG, R10_REG, R9_REG,  R8_REG,  DI_REG,  SI_REG, CX_REG,
                                     DX_REG,  AX_REG,  R15_REG, R14_REG, R13_REG, R12_REG, BX_REG};
    for (int regno : candidates) {
        bool free = crtl->abi->clobbers_full_reg_p(regno) || df_regs_ever_live_p(regno);
        if (!free || fixed_regs[regno] || global_regs[regno] || TEST_HARD_REG_BIT(*used, regno))
            continue;
        SET_HARD_REG_BIT(*used, regno);
        return regno;
    }
    return HELD_NOWHERE;
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
        if (!apart)
            continue;
        HARD_REG_SET used = used_in(in);
        bool addressed = flag_shlib && !argument.global_counter;
        held where = {take_register(&used), addressed ? take_register(&used) : HELD_NOWHERE};
        if (where.counter < 0 || (addressed && where.address < 0))
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
    bool holds = loop >= 0 && loops[(size_t)loop].used;
    return holds ? loops[(size_t)loop].where : held{HELD_NOWHERE, HELD_NOWHERE};
}

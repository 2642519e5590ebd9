#include "gcc.h"
#include "frame.h"

/* What is known of a register: the frame's address less it. */
struct distance {
    bool known;
    int bytes;

    bool operator==(const distance &other) const
    {
        return known == other.known && (!known || bytes == other.bytes);
    }
};

struct state {
    bool reached;
    distance sp, bp;
};

static std::vector<state> heads, lasts; /* by block */

static const distance unknown = {false, 0};

static bool is_register(const_rtx x, unsigned regno)
{
    return REG_P(x) && REGNO(x) == regno;
}

static distance moved(const distance &from, HOST_WIDE_INT up)
{
    return from.known ? distance{true, from.bytes - (int)up} : unknown;
}

/* Of the value of an address, as far as it is made of the two registers. */
static distance value_of(const state &s, const_rtx x)
{
    if (is_register(x, SP_REG))
        return s.sp;
    if (is_register(x, BP_REG))
        return s.bp;
    if (GET_CODE(x) == PLUS && CONST_INT_P(XEXP(x, 1)))
        return moved(value_of(s, XEXP(x, 0)), INTVAL(XEXP(x, 1)));
    return unknown;
}

/* push and pop: what addressing a memory operand does to the stack pointer. */
static void address_operand(const_rtx operand, state *to)
{
    if (!MEM_P(operand))
        return;
    const_rtx address = XEXP(operand, 0);
    HOST_WIDE_INT size = GET_MODE_SIZE(GET_MODE(operand)).to_constant();
    if (GET_RTX_CLASS(GET_CODE(address)) != RTX_AUTOINC ||
        !is_register(XEXP(address, 0), SP_REG))
        return;
    if (GET_CODE(address) == PRE_DEC)
        to->sp = moved(to->sp, -size);
    else if (GET_CODE(address) == POST_INC)
        to->sp = moved(to->sp, size);
    else if (GET_CODE(address) == PRE_MODIFY)
        to->sp = value_of(*to, XEXP(address, 1));
    else
        to->sp = unknown;
}

/* All of an instruction's parts happen at once. */
static void set(const state &before, const_rtx part, state *to)
{
    if (GET_CODE(part) == CLOBBER && is_register(XEXP(part, 0), BP_REG))
        to->bp = unknown;
    if (GET_CODE(part) != SET)
        return;
    address_operand(SET_DEST(part), to);
    address_operand(SET_SRC(part), to);
    if (is_register(SET_DEST(part), SP_REG))
        to->sp = value_of(before, SET_SRC(part));
    else if (is_register(SET_DEST(part), BP_REG))
        to->bp = value_of(before, SET_SRC(part));
}

static void execute(const rtx_insn *insn, state *s)
{
    const state before = *s;
    const_rtx pattern = PATTERN(insn);
    if (GET_CODE(pattern) != PARALLEL) {
        set(before, pattern, s);
        return;
    }
    for (int i = 0; i < XVECLEN(pattern, 0); i++)
        set(before, XVECEXP(pattern, 0, i), s);
}

/* Whether anything has changed. */
static bool meet(state *at, const state &with)
{
    state met = *at;
    if (!at->reached)
        met = with;
    else {
        met.sp = met.sp == with.sp ? met.sp : unknown;
        met.bp = met.bp == with.bp ? met.bp : unknown;
    }
    bool changed = !at->reached || !(met.sp == at->sp) || !(met.bp == at->bp);
    *at = met;
    return changed;
}

/* Where an exception lands, the arguments that the call has pushed are gone. */
static state landed(const state &thrown, basic_block block)
{
    state s = thrown;
    if (rtx note = find_reg_note(BB_END(block), REG_ARGS_SIZE, NULL_RTX))
        s.sp = moved(s.sp, INTVAL(XEXP(note, 0)));
    return s;
}

static bool flow_through(basic_block block)
{
    state s = heads[block->index];
    rtx_insn *insn;
    FOR_BB_INSNS(block, insn) {
        if (!NONDEBUG_INSN_P(insn))
            continue;
        lasts[block->index] = s;
        execute(insn, &s);
    }
    bool changed = false;
    edge e;
    edge_iterator ei;
    FOR_EACH_EDGE(e, ei, block->succs)
        if (e->dest != EXIT_BLOCK_PTR_FOR_FN(cfun))
            changed |= meet(&heads[e->dest->index], e->flags & EDGE_EH ? landed(s, block) : s);
    return changed;
}

/* A call has pushed the return address. */
void frame_find()
{
    const state entered = {true, {true, UNITS_PER_WORD}, unknown};
    basic_block block;
    heads.assign(last_basic_block_for_fn(cfun), state{false, unknown, unknown});
    lasts = heads;
    heads[single_succ(ENTRY_BLOCK_PTR_FOR_FN(cfun))->index] = entered;
    bool changed = true;
    while (changed) {
        changed = false;
        FOR_EACH_BB_FN(block, cfun)
            if (heads[block->index].reached)
                changed |= flow_through(block);
    }
}

frame_place frame_at(int block, frame_where where)
{
    const state &s = (where == FRAME_AT_HEAD ? heads : lasts)[block];
    if (!s.reached)
        return {false, false, 0};
    if (s.sp.known)
        return {true, false, s.sp.bytes};
    return {s.bp.known, true, s.bp.bytes};
}

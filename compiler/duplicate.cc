#include "gcc.h"
#include "duplicate.h"

#include "arguments.h"
#include "checks.h"
#include "edges.h"
#include "held.h"
#include "layout.h"
#include "operations.h"
#include "partial.h"
#include "paths.h"
#include "pgo.h"
#include "report.h"

/* An edge of the checking code on which the counter is counted. */
struct checked_edge {
    edge on;
    int scratch;       /* a dead register, or -1 */
    basic_block check; /* where it has been split */
    basic_block from;
    bool entry, back;
};

struct duplication {
    std::vector<basic_block> copied;  /* in the order of the code */
    std::vector<bool> is_copied;      /* by index */
    std::vector<bool> goes_on;        /* by index: no check follows within the function's way */
    std::vector<basic_block> copy_of; /* by the original's index; NULL: not copied */
    std::set<int> copies;             /* by index */
    std::set<int> slow_paths;         /* by index */
    std::map<int, basic_block> label_of; /* what has been split off a label, by its index */
    std::map<int, int> known_as;         /* blocks split off others, by index: the other's */
    std::map<int, basic_block> leads_to; /* checks, by index */
    std::vector<checked_edge> checked;
    std::vector<checked_edge> counted;   /* entries and back edges without a check */
    bool counts_entries;
};

static bool is_marked(const std::vector<bool> &marks, const_basic_block block)
{
    return (size_t)block->index < marks.size() && marks[block->index];
}

static basic_block copy_of(const duplication &d, const_basic_block block)
{
    return (size_t)block->index < d.copy_of.size() ? d.copy_of[block->index] : NULL;
}

/* What edges.h knows the block as. */
static int known_index(const duplication &d, const_basic_block block)
{
    auto known = d.known_as.find(block->index);
    return known == d.known_as.end() ? block->index : known->second;
}

/* The loop of held.h that the block is in, in the checking code. Checks are where they lead to. */
static int loop_of(const duplication &d, const_basic_block block)
{
    auto leads = d.leads_to.find(block->index);
    const_basic_block to = leads == d.leads_to.end() ? block : leads->second;
    return d.copies.count(to->index) ? HELD_NOWHERE : held_loop(known_index(d, to));
}

static bool has_abnormal_predecessor(basic_block block)
{
    edge e;
    edge_iterator ei;
    FOR_EACH_EDGE(e, ei, block->preds)
        if (e->flags & EDGE_COMPLEX)
            return true;
    return false;
}

static rtx_insn *last_label(basic_block block)
{
    rtx_insn *last = NULL;
    for (rtx_insn *i = BB_HEAD(block); LABEL_P(i) || NOTE_INSN_BASIC_BLOCK_P(i); i = NEXT_INSN(i)) {
        last = i;
        if (i == BB_END(block))
            break;
    }
    return last;
}

/* Ordinary edges need not go through the label that abnormal ones go to. */
static void redirect_ordinary(basic_block from, basic_block to)
{
    bool changed = true;
    while (changed) {
        changed = false;
        edge e;
        edge_iterator ei;
        FOR_EACH_EDGE(e, ei, from->preds) {
            if ((e->flags & EDGE_COMPLEX) || e->src == ENTRY_BLOCK_PTR_FOR_FN(cfun) ||
                EDGE_COUNT(e->src->succs) != 1)
                continue;
            redirect_edge_and_branch_force(e, to);
            changed = true;
            break;
        }
    }
}

static basic_block split_off_jump(duplication *d, basic_block block)
{
    basic_block jump = split_block(block, PREV_INSN(BB_END(block)))->dest;
    d->known_as[jump->index] = known_index(*d, block);
    return jump;
}

/* A block for each label where abnormal edges arrive, and for each jump through a table. */
static void split_blocks(duplication *d, std::vector<basic_block> *single)
{
    std::vector<basic_block> all;
    basic_block block;
    FOR_EACH_BB_FN(block, cfun)
        all.push_back(block);
    for (basic_block b : all) {
        if (has_abnormal_predecessor(b)) {
            basic_block rest = split_block(b, last_label(b))->dest;
            d->label_of[rest->index] = b;
            d->known_as[rest->index] = b->index;
            redirect_ordinary(b, rest);
            single->push_back(b);
            b = rest;
        }
        if (can_duplicate_block_p(b))
            continue;
        rtx_insn *jump = BB_END(b);
        if (tablejump_p(jump, NULL, NULL) && jump != BB_HEAD(b))
            b = split_off_jump(d, b);
        single->push_back(b);
    }
}

/* Checks without duplicates. */
static bool checks_alone()
{
    return argument.how == VARIANT_ENTRIES || argument.how == VARIANT_BACK_EDGES;
}

static void choose_copied(duplication *d, const std::vector<basic_block> &single)
{
    d->is_copied.assign(last_basic_block_for_fn(cfun), false);
    basic_block block;
    FOR_EACH_BB_FN(block, cfun)
        d->is_copied[block->index] = !checks_alone();
    for (basic_block b : single)
        d->is_copied[b->index] = false;
    d->goes_on = d->is_copied;
    if (argument.how == VARIANT_PARTIAL) {
        partial_blocks without = partial_choose(d->is_copied, d->counts_entries);
        for (size_t i = 0; i < d->is_copied.size(); i++) {
            d->is_copied[i] = d->is_copied[i] && !without.top[i] && !without.bottom[i];
            d->goes_on[i] = d->goes_on[i] && !without.top[i];
        }
    }
    FOR_EACH_BB_FN(block, cfun)
        if (d->is_copied[block->index])
            d->copied.push_back(block);
}

static bitmap live_at(const duplication &d, basic_block block)
{
    auto label = d.label_of.find(block->index);
    return df_get_live_in(label == d.label_of.end() ? block : label->second);
}

/* A general register that calls may change and nothing uses; -1: none. Where exceptions land, two
 * registers are set by the unwinder, which liveness does not show. */
static int dead_register(const duplication &d, basic_block block)
{
    static const int candidates[] = {R11_REG, R10_REG, R9_REG, R8_REG, DI_REG,
                                     SI_REG,  CX_REG,  DX_REG, AX_REG};
    bitmap live = live_at(d, block);
    bool lands = d.label_of.count(block->index) > 0;
    for (int regno : candidates) {
        if (fixed_regs[regno] || global_regs[regno] || !crtl->abi->clobbers_full_reg_p(regno) ||
            bitmap_bit_p(live, regno))
            continue;
        if (lands && (regno == AX_REG || regno == DX_REG))
            continue;
        return regno;
    }
    return -1;
}

static bool flags_live(const duplication &d, const_edge e)
{
    return bitmap_bit_p(live_at(d, e->dest), FLAGS_REG);
}

/* A block that is not copied, but has instructions of its own. */
static bool is_single(const duplication &d, basic_block block)
{
    return !is_marked(d.is_copied, block) && !has_abnormal_predecessor(block) &&
           paths_has(known_index(d, block));
}

static bool begins_paths(const duplication &d, const_edge e)
{
    return !is_marked(d.goes_on, e->src) || (e->flags & EDGE_DFS_BACK);
}

/* Whether the edge has a check: an entry, a back edge, or one from what is not copied, into a copy;
 * also an entry that is counted itself. */
static bool is_checked(const duplication &d, const_edge e, bool entry)
{
    if (checks_alone())
        return argument.how == VARIANT_ENTRIES
                   ? entry
                   : (e->flags & (EDGE_DFS_BACK | EDGE_COMPLEX)) == EDGE_DFS_BACK;
    if (!is_marked(d.is_copied, e->dest))
        return (entry && d.counts_entries) || (layout_is_table(e->src) && edges_leave(e->src)) ||
               (is_single(d, e->dest) && begins_paths(d, e));
    return begins_paths(d, e);
}

static const char *choose_checked(duplication *d)
{
    basic_block block;
    FOR_ALL_BB_FN(block, cfun) {
        bool entry = block == ENTRY_BLOCK_PTR_FOR_FN(cfun);
        edge e;
        edge_iterator ei;
        FOR_EACH_EDGE(e, ei, block->succs) {
            bool back = e->flags & EDGE_DFS_BACK;
            if (is_checked(*d, e, entry)) {
                if (e->flags & EDGE_COMPLEX)
                    return "an abnormal edge leads into the middle of code";
                if (flags_live(*d, e))
                    return "the flags are live at a check";
                d->checked.push_back({e, dead_register(*d, e->dest), NULL, block, entry, back});
                if (back && loop_of(*d, block) == loop_of(*d, e->dest))
                    held_use(loop_of(*d, block));
            } else if (argument.counting && (entry || back) && !(e->flags & EDGE_COMPLEX) &&
                       !flags_live(*d, e)) {
                d->counted.push_back({e, -1, NULL, block, entry, back});
            }
        }
    }
    return NULL;
}

static void split_checked(duplication *d)
{
    for (checked_edge &c : d->checked) {
        basic_block to = c.on->dest;
        c.check = layout_split(c.on);
        d->leads_to[c.check->index] = to;
    }
    for (checked_edge &c : d->counted) {
        basic_block to = c.on->dest, counts = layout_split(c.on);
        count_emit(counts, false, c.entry, c.back);
        d->leads_to[counts->index] = to;
    }
}

static void copy_blocks(duplication *d)
{
    d->copy_of.assign(last_basic_block_for_fn(cfun), NULL);
    for (basic_block block : d->copied) {
        basic_block copy = duplicate_block(block, NULL, NULL);
        d->known_as[copy->index] = known_index(*d, block);
        layout_place_last(copy);
        copy->count = profile_count::zero();
        d->copy_of[block->index] = copy;
        d->copies.insert(copy->index);
    }
}

/* Edges between copied blocks lead to the copies; those to checks, labels and tables stay. */
static void redirect_copies(const duplication &d)
{
    for (basic_block block : d.copied) {
        basic_block copy = copy_of(d, block);
        bool changed = true;
        while (changed) {
            changed = false;
            edge e;
            edge_iterator ei;
            FOR_EACH_EDGE(e, ei, copy->succs) {
                basic_block to = copy_of(d, e->dest);
                if (!to || (e->flags & EDGE_COMPLEX))
                    continue;
                redirect_edge_and_branch_force(e, to);
                changed = true;
                break;
            }
        }
        edge e;
        edge_iterator ei;
        FOR_EACH_EDGE(e, ei, copy->succs)
            layout_set_crossing(e);
    }
}

static basic_block empty_block(basic_block like)
{
    basic_block block = create_basic_block(NULL, NULL, EXIT_BLOCK_PTR_FOR_FN(cfun)->prev_bb);
    BB_COPY_PARTITION(block, like);
    layout_place_last(block);
    block->count = profile_count::zero();
    return block;
}

/* The slow path between a check and the copy. */
static basic_block slow_path(duplication *whole, const checked_edge &c, basic_block to)
{
    const duplication &d = *whole;
    basic_block slow = empty_block(c.check);
    whole->slow_paths.insert(slow->index);
    held where = held_in(loop_of(d, c.check));
    if (where.counter >= 0)
        check_emit_store(slow, where);
    check_emit_sample(slow, c.entry ? 0 : operations_red_zone());
    basic_block copy = copy_of(d, to);
    layout_set_crossing(make_single_succ_edge(slow, copy ? copy : to, EDGE_FALLTHRU));
    if (copy)
        layout_place_before(slow, copy);
    event_record event;
    if (checks_alone())
        return slow;
    if (c.entry)
        operations_enter(slow, false);
    else if (layout_is_table(c.from) &&
             edges_event(known_index(d, c.from), known_index(d, to), &event))
        operations_at_end(slow, event);
    path_operations paths = {PENUMBRA_INST_PATH_BEGIN};
    if (is_single(d, to))
        paths.insert(paths.end(), {PENUMBRA_INST_PATH_BLOCK, PENUMBRA_INST_PATH_END});
    paths_at_end(slow, known_index(d, to), FRAME_AT_HEAD, paths);
    return slow;
}

static void set_unlikely(edge leaves, edge stays)
{
    leaves->probability = profile_probability::very_unlikely();
    stays->probability = leaves->probability.invert();
    layout_set_crossing(leaves);
    layout_set_crossing(stays);
}

/* Whether the block jumps along the edge by an instruction that does nothing else, and depends on
 * the flags alone. */
static bool jumps_by_flags(const_edge e)
{
    rtx_insn *jump = BB_END(e->src);
    if (e->src == ENTRY_BLOCK_PTR_FOR_FN(cfun) || (e->flags & EDGE_FALLTHRU) ||
        !any_condjump_p(jump) || !onlyjump_p(jump))
        return false;
    rtx choice = SET_SRC(pc_set(jump)), comparison = XEXP(choice, 0);
    return GET_CODE(XEXP(choice, 1)) == LABEL_REF && COMPARISON_P(comparison) &&
           REG_P(XEXP(comparison, 0)) && REGNO(XEXP(comparison, 0)) == FLAGS_REG;
}

/* The program's own conditional jump becomes the site; the check that is on it is moved out of the
 * way. */
static bool fill_conditional_site(const checked_edge &c)
{
    edge leaves = find_edge(c.from, c.check);
    if (!leaves || !jumps_by_flags(leaves))
        return false;
    basic_block to = single_succ(c.check);
    check_make_site(BB_END(c.from), block_label(to));
    edge stays = make_edge(c.from, to, 0);
    stays->probability = leaves->probability;
    leaves->probability = profile_probability::very_unlikely();
    layout_set_crossing(stays);
    layout_place_last(c.check);
    return true;
}

/* A check that stands elsewhere, and on the edge what leads to it: a site, or a branch. That
 * block. */
static basic_block fill_site(const checked_edge &c)
{
    bool patched = argument.check == CHECK_PATCHED;
    if (patched && fill_conditional_site(c))
        return c.check;
    edge stays = single_succ_edge(c.check);
    basic_block to = stays->dest, check = empty_block(c.check);
    bool follows = c.check->next_bb == to;
    bool jumps = !follows && !patched;
    if (!patched)
        check_emit_switch(c.check, block_label(jumps ? to : check), !jumps);
    else if (follows)
        check_emit_site(c.check, block_label(check));
    else
        check_emit_jump_site(c.check, block_label(to), block_label(check));
    stays->flags = (stays->flags & ~EDGE_FALLTHRU) | (follows ? EDGE_FALLTHRU : 0);
    set_unlikely(make_edge(c.check, check, jumps ? EDGE_FALLTHRU : 0), stays);
    if (patched && !follows)
        emit_barrier_after_bb(c.check);
    layout_set_crossing(make_single_succ_edge(check, to, EDGE_FALLTHRU));
    return check;
}

/* Where the checked block follows the check, the check jumps to the slow path; else it jumps to the
 * checked block, and the slow path is what it falls through to. */
static void fill_check(duplication *d, const checked_edge &c)
{
    basic_block check = argument.check == CHECK_COMPILED ? c.check : fill_site(c);
    edge stays = single_succ_edge(check);
    basic_block to = stays->dest;
    basic_block slow = slow_path(d, c, to);
    if (argument.counting)
        count_emit(check, true, c.entry, c.back);
    bool follows = check->next_bb == to;
    check_emit(check, block_label(follows ? slow : to), follows, c.scratch,
               held_in(loop_of(*d, c.check)));
    edge leaves = make_edge(check, slow, follows ? 0 : EDGE_FALLTHRU);
    stays->flags = (stays->flags & ~EDGE_FALLTHRU) | (follows ? EDGE_FALLTHRU : 0);
    set_unlikely(leaves, stays);
}

/* What is to be done on a way on from a copied block, by which paths end: it leads out of the
 * copies, or where abnormal edges do. */
static path_operations path_on(const duplication &d, const_basic_block copy, basic_block leads,
                               basic_block to)
{
    bool same = known_index(d, copy) == known_index(d, to);
    if (d.copies.count(leads->index))
        return paths_end_before(known_index(d, to))
                   ? path_operations{PENUMBRA_INST_PATH_END, PENUMBRA_INST_PATH_BEGIN}
                   : path_operations{};
    if (leads == to && !same && is_single(d, to))
        return {PENUMBRA_INST_PATH_BLOCK, PENUMBRA_INST_PATH_END};
    return {PENUMBRA_INST_PATH_END};
}

static void insert_on(const duplication &d, basic_block copy, edge way, bool counts)
{
    auto check = d.leads_to.find(way->dest->index);
    basic_block to = check == d.leads_to.end() ? way->dest : check->second;
    path_operations paths = path_on(d, copy, way->dest, to);
    int from = known_index(d, copy), known = known_index(d, to);
    event_record event;
    counts = counts && edges_event(from, known, &event);
    if (!counts && (paths.empty() || !paths_are_observed()))
        return;
    /* what has been split off the block is still its end */
    frame_where place = from == known && way->dest == to ? FRAME_BEFORE_LAST : FRAME_AT_HEAD;
    basic_block between = layout_split(way);
    if (counts)
        operations_at_end(between, event);
    paths_at_end(between, known, place, paths);
}

static void insert_on_ways(const duplication &d, basic_block copy)
{
    std::vector<edge> ways;
    edge e;
    edge_iterator ei;
    bool counts = edges_leave(copy);
    FOR_EACH_EDGE(e, ei, copy->succs)
        if (!(e->flags & EDGE_COMPLEX) && e->dest != EXIT_BLOCK_PTR_FOR_FN(cfun))
            ways.push_back(e);
    for (edge way : ways)
        insert_on(d, copy, way, counts);
}

/* A slow path has the counter in memory already. */
static bool moves_counter(const duplication &d, const_edge e)
{
    return loop_of(d, e->src) != loop_of(d, e->dest) && !d.slow_paths.count(e->dest->index) &&
           (held_in(loop_of(d, e->src)).counter >= 0 || held_in(loop_of(d, e->dest)).counter >= 0);
}

/* Into its register where a loop is entered that holds it, and back to memory where it is left. */
static void move_counter(const duplication &d)
{
    std::vector<edge> ways;
    basic_block block;
    FOR_ALL_BB_FN(block, cfun) {
        edge e;
        edge_iterator ei;
        FOR_EACH_EDGE(e, ei, block->succs)
            if (moves_counter(d, e))
                ways.push_back(e);
    }
    for (edge way : ways) {
        held from = held_in(loop_of(d, way->src)), to = held_in(loop_of(d, way->dest));
        basic_block leads = way->dest, between = layout_split(way);
        if (from.counter >= 0) {
            check_emit_store(between, from);
            layout_place_last(between); /* it is not to stand in the loop */
            layout_place_before(between, leads);
        }
        if (to.counter >= 0)
            check_emit_load(between, to);
    }
}

const char *duplicate_function()
{
    duplication d;
    std::vector<basic_block> single;
    layout_enter();
    held_choose();
    edges_number();
    if (const char *without = paths_number())
        report_without_paths(without);
    d.counts_entries = operations_at_entry();
    split_blocks(&d, &single);
    mark_dfs_back_edges();
    choose_copied(&d, single);
    const char *reason = choose_checked(&d);
    if (!reason) {
        operations_begin();
        split_checked(&d);
        copy_blocks(&d);
        redirect_copies(d);
        for (const checked_edge &c : d.checked)
            fill_check(&d, c);
        for (basic_block block : d.copied) {
            operations_insert(copy_of(d, block));
            paths_in_block(copy_of(d, block), known_index(d, block));
            insert_on_ways(d, copy_of(d, block));
        }
        move_counter(d);
        paths_mark();
        for (basic_block block : d.copied) {
            pgo_remove_counted(block);
            pgo_remove_counted(copy_of(d, block));
        }
    }
    layout_leave();
    paths_mark_ends();
    return reason;
}

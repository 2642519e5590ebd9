#include "gcc.h"
#include "paths.h"

#include "arguments.h"
#include "checks.h"
#include "instrument.h"
#include "operations.h"
#include "penumbra/inst.h"

/* A block of the function, by its index. */
struct path_block {
    rtx_insn *first, *last; /* instructions; NULL: it has none */
    int record;             /* of tables.h, -1: none yet */
    bool ends_behind, ends_before;
    bool leaves; /* the function, or for no block that is known, by its last instruction */
};

static bool observed; /* in this function */
static std::vector<path_block> blocks;
static std::map<std::pair<int, std::pair<int, bool>>, int> others; /* BEGIN and END */

bool paths_are_observed()
{
    return observed;
}

bool paths_has(int block)
{
    return observed && (size_t)block < blocks.size() && blocks[block].first;
}

bool paths_end_behind(int block)
{
    return paths_has(block) && blocks[block].ends_behind;
}

bool paths_end_before(int block)
{
    return observed && (size_t)block < blocks.size() && blocks[block].ends_before;
}

/* ---- the function ---- */

static bool abnormal(const_edge e)
{
    return e->flags & EDGE_COMPLEX && e->dest != EXIT_BLOCK_PTR_FOR_FN(cfun);
}

static path_block look_at(basic_block block)
{
    path_block b = {NULL, NULL, -1, !can_duplicate_block_p(block), false,
                    EDGE_COUNT(block->succs) == 0};
    rtx_insn *insn;
    edge e;
    edge_iterator ei;
    FOR_BB_INSNS(block, insn)
        if (active_insn_p(insn)) {
            b.first = b.first ? b.first : insn;
            b.last = insn;
        }
    FOR_EACH_EDGE(e, ei, block->preds)
        b.ends_before |= abnormal(e);
    FOR_EACH_EDGE(e, ei, block->succs)
        b.leaves |= e->dest == EXIT_BLOCK_PTR_FOR_FN(cfun) ||
                    (abnormal(e) && !(e->flags & EDGE_EH));
    b.leaves &= b.last && (JUMP_P(b.last) || CALL_P(b.last));
    return b;
}

static bool has_way_on(basic_block block)
{
    edge e;
    edge_iterator ei;
    FOR_EACH_EDGE(e, ei, block->succs)
        if (!(e->flags & EDGE_COMPLEX) && e->dest != EXIT_BLOCK_PTR_FOR_FN(cfun))
            return true;
    return false;
}

const char *paths_number()
{
    basic_block block;
    blocks.assign(last_basic_block_for_fn(cfun), path_block{NULL, NULL, -1, false, false, false});
    others.clear();
    observed = false;
    if (!arguments_want("paths"))
        return NULL;
    frame_find();
    FOR_EACH_BB_FN(block, cfun) {
        path_block &b = blocks[block->index];
        b = look_at(block);
        if (!frame_at(block->index, FRAME_AT_HEAD).known ||
            (b.leaves && !frame_at(block->index, FRAME_BEFORE_LAST).known))
            return "its frame has no known distance from a register";
        if (b.leaves && has_way_on(block))
            return "a conditional jump leaves it";
    }
    observed = true;
    return NULL;
}

/* ---- operations ---- */

static value_record record_of(penumbra_inst_path what, const frame_place &frame, int red_zone)
{
    value_record value;
    /* the number has been pushed, below the red zone, when the stack pointer is */
    int pushed = frame.by_frame_pointer ? 0 : red_zone + UNITS_PER_WORD;
    value.kind = PENUMBRA_INST_PATH;
    value.index = what;
    value.frame = frame.distance + pushed;
    return value;
}

static void emit(int record, const frame_place &frame, rtx_insn *before, int red_zone)
{
    operation_emit_frame(record, frame.by_frame_pointer, {before, red_zone, false});
}

static void emit_other(penumbra_inst_path what, const frame_place &frame, rtx_insn *before,
                       int red_zone)
{
    value_record value = record_of(what, frame, red_zone);
    std::pair<int, std::pair<int, bool>> key = {value.frame, {what, frame.by_frame_pointer}};
    auto known = others.find(key);
    if (known == others.end())
        known = others.insert({key, tables_value(value)}).first;
    emit(known->second, frame, before, red_zone);
}

static void emit_block(int block, rtx_insn *before)
{
    path_block &b = blocks[block];
    frame_place frame = frame_at(block, FRAME_AT_HEAD);
    if (b.record < 0) {
        value_record value = record_of(PENUMBRA_INST_PATH_BLOCK, frame, operations_red_zone());
        value.line = INSN_HAS_LOCATION(b.first) ? (uint32_t)insn_line(b.first) : 0;
        b.record = tables_value(value);
    }
    emit(b.record, frame, before, operations_red_zone());
}

static rtx_insn *last_active(basic_block block)
{
    rtx_insn *insn;
    FOR_BB_INSNS_REVERSE(block, insn)
        if (active_insn_p(insn))
            return insn;
    return NULL;
}

void paths_in_block(basic_block where, int block)
{
    if (!paths_has(block))
        return;
    rtx_insn *head = bb_note(where), *last = last_active(where);
    emit_block(block, emit_note_after(NOTE_INSN_DELETED, head));
    if (blocks[block].leaves && last)
        emit_other(PENUMBRA_INST_PATH_END, frame_at(block, FRAME_BEFORE_LAST), last,
                   operations_red_zone());
}

void paths_at_label(basic_block where)
{
    if (paths_end_before(where->index))
        emit_other(PENUMBRA_INST_PATH_BEGIN, frame_at(where->index, FRAME_AT_HEAD),
                   emit_note_after(NOTE_INSN_DELETED, bb_note(where)), operations_red_zone());
}

void paths_at_end(basic_block where, int block, frame_where place, const path_operations &all)
{
    if (!observed || all.empty())
        return;
    frame_place frame = frame_at(block, place);
    rtx_insn *at = emit_note_after(NOTE_INSN_DELETED, BB_END(where));
    for (penumbra_inst_path what : all)
        if (what != PENUMBRA_INST_PATH_BLOCK)
            emit_other(what, frame, at, operations_red_zone());
        else if (paths_has(block))
            emit_block(block, at);
}

/* ---- where blocks are ---- */

/* A piece of a block, in the code that is not copied: .LpnbP and its number is where it begins,
 * .LpnbQ where it ends, .LpnbN how many instructions it has. */
struct piece {
    int instructions;
    bool begun, ended; /* has been written */
};

enum { PIECE_MOST = 200 }; /* instructions: what there are numbers for */

static std::vector<piece> pieces;           /* of the unit */
static std::map<int, size_t> begins, ends;  /* by an instruction of the function: its piece */
static tree function_of_pieces;

static void mark_piece(int record, rtx_insn *before)
{
    begins[INSN_UID(place_emit((int)pieces.size(), record, before))] = pieces.size();
    pieces.push_back({0, false, false});
}

static void mark(const path_block &b)
{
    rtx_insn *end = NEXT_INSN(BB_END(BLOCK_FOR_INSN(b.first)));
    int count = 0;
    mark_piece(b.record, b.first);
    for (rtx_insn *insn = b.first; insn != end; insn = NEXT_INSN(insn))
        if (active_insn_p(insn) && !check_is_ours(insn) && count++ == PIECE_MOST) {
            mark_piece(b.record, insn);
            count = 1;
        }
}

void paths_mark()
{
    begins.clear();
    ends.clear();
    function_of_pieces = current_function_decl;
    for (const path_block &b : blocks)
        if (observed && b.record >= 0)
            mark(b);
}

/* Whether all of a block is a jump through a table that has been split off another. */
static bool is_split_off(const rtx_insn *insn, const_basic_block block, const_basic_block from)
{
    return tablejump_p(insn, NULL, NULL) && single_pred_p(const_cast<basic_block>(block)) &&
           single_pred(const_cast<basic_block>(block)) == from;
}

void paths_mark_ends()
{
    size_t at = 0;
    rtx_insn *last = NULL;
    for (rtx_insn *insn = get_insns(); insn; insn = NEXT_INSN(insn)) {
        if (!active_insn_p(insn))
            continue;
        auto begun = begins.find(INSN_UID(insn));
        const_basic_block block = BLOCK_FOR_INSN(insn);
        bool goes_on = last && (BLOCK_FOR_INSN(last) == block ||
                                is_split_off(insn, block, BLOCK_FOR_INSN(last)));
        if (last && (!goes_on || begun != begins.end()))
            ends[INSN_UID(last)] = at;
        last = begun != begins.end() || goes_on ? insn : NULL;
        if (begun != begins.end())
            at = begun->second;
        else if (last)
            pieces[at].instructions += !check_is_ours(insn);
    }
    if (last)
        ends[INSN_UID(last)] = at;
}

/* The assembly of an instruction has been written. */
static void written(FILE *assembly, rtx_insn *insn, rtx *, int)
{
    if (current_function_decl != function_of_pieces)
        return;
    auto begun = begins.find(INSN_UID(insn)), ended = ends.find(INSN_UID(insn));
    if (begun != begins.end())
        pieces[begun->second].begun = true;
    if (ended != ends.end() && !pieces[ended->second].ended) {
        pieces[ended->second].ended = true;
        fprintf(assembly, ".LpnbQ%d:\n", (int)ended->second);
    }
}

void paths_begin()
{
    if (arguments_want("paths"))
        targetm.asm_out.final_postscan_insn = written;
}

/* An end that was not written, since a later pass has changed the last instruction: of the piece no
 * more is known than where it begins. */
void paths_write(FILE *assembly)
{
    for (size_t i = 0; i < pieces.size(); i++) {
        if (!pieces[i].begun)
            continue;
        fprintf(assembly, "\t.set\t.LpnbN%d, %d\n", (int)i, std::max(pieces[i].instructions, 1));
        if (!pieces[i].ended)
            fprintf(assembly, "\t.set\t.LpnbQ%d, .LpnbP%d+1\n", (int)i, (int)i);
    }
}

/* Operations of paths stand on edges, and at the ends of blocks. */
static void look(rtx_insn *, answers *) {}

extern const instrumentation paths_instrumentation;
const instrumentation paths_instrumentation = {"paths", look, NULL, NULL};

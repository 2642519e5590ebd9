/* Field accesses: reads and writes, by type and field, of the loads and stores that the compiler
 * made of them. A member of a nested struct counts for the members that contain it, too, at depth
 * 1 and more. */
#include "gcc.h"
#include "accesses.h"
#include "bitfields.h"
#include "instrument.h"

#include "penumbra/inst.h"
#include "types.h"

struct member_access {
    rtx_insn *insn;
    rtx mem;
    uint8_t kind;
    unsigned depth;
};

static void add(int field, member_access *a, answers *into)
{
    event_record event;
    event.kind = a->kind;
    event.aux = MEM_SIZE_KNOWN_P(a->mem) ? (uint32_t)MEM_SIZE(a->mem).to_constant() : 0;
    event.site = (uint8_t)(a->depth < 255 ? a->depth : 255);
    bool is_write = a->kind == PENUMBRA_INST_WRITE;
    for (int meant : bitfields_meant(INSN_LOCATION(a->insn), field, is_write)) {
        event.field = meant;
        into->event(event);
    }
}

/* A part of a whole struct: the members that lie in it. So are bit fields accessed: where it is not
 * known which of those that share its bytes are meant, the first stands for all. */
static void add_members(tree type, member_access *a, answers *into)
{
    if (TREE_CODE(type) != RECORD_TYPE || !MEM_OFFSET_KNOWN_P(a->mem) ||
        !MEM_SIZE_KNOWN_P(a->mem))
        return;
    HOST_WIDE_INT from = MEM_OFFSET(a->mem).to_constant() * 8;
    HOST_WIDE_INT to = from + MEM_SIZE(a->mem).to_constant() * 8;
    std::vector<int> members = types_fields_between(type, from, to);
    for (int field : members)
        add(field, a, into);
    a->depth += !members.empty();
}

/* Part of a write to a bit field that lies in several bytes: the compiler keeps what type such
 * memory has, but not of which member it is. Its word is read to write a part of it. */
static void add_nameless(member_access *a, answers *into)
{
    location_t where = INSN_LOCATION(a->insn);
    int field = bitfields_only(where, a->kind == PENUMBRA_INST_WRITE);
    if (field < 0 && a->kind == PENUMBRA_INST_READ)
        field = bitfields_only(where, true);
    if (field >= 0)
        add(field, a, into);
}

/* Reads or writes of the members that memory lies in. */
static void look_at_memory(rtx_insn *insn, rtx mem, uint8_t kind, answers *into)
{
    member_access a = {insn, mem, kind, 0};
    tree expr = MEM_EXPR(mem);
    for (int field : accesses_members(expr)) {
        add(field, &a, into);
        a.depth++;
    }
    if (expr)
        add_members(TREE_TYPE(expr), &a, into);
    else if (MEM_KEEP_ALIAS_SET_P(mem))
        add_nameless(&a, into);
    for (; expr && handled_component_p(expr); expr = TREE_OPERAND(expr, 0)) {
        int field = TREE_CODE(expr) == COMPONENT_REF ? types_field(TREE_OPERAND(expr, 1)) : -1;
        if (field < 0)
            continue;
        add(field, &a, into);
        a.depth++;
    }
}

static void reads(rtx_insn *insn, const_rtx x, answers *into)
{
    subrtx_iterator::array_type array;
    FOR_EACH_SUBRTX(iter, array, x, NONCONST)
        if (MEM_P(*iter))
            look_at_memory(insn, CONST_CAST_RTX(*iter), PENUMBRA_INST_READ, into);
}

/* The destination of a SET: memory that it writes, or parts of; its address may read. */
static void writes(rtx_insn *insn, rtx destination, answers *into)
{
    while (GET_CODE(destination) == ZERO_EXTRACT || GET_CODE(destination) == STRICT_LOW_PART ||
           GET_CODE(destination) == SUBREG)
        destination = XEXP(destination, 0);
    if (!MEM_P(destination))
        return;
    look_at_memory(insn, destination, PENUMBRA_INST_WRITE, into);
    reads(insn, XEXP(destination, 0), into);
}

static void look_at_set(rtx_insn *insn, rtx x, answers *into)
{
    if (GET_CODE(x) != SET)
        return;
    rtx source = SET_SRC(x);
    if (GET_CODE(source) == CALL) /* what is called may be read from a field */
        reads(insn, XEXP(XEXP(source, 0), 0), into);
    else
        reads(insn, source, into);
    writes(insn, SET_DEST(x), into);
}

/* An asm's operands: inputs are read, outputs are SETs. */
static void look(rtx_insn *insn, answers *into)
{
    rtx pattern = PATTERN(insn);
    if (CALL_P(insn)) {
        if (rtx call = get_call_rtx_from(insn))
            reads(insn, XEXP(XEXP(call, 0), 0), into);
        return;
    }
    if (GET_CODE(pattern) != PARALLEL) {
        look_at_set(insn, pattern, into);
        return;
    }
    /* Flags and memory of one instruction are two SETs with the same source: counted once. */
    std::vector<event_record> seen;
    for (int i = 0; i < XVECLEN(pattern, 0); i++) {
        answers of_one;
        look_at_set(insn, XVECEXP(pattern, 0, i), &of_one);
        for (const event_record &event : of_one.events) {
            bool known = false;
            for (const event_record &other : seen)
                known |= other.kind == event.kind && other.field == event.field;
            if (!known)
                seen.push_back(event);
        }
    }
    for (const event_record &event : seen)
        into->event(event);
}

extern const instrumentation fields_instrumentation;
const instrumentation fields_instrumentation = {"fields", look, NULL, NULL};

#include "unwind/code_walk.h"

#include <stdlib.h>
#include <string.h>

bool code_walk_make(struct code_walk *w, uint64_t steps)
{
    *w = (struct code_walk){.steps = steps};
    w->at = malloc(CODE_REGION_MAX * sizeof *w->at);
    w->length = malloc(CODE_REGION_MAX);
    w->waiting = malloc(CODE_REGION_MAX);
    w->work = malloc(CODE_REGION_MAX * sizeof *w->work);
    w->layout = malloc(CODE_LAYOUTS_MAX * sizeof *w->layout);
    w->known = malloc(CODE_LAYOUTS_MAX * sizeof *w->known);
    return w->at && w->length && w->waiting && w->work && w->layout && w->known;
}

void code_walk_free(struct code_walk *w)
{
    free(w->at);
    free(w->length);
    free(w->waiting);
    free(w->work);
    free(w->layout);
    free(w->known);
}

static void layout_put(struct code_walk *w, const struct layout *l)
{
    unsigned known = 0;
    for (unsigned r = 0; r < LAYOUT_REGISTERS; r++)
        known |= (unsigned)(l->reg[r] != LAYOUT_UNKNOWN) << r;
    w->known[w->layouts] = (uint16_t)known;
    w->layout[w->layouts++] = *l;
}

void code_walk_start(struct code_walk *w, const uint8_t *code, uint32_t size)
{
    w->code = code;
    w->size = size;
    memset(w->at, 0, size * sizeof *w->at);
    memset(w->length, 0, size);
    memset(w->waiting, 0, size);
    w->works = 0;
    struct layout entry;
    layout_enter(&entry);
    w->layouts = CODE_LAYOUT_ENTRY;
    layout_put(w, &entry);
    w->given_up = false;
}

/* Its number. */
static uint32_t layout_add(struct code_walk *w, const struct layout *l)
{
    if (w->layouts == CODE_LAYOUTS_MAX) {
        w->given_up = true;
        return 0;
    }
    layout_put(w, l);
    return w->layouts - 1;
}

/* Control comes to `offset` with layout `number`. */
static void reach(struct code_walk *w, int64_t offset, uint32_t number)
{
    if (offset < 0 || offset >= w->size) {
        if (!layout_is_entry(&w->layout[number]))
            w->leaves(w->context, offset);
        return;
    }
    uint32_t was = w->at[offset];
    if (was == number)
        return;
    if (was) {
        struct layout both = w->layout[was];
        if (!layout_meet(&both, &w->layout[number]))
            return;
        number = layout_add(w, &both);
    }
    w->at[offset] = number;
    if (!w->waiting[offset]) {
        w->waiting[offset] = 1;
        w->work[w->works++] = (uint32_t)offset;
    }
}

void code_walk_enter(struct code_walk *w, uint32_t offset)
{
    reach(w, offset, CODE_LAYOUT_ENTRY);
}

/* Whether control never goes on behind an instruction of this kind, or nobody knows how. */
static bool ends_path(unsigned kind)
{
    switch (kind) {
    case X86_RET:
    case X86_JMP:
    case X86_JMP_INDIRECT:
    case X86_FAR:
    case X86_NEAR16:
    case X86_SYSENTER:
    case X86_INT3: case X86_INT1: case X86_UD: case X86_PRIVILEGED: case X86_TSX: case X86_OTHER:
        return true;
    default: return false;
    }
}

/* A call inside the region begins a frame there. What is called may be no function, and need not
 * keep to the ABI: nothing but rsp is known when it returns. */
static void call_inside(struct code_walk *w, int64_t target, struct layout *l)
{
    if (target < 0 || target >= w->size)
        return;
    for (unsigned r = 0; r < LAYOUT_REGISTERS; r++)
        if (r != X86_RSP)
            l->reg[r] = LAYOUT_UNKNOWN;
    code_walk_enter(w, (uint32_t)target);
}

/* Whether an instruction may change what is known. Most have nothing to do with the frame. */
static bool matters(const struct x86_insn *insn, unsigned known)
{
    return ((insn->reads | insn->writes) & known) || insn->access & X86_MEM_STACK ||
           insn->kind == X86_CALL || insn->kind == X86_CALL_INDIRECT || insn->kind == X86_SYSCALL ||
           insn->kind == X86_INT;
}

/* The number of the layout behind the instruction. */
static uint32_t pass(struct code_walk *w, uint32_t number, const struct x86_insn *insn,
                     const uint8_t *code, int64_t target)
{
    struct layout after = w->layout[number];
    layout_pass(&after, insn, code);
    if (insn->kind == X86_CALL)
        call_inside(w, target, &after);
    return memcmp(&after, &w->layout[number], sizeof after) != 0 ? layout_add(w, &after) : number;
}

static void visit(struct code_walk *w, uint32_t offset)
{
    uint32_t number = w->at[offset];
    const uint8_t *code = w->code + offset;
    struct x86_insn insn;
    unsigned length = x86_decode_as(code, w->size - offset, &insn);
    w->length[offset] = (uint8_t)length;
    if (!length)
        return;
    int64_t next = (int64_t)offset + length, target = next + x86_relative_as(&insn, code);
    if (insn.kind == X86_JMP)
        reach(w, target, number);
    if (ends_path(insn.kind))
        return;
    if (matters(&insn, w->known[number]))
        number = pass(w, number, &insn, code, target);
    if (w->given_up)
        return;
    if (insn.kind == X86_JCC || insn.kind == X86_LOOP)
        reach(w, target, number);
    reach(w, next, number);
}

bool code_walk_run(struct code_walk *w)
{
    while (w->works && !w->given_up) {
        uint32_t offset = w->work[--w->works];
        w->waiting[offset] = 0;
        if (w->steps == 0) {
            w->given_up = true;
            break;
        }
        w->steps--;
        visit(w, offset);
    }
    return !w->given_up;
}

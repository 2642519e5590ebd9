#include "report/arguments.h"

#include <stdbool.h>
#include <stdlib.h>

#include "x86/insn.h"

enum { SIZE_MOST = 1 << 16, KERNEL_TAKES = ARGUMENTS_ALL & ~8 /* not rcx */ };

struct ways {
    const uint8_t *code;
    size_t size;
    /* By offset: registers that are as they were at the entry, on some way to there; of these,
     * followed already. */
    uint8_t *untouched, *followed;
    unsigned read;
};

static unsigned arguments_of(uint16_t registers)
{
    static const uint8_t order[] = { X86_RDI, X86_RSI, X86_RDX, X86_RCX, X86_R8, X86_R9 };
    unsigned mask = 0;
    for (unsigned i = 0; i < sizeof order; i++)
        mask |= (registers >> order[i] & 1u) << i;
    return mask;
}

/* xor r, r and sub r, r read nothing. */
static bool is_zeroing(const struct x86_insn *insn)
{
    unsigned op = insn->opcode & 0xfdu;
    return insn->map == X86_MAP_ONE_BYTE && (op == 0x31 || op == 0x29) && !insn->access &&
           insn->reg == insn->base;
}

/* A way goes on at an offset. */
static void go(struct ways *w, uint64_t at, unsigned untouched, bool is_jump)
{
    if (at < w->size)
        w->untouched[at] |= (uint8_t)untouched;
    else if (!is_jump)
        w->read |= untouched;
}

static void follow(struct ways *w, size_t at)
{
    struct x86_insn insn;
    unsigned untouched = w->untouched[at];
    w->followed[at] = (uint8_t)untouched;
    unsigned length = x86_decode_as(w->code + at, w->size - at, &insn);
    if (!length)
        return;
    unsigned reads = insn.kind == X86_SYSCALL ? KERNEL_TAKES
                     : is_zeroing(&insn)      ? 0
                                              : arguments_of(insn.reads);
    w->read |= untouched & reads;
    untouched &= ~arguments_of(insn.writes);
    uint64_t next = at + length;
    bool jumps = insn.kind == X86_JCC || insn.kind == X86_LOOP || insn.kind == X86_JMP;
    if (jumps)
        go(w, next + (uint64_t)(int64_t)x86_relative_as(&insn, w->code + at), untouched,
           insn.kind == X86_JMP);
    if (insn.kind == X86_JMP_INDIRECT)
        w->read |= untouched;
    if (insn.kind != X86_JMP && insn.kind != X86_JMP_INDIRECT && insn.kind != X86_RET &&
        insn.kind != X86_CALL && insn.kind != X86_CALL_INDIRECT && insn.kind != X86_UD)
        go(w, next, untouched, true);
}

unsigned arguments_read(const uint8_t *code, size_t size)
{
    struct ways w = { .code = code, .size = size };
    uint8_t *offsets = size && size <= SIZE_MOST ? calloc(size, 2) : NULL;
    if (!offsets)
        return ARGUMENTS_ALL;
    w.untouched = offsets;
    w.followed = offsets + size;
    w.untouched[0] = ARGUMENTS_ALL;
    /* Each offset is followed at most once for each register. */
    for (bool more = true; more;) {
        more = false;
        for (size_t at = 0; at < size; at++)
            if (w.untouched[at] & ~w.followed[at]) {
                follow(&w, at);
                more = true;
            }
    }
    free(offsets);
    return w.read;
}

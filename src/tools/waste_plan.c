#include "tools/waste_plan.h"

#include <stddef.h>

#include "sigsafe/spool_waste.h"
#include "tools/inline/watch.h"
#include "x86/insn.h"

enum { CANARY = 0x28 }; /* of the stack protector, in FS: constant while a thread runs */

static bool is_canary(const struct x86_memory *m)
{
    return m->segment == X86_FS && m->base == X86_NONE && m->index == X86_NONE && m->disp == CANARY;
}

/* Its operand only hints at what it accesses. */
static bool is_vague(const struct x86_insn *insn, const struct x86_memory *m)
{
    enum { OPCODE_BIT = 0xa3, BIT_MASK = 0xe7 };
    bool bit = insn->map == X86_MAP_0F && insn->encoding == X86_LEGACY &&
               (insn->opcode & BIT_MASK) == OPCODE_BIT;
    return (insn->traits & X86_VSIB && m->index != X86_NONE) || !m->size || (bit && insn->access);
}

static unsigned kind_of(const struct x86_insn *insn, const struct x86_memory *m)
{
    bool always = insn->kind == X86_STRING_REP || !(m->access & X86_MEM_CONDITIONAL);
    bool stores = m->access & X86_MEM_WRITE && always;
    return (m->access & X86_MEM_READ ? ACCESS_LOAD : 0u) | (stores ? ACCESS_STORE : 0u);
}

static bool operand_as(const struct hook_block *block, uint32_t index, unsigned operand,
                       uint64_t next, const struct x86_memory *m, struct hooks *h)
{
    const struct x86_insn *insn = &block->insns[index];
    bool repeats = insn->kind == X86_STRING_REP;
    bool searches = repeats && (insn->opcode & 0xf6) == 0xa6; /* cmps, scas */
    struct spool_thing thing = {
        .key = hook_key_as(h, next - insn->length), .kind = THING_ACCESS,
        .access = {.operand = operand, .bytes = repeats ? 0 : m->size,
                   .way = (uint16_t)kind_of(insn, m)},
    };
    uint32_t id = hook_thing_make_as(h, &thing);
    struct waste_site *a =
        id < COUNTS_IDS_MAX
            ? hook_common_as(h, offsetof(struct waste_common, sites) + (uint64_t)id * sizeof *a,
                             sizeof *a)
            : NULL;
    if (!a)
        return false;
    *a = (struct waste_site){.memory = {.disp = m->disp + (m->base == X86_RIP ? (int64_t)next : 0),
                                    .base = m->base == X86_RIP ? X86_NONE : m->base,
                                    .index = m->index,
                                    .scale = m->scale,
                                    .add8 = m->add8,
                                    .segment = m->segment == X86_FS,
                                    .address32 = m->address32,
                                    .size = m->size},
                         .kind = (uint8_t)kind_of(insn, m),
                         .element = (uint8_t)m->size,
                         .searches = searches};
    return repeats ? hook_call_as(h, HOOK_BEFORE, index, waste_string_as, id)
                   : watch_memory_as(h, index, operand, waste_touch_as, id);
}

/* Loads before stores: what is stored is compared with what was there at the next look. */
static bool insn_as(const struct hook_block *block, uint32_t index, uint64_t next, struct hooks *h)
{
    struct x86_memory memory[X86_MEMORY_MAX];
    const struct x86_insn *insn = &block->insns[index];
    unsigned count = x86_memory_as(insn, block->code[index], memory);
    bool transfer =
        insn->kind == X86_CALL || insn->kind == X86_CALL_INDIRECT || insn->kind == X86_RET;
    if (insn->kind == X86_SYSCALL)
        return hook_call_as(h, HOOK_BEFORE, index, waste_system_call_as, 0);
    if (insn->kind == X86_RET)
        return watch_return_as(h, index, waste_return_as, 0);
    if (transfer)
        count = insn->access & X86_MEM_READ ? 1 : 0;
    for (unsigned stores = 0; stores < 2; stores++)
        for (unsigned k = 0; k < count; k++) {
            const struct x86_memory *m = &memory[k];
            bool reads = m->access & X86_MEM_READ, vague = is_vague(insn, m) || !kind_of(insn, m);
            if (reads == (bool)stores || is_canary(m))
                continue;
            if (!(vague ? hook_call_as(h, HOOK_BEFORE, index, waste_unknown_as, reads)
                        : operand_as(block, index, k, next, m, h)))
                return false;
        }
    return true;
}

/* Something of it is looked at, and no system call, of which each is. */
static bool has_two_copies(const struct hook_block *block)
{
    bool looks = false;
    for (uint32_t i = 0; i < block->count; i++)
        looks |= block->insns[i].access || block->insns[i].kind == X86_RET;
    return block->watch_gate && looks && block->end != END_SYSCALL;
}

void waste_block_as(const struct hook_block *block, struct hooks *h)
{
    struct waste_common *common = hook_common_as(h, 0, sizeof *common);
    struct spool_thing totals = {.kind = THING_TOTALS};
    uint64_t next = block->pc;
    if (common && !common->totals) {
        uint32_t id = hook_thing_make_as(h, &totals);
        common->totals = id == COUNTS_NONE ? 0 : (uint64_t)id + 1;
    }
    bool ok = common && common->totals, gate = has_two_copies(block);
    if (ok && !block->observed)
        ok = gate ? watch_gate_as(h, block->count, waste_alarm_as, 0)
                  : watch_alarm_as(h, block->count, waste_alarm_as, 0);
    for (uint32_t i = 0; ok && !gate && i < block->count; i++) {
        next += block->insns[i].length;
        ok = insn_as(block, i, next, h);
    }
    if (!ok)
        hook_refuse_as(h);
}

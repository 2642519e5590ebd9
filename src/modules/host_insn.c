#include "modules/builtin.h"
#include "modules/host_internal.h"

static void find_unobserved(struct host_insn *insn, const struct x86_insn *decoded)
{
    struct x86_definition written[X86_DEFINITIONS_MAX];
    struct x86_wide wide;
    unsigned count = x86_definitions_as(decoded, written), general = 0;
    for (unsigned i = 0; i < count; i++)
        general += !x86_moves_stack(decoded, &written[i]);
    x86_wide_result_as(decoded, insn->record.bytes, &wide, &insn->unobserved[UNOBSERVED_WIDE]);
    insn->unobserved[UNOBSERVED_GENERAL] = general > 1;
}

bool host_insn_describe(struct host_insn *insn, const struct tuple_insn *record)
{
    struct x86_insn decoded;
    uint8_t length = __atomic_load_n(&record->length, __ATOMIC_ACQUIRE);
    if (!length || length > sizeof record->bytes)
        return false;
    *insn = (struct host_insn){.record = *record};
    insn->record.length = length;
    if (insn->record.count > TUPLE_VALUES_MAX)
        insn->record.count = TUPLE_VALUES_MAX;
    if (!x86_decode_as(insn->record.bytes, length, &decoded))
        return false;
    insn->kind = decoded.kind;
    insn->lanes = x86_lanes_as(&decoded);
    if (insn->record.what & PENUMBRA_RESULT)
        find_unobserved(insn, &decoded);
    insn->known = true;
    return true;
}

/* Of memory operands, the order of both is in the index (tuples.h). */
static bool is_memory(uint32_t what)
{
    return what == TUPLE_ADDRESS || what == TUPLE_LOADED || what == TUPLE_STORED;
}

static uint32_t put_lanes(const struct host_insn *insn, const struct tuple_value *v, uint64_t value,
                          struct penumbra_item *out)
{
    uint32_t count = 0, lane = insn->lanes.bytes,
             word = is_memory(v->what) ? v->index & 1u : v->index;
    for (uint32_t at = 0; at + lane <= v->bytes; at += lane) {
        if (insn->lanes.scalar && (at || word))
            break;
        out[count++] = (struct penumbra_item){
            .what = 1u << v->what,
            .index = (uint8_t)((word * 8 + at) / lane),
            .reg = v->reg,
            .bytes = (uint8_t)lane,
            .form = insn->lanes.form,
            .value = lane == 8 ? value : value >> at * 8 & ((UINT64_C(1) << lane * 8) - 1),
        };
    }
    return count;
}

/* A load's ticks without those that measuring takes. */
static uint64_t latency_of(uint64_t ticks)
{
    bool measured;
    const struct hierarchy *h = module_hierarchy(&measured, NULL);
    uint64_t cost = h ? h->cost : 0;
    return ticks > cost ? ticks - cost : 0;
}

static uint32_t put_value(const struct host_insn *insn, const struct tuple_value *v, uint64_t value,
                          struct penumbra_item *out)
{
    bool memory = is_memory(v->what), x87 = v->reg >= TUPLE_X87 && v->reg < TUPLE_MMX;
    bool vector = v->reg >= TUPLE_VECTOR && !x87;
    if (insn->lanes.bytes && vector && v->what != TUPLE_ADDRESS && v->what != TUPLE_FLAGS &&
        (v->reg != TUPLE_MEMORY || memory))
        return put_lanes(insn, v, value, out);
    *out = (struct penumbra_item){
        .what = 1u << v->what,
        .index = memory ? v->index / 2 : v->index,
        .reg = v->reg,
        .bytes = v->bytes,
        .form = x87 ? PENUMBRA_DOUBLE : PENUMBRA_INTEGER,
        .value = v->what == TUPLE_LATENCY ? latency_of(value) : value,
    };
    return 1;
}

uint32_t host_insn_items(const struct host_insn *insn, const struct tuple_head *head,
                         const uint64_t *values, struct penumbra_item *out)
{
    static const uint8_t arguments[TUPLE_ARGUMENT_COUNT] = {X86_RDI, X86_RSI, X86_RDX,
                                                            X86_RCX, X86_R8, X86_R9};
    uint32_t count = 0, at = 0;
    if (head->flags & TUPLE_ARGUMENTS)
        for (; at < TUPLE_ARGUMENT_COUNT && at < head->count; at++)
            out[count++] = (struct penumbra_item){.what = PENUMBRA_ARGUMENTS, .index = (uint8_t)at,
                                                  .reg = arguments[at], .bytes = 8,
                                                  .value = values[at]};
    for (uint32_t i = 0; i < insn->record.count && at < head->count; i++, at++)
        count += put_value(insn, &insn->record.values[i], values[at], out + count);
    return count;
}

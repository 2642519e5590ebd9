#include <string.h>

#include "modules/builtin.h"
#include "modules/host_internal.h"
#include "x86/operands.h"

enum { VECTOR = 16 }; /* the first vector register's number */

/* How long an instruction's elements are is in no encoding but in its name: addps, vpaddd, movss. */
static void find_lanes(struct host_insn *insn)
{
    const char *name = x86_mnemonic(insn->record.bytes, insn->record.length);
    size_t length = name ? strlen(name) : 0;
    insn->lane = 8;
    if (length < 3 || name[length - 2] == 'm') /* xmm, ymm in names of state */
        return;
    char last = name[length - 1], before = name[length - 2];
    bool packed = before == 'p', scalar = before == 's';
    if ((packed || scalar) && (last == 's' || last == 'd')) {
        insn->form = last == 's' ? PENUMBRA_FLOAT : PENUMBRA_DOUBLE;
        insn->lane = last == 's' ? 4 : 8;
        insn->scalar = scalar;
    } else if (name[0] == 'p' || (name[0] == 'v' && name[1] == 'p')) {
        insn->lane = last == 'b' ? 1 : last == 'w' ? 2 : last == 'd' ? 4 : 8;
    }
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
    bool vector = false;
    for (uint32_t i = 0; i < insn->record.count; i++) {
        const struct tuple_value *v = &insn->record.values[i];
        vector |= v->reg >= VECTOR && v->reg != 0xff;
    }
    if (vector || decoded.class == X86_CLASS_SSE || decoded.class == X86_CLASS_AVX ||
        decoded.class == X86_CLASS_AVX512)
        find_lanes(insn);
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
    uint32_t count = 0, lane = insn->lane, half = v->index & 1;
    for (uint32_t at = 0; at + lane <= v->bytes; at += lane) {
        if (insn->scalar && (at || half))
            break;
        out[count++] = (struct penumbra_item){
            .what = 1u << v->what,
            .index = (uint8_t)((half * 8 + at) / lane),
            .reg = v->reg,
            .bytes = (uint8_t)lane,
            .form = insn->form,
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
    bool memory = is_memory(v->what);
    bool general = v->reg < VECTOR;
    if (insn->lane && !general && v->what != TUPLE_ADDRESS && v->what != TUPLE_FLAGS &&
        (v->reg != 0xff || memory))
        return put_lanes(insn, v, value, out);
    *out = (struct penumbra_item){
        .what = 1u << v->what,
        .index = memory ? v->index / 2 : v->index,
        .reg = v->reg,
        .bytes = v->bytes,
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

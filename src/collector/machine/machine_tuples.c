#include "collector/machine/machine_tuples.h"

#include <stdlib.h>
#include <string.h>

#include "sigsafe/hash.h"
#include "sigsafe/spool_counts.h"
#include "sigsafe/sys.h"
#include "tools/values_plan.h"

enum { FLAGS_SHOWN = 0xcd5 /* CF PF AF ZF SF DF OF */ };

void machine_tuples_free(struct machine_tuples *t)
{
    for (uint32_t i = 0; i < t->slots; i++)
        free(t->plans[i]);
    free(t->plans);
}

/* ---- plans ---- */

static uint32_t slot_of(const struct machine_tuples *t, uint64_t address)
{
    return (uint32_t)(hash_word(address) >> 32) & (t->slots - 1);
}

/* The first free slot from an address's on. */
static uint32_t slot_free(const struct machine_tuples *t, uint64_t address)
{
    uint32_t at = slot_of(t, address);
    while (t->plans[at])
        at = (at + 1) & (t->slots - 1);
    return at;
}

static bool table_grow(struct machine_tuples *t)
{
    enum { LEAST = 4096 };
    struct machine_tuples more = {.slots = t->slots ? 2 * t->slots : LEAST};
    more.plans = calloc(more.slots, sizeof(struct machine_plan *));
    if (!more.plans)
        return false;
    for (uint32_t i = 0; i < t->slots; i++)
        if (t->plans[i])
            more.plans[slot_free(&more, t->plans[i]->full.address)] = t->plans[i];
    free(t->plans);
    t->plans = more.plans;
    t->slots = more.slots;
    return true;
}

static void plan_fill(struct machine_tuples *t, struct machine_plan *p, uint64_t key,
                      uint64_t address, const uint8_t *code)
{
    struct x86_memory all[X86_MEMORY_MAX];
    unsigned count = x86_memory_as(&p->insn, code, all), kept = 0;
    memcpy(p->full.bytes, code, p->insn.length);
    p->full.address = address;
    p->full.key = key;
    p->full.length = p->insn.length;
    values_plan_as(&p->full, &p->insn, t->wanted);
    /* as values_plan_as keeps them */
    for (unsigned i = 0; i < count && kept < TUPLE_MEMORIES; i++)
        if (!(p->insn.traits & X86_VSIB && i == 0))
            p->memory[kept++] = all[i];
}

static struct machine_plan *plan_find(const struct machine_tuples *t, uint64_t key,
                                      uint64_t address, const uint8_t *code, unsigned available)
{
    uint32_t at = t->slots ? slot_of(t, address) : 0;
    for (; t->slots && t->plans[at]; at = (at + 1) & (t->slots - 1)) {
        struct machine_plan *p = t->plans[at];
        if (p->full.address == address && p->full.key == key && p->full.length <= available &&
            !memcmp(p->full.bytes, code, p->full.length))
            return p;
    }
    return NULL;
}

/* An empty one at an address; the spare one, if there is no room. */
static struct machine_plan *plan_add(struct machine_tuples *t, uint64_t address)
{
    bool room = t->count < t->slots / 2 || (t->count < MACHINE_PLANS_MOST && table_grow(t));
    struct machine_plan *p = room ? calloc(1, sizeof *p) : NULL;
    if (!p) {
        t->spare = (struct machine_plan){0};
        return &t->spare;
    }
    t->plans[slot_free(t, address)] = p;
    t->count++;
    return p;
}

struct machine_plan *machine_plan_of(struct machine_tuples *t, uint64_t key, uint64_t address,
                                     const uint8_t *code, unsigned available,
                                     enum interpret_end *end)
{
    struct x86_insn insn;
    struct machine_plan *p = plan_find(t, key, address, code, available);
    if (p)
        return p;
    if (!x86_decode_as(code, available, &insn)) {
        *end = insn.kind == X86_TRUNCATED ? INTERPRET_CODE : INTERPRET_INVALID;
        return NULL;
    }
    p = plan_add(t, address);
    p->insn = insn;
    plan_fill(t, p, key, address, code);
    return p;
}

/* ---- records ---- */

/* The record with these values alone. False: there is no room. */
static bool record_make(struct machine_tuples *t, const struct machine_plan *p, uint16_t known,
                        uint32_t *id)
{
    struct tuple_insn *r = tuples_insn_make_as(t->spool, t->tuples, id);
    if (!r) {
        t->tuples->dropped[TUPLE_DROP_RECORDS]++;
        return false;
    }
    *r = p->full;
    r->length = r->count = r->before = 0;
    for (unsigned i = 0; i < p->full.count; i++)
        if (known >> i & 1)
            r->values[r->count++] = p->full.values[i];
    __atomic_store_n(&r->length, p->full.length, __ATOMIC_RELEASE);
    return true;
}

/* Which record has most of what is known, of those with nothing else; p->variants: none. */
static unsigned variant_find(const struct machine_plan *p, uint16_t known)
{
    unsigned best = p->variants;
    for (unsigned i = 0; i < p->variants; i++) {
        uint16_t has = p->variant[i].known;
        bool fits = !(has & ~known);
        if (fits && (best == p->variants ||
                     __builtin_popcount(has) > __builtin_popcount(p->variant[best].known)))
            best = i;
    }
    return best;
}

/* Records stay: after so many of one instruction, no more are made, and what is known may be cut
 * to what a record has. False: it is dropped, and counted. */
static bool record_of(struct machine_tuples *t, struct machine_plan *p, uint16_t *known,
                      uint32_t *id)
{
    unsigned at = variant_find(p, *known);
    bool exact = at < p->variants && p->variant[at].known == *known;
    if (!exact && p != &t->spare && p->variants < MACHINE_VARIANTS) {
        if (!record_make(t, p, *known, id))
            return false;
        at = p->variants++;
        p->variant[at].id = *id;
        p->variant[at].known = *known;
    } else if (at == p->variants) {
        t->tuples->dropped[TUPLE_DROP_RECORDS]++;
        return false;
    }
    t->cut += (uint64_t)__builtin_popcount(*known & ~p->variant[at].known);
    *known = p->variant[at].known;
    *id = p->variant[at].id;
    return true;
}

/* ---- sequences ---- */

static bool ring_make(struct machine_tuples *t, struct spool_process *owner)
{
    struct spool_counts *counts = counts_begin_as(t->spool, owner);
    t->tuples = counts ? tuples_begin_as(t->spool, counts) : NULL;
    if (t->tuples)
        t->ring = tuples_ring_make_as(t->spool, t->tuples, 0, TUPLE_RING_EXACT);
    return t->ring;
}

bool machine_sequence_begin(struct machine_tuples *t, struct spool_process *process, int32_t tid,
                            uint32_t length)
{
    t->plan = NULL;
    t->called = false;
    if (!t->ring && !ring_make(t, process)) {
        if (t->tuples)
            t->tuples->dropped[TUPLE_DROP_SPOOL_FULL]++;
        return false;
    }
    if (!tuples_reserve_as(t->spool, t->ring, TUPLE_SEQUENCE_WORDS + length * TUPLE_WORDS_MAX)) {
        t->ring->dropped[TUPLE_DROP_RING_FULL]++;
        return false;
    }
    struct tuple_sequence *s = (void *)tuples_word_as(t->spool, t->ring, t->ring->cursor.begin);
    *s = (struct tuple_sequence){.tid = tid,
                                 .cpu = UINT32_MAX,
                                 .ticks = sys_ticks_as(),
                                 .every = 1,
                                 .process = spool_ref_of(t->spool, process)};
    t->ring->cursor.at = t->ring->cursor.begin + sizeof *s;
    return true;
}

void machine_sequence_end(struct machine_tuples *t)
{
    struct tuple_sequence *s = (void *)tuples_word_as(t->spool, t->ring, t->ring->cursor.begin);
    if (s->count)
        tuples_publish_as(t->spool, t->ring, t->ring->cursor.at);
    else
        t->ring->dropped[TUPLE_DROP_EMPTY]++;
}

/* ---- values ---- */

static void know(struct machine_tuples *t, unsigned i, const struct interpret_value *v,
                 const struct tuple_value *what)
{
    bool high = what->bytes & TUPLE_HIGH;
    unsigned bytes = high ? 1 : what->bytes;
    uint64_t bits = high ? v->bits >> 8 : v->bits, known = high ? v->known >> 8 : v->known;
    uint64_t mask = bytes >= 8 ? UINT64_MAX : (UINT64_C(1) << 8 * bytes) - 1;
    if ((known & mask) != mask)
        return;
    t->value[i] = bits & mask;
    t->known |= (uint16_t)(1u << i);
}

static void know_all(struct machine_tuples *t, unsigned i, uint64_t value)
{
    t->value[i] = value;
    t->known |= (uint16_t)(1u << i);
}

static void know_memory(struct machine_tuples *t, unsigned i, const struct tuple_value *v,
                        const struct interpret_state *s)
{
    unsigned operand = v->index / 2u;
    if (!(t->addressed >> operand & 1))
        return;
    struct interpret_value word =
        interpret_load(s, t->address[operand] + (v->index & 1u) * 8, v->bytes);
    know(t, i, &word, v);
}

static void know_register(struct machine_tuples *t, unsigned i, const struct tuple_value *v,
                          const struct interpret_state *s)
{
    if (v->reg < TUPLE_VECTOR)
        know(t, i, &s->reg[v->reg], v);
}

/* What memory holds before a load is what it loads: afterwards it may be another address's. */
static void before(struct machine_tuples *t, const struct interpret_state *s)
{
    const struct tuple_insn *r = &t->plan->full;
    for (unsigned i = 0; i < r->count; i++) {
        const struct tuple_value *v = &r->values[i];
        bool held = v->reg < TUPLE_VECTOR;
        if (v->what == TUPLE_ADDRESS && t->addressed >> v->index / 2u & 1)
            know_all(t, i, t->address[v->index / 2u]);
        else if (v->what == TUPLE_LOADED && !held)
            know_memory(t, i, v, s);
        else if (v->what == TUPLE_SOURCES || (v->what == TUPLE_SYSTEM_CALL && v->index < 7))
            know_register(t, i, v, s);
    }
}

static void after(struct machine_tuples *t, const struct interpret_state *s)
{
    const struct tuple_insn *r = &t->plan->full;
    for (unsigned i = 0; i < r->count; i++) {
        const struct tuple_value *v = &r->values[i];
        bool held = v->reg < TUPLE_VECTOR;
        switch (v->what) {
        case TUPLE_FLAGS:
            if ((s->rflags.known & FLAGS_SHOWN) == FLAGS_SHOWN)
                know_all(t, i, s->rflags.bits & FLAGS_SHOWN);
            break;
        case TUPLE_TAKEN:
            know_all(t, i, s->rip == r->target);
            break;
        case TUPLE_TARGET:
            know_all(t, i, s->rip);
            break;
        case TUPLE_LOADED:
            if (held)
                know_register(t, i, v, s);
            break;
        case TUPLE_STORED:
            if (held)
                know_register(t, i, v, s);
            else
                know_memory(t, i, v, s);
            break;
        case TUPLE_RESULT:
            know_register(t, i, v, s);
            break;
        default:
            break;
        }
    }
}

static void arguments_put(struct machine_tuples *t, const struct interpret_state *s,
                          struct tuple_head *head)
{
    static const uint8_t registers[TUPLE_ARGUMENT_COUNT] = {X86_RDI, X86_RSI, X86_RDX,
                                                            X86_RCX, X86_R8,  X86_R9};
    if (!t->called || !(t->plan->full.what & PENUMBRA_ARGUMENTS))
        return;
    for (unsigned i = 0; i < TUPLE_ARGUMENT_COUNT; i++)
        if (!interpret_is_known(&s->reg[registers[i]], 8))
            return;
    head->flags |= TUPLE_ARGUMENTS;
    head->count = TUPLE_ARGUMENT_COUNT;
    for (unsigned i = 0; i < TUPLE_ARGUMENT_COUNT; i++) {
        *tuples_word_as(t->spool, t->ring, t->ring->cursor.at) = s->reg[registers[i]].bits;
        t->ring->cursor.at += 8;
    }
}

void machine_tuple_begin(struct machine_tuples *t, struct machine_plan *p,
                         const struct interpret_state *s)
{
    t->plan = p;
    t->known = t->addressed = 0;
    for (unsigned i = 0; i < p->full.memories; i++) {
        struct interpret_value a = interpret_address(s, &p->insn, &p->memory[i]);
        t->address[i] = a.bits;
        t->addressed |= (uint16_t)((a.known == UINT64_MAX) << i);
    }
    before(t, s);
    t->ring->cursor.open = t->ring->cursor.at;
    struct tuple_head *head = (void *)tuples_word_as(t->spool, t->ring, t->ring->cursor.at);
    *head = (struct tuple_head){0};
    t->ring->cursor.at += 8;
    arguments_put(t, s, head);
}

void machine_tuple_end(struct machine_tuples *t, const struct interpret_state *s, bool over)
{
    struct tuple_ring *ring = t->ring;
    struct tuple_sequence *sequence = (void *)tuples_word_as(t->spool, ring, ring->cursor.begin);
    struct tuple_head *head = (void *)tuples_word_as(t->spool, ring, ring->cursor.open);
    struct machine_plan *p = t->plan;
    if (over)
        after(t, s);
    t->called = over && p->full.flags & TUPLE_INSN_CALL;
    if (!record_of(t, p, &t->known, &head->id)) {
        ring->cursor.at = ring->cursor.open;
        return;
    }
    for (unsigned i = 0; i < p->full.count; i++) {
        if (!(t->known >> i & 1))
            continue;
        *tuples_word_as(t->spool, ring, ring->cursor.at) = t->value[i];
        ring->cursor.at += 8;
        head->count++;
    }
    sequence->count++;
}

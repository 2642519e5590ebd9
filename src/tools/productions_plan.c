#include "tools/productions_plan.h"

#include <stddef.h>

#include "sigsafe/hash.h"
#include "sigsafe/key.h"
#include "sigsafe/spool_productions.h"
#include "tools/inline/watch.h"
#include "tools/trigger.h"
#include "x86/insn.h"

enum { WORD = 8 /* a return address */ };

/* ---- images ---- */

static uint32_t image_bits(const struct production_program *p, unsigned number)
{
    enum { REMEMBERED = 64 };
    static struct { uint32_t number, bits; } seen[REMEMBERED]; /* under the engine's lock */
    if (!p->image_count || !number)
        return 0;
    uint32_t at = number % REMEMBERED;
    if (seen[at].number != number) {
        seen[at].bits = production_image_bits_as(productions.spool, p, number);
        seen[at].number = number;
    }
    return seen[at].bits;
}

/* ---- what patterns see ---- */

/* Where the operands' addresses come from. */
static void memory_take(struct production_site *site, const struct trigger *t, uint64_t next)
{
    for (; site->memories < t->memories; site->memories++) {
        const struct x86_memory *m = &t->memory[site->memories].is;
        site->memory[site->memories] = (struct tuple_memory){
            .disp = m->disp + (m->base == X86_RIP ? (int64_t)next : 0),
            .base = m->base == X86_RIP ? X86_NONE : m->base, .index = m->index,
            .scale = m->scale, .add8 = m->add8, .segment = m->segment == X86_FS,
            .address32 = m->address32, .size = m->size};
    }
}
_Static_assert((int)TRIGGER_MEMORIES == TUPLE_MEMORIES, "as many as a site has room for");

static bool is_indirect(const struct hook_block *block, uint32_t index)
{
    return index + 1 == block->count &&
           (block->end == END_CALL_INDIRECT || block->end == END_JUMP_INDIRECT ||
            block->end == END_RETURN);
}

static bool is_fixed(const struct production_site *site, uint8_t field)
{
    bool target = field == FIELD_TARGET || field == FIELD_METHOD;
    return field == FIELD_NOTHING || field == FIELD_PC || field == FIELD_IMMEDIATE ||
           field == FIELD_OPCODE || (target && !site->is_indirect);
}

/* As in struct production_site. */
static uint8_t only_count(const struct production_site *site)
{
    const struct production_program *p = productions.program;
    if (!productions.settled || !site->mask || site->mask & (site->mask - 1))
        return 0;
    struct production_run run = p->productions[__builtin_ctzll(site->mask)].actions;
    uint8_t group = p->actions[run.first] % PRODUCTION_GROUPS;
    const struct production_group *g = &p->groups[group];
    bool fixed = is_fixed(site, g->fields[0]) && is_fixed(site, g->fields[1]);
    return run.count == 1 && fixed ? (uint8_t)(group + 1) : 0;
}

/* What the instruction is, and which productions match it. */
static void site_make(const struct hook_block *block, uint32_t index, uint64_t pc, struct hooks *h,
                      struct production_site *site)
{
    const struct production_program *p = productions.program;
    const struct x86_insn *insn = &block->insns[index];
    struct trigger trigger;
    struct production_trigger *t = &trigger.seen;
    trigger_make_as(insn, block->code[index], pc, &trigger);
    *site = (struct production_site){ .key = hook_key_as(h, pc), .opcode = t->opcode,
                                      .immediate = t->immediate, .is_call = trigger.is_call,
                                      .is_indirect = is_indirect(block, index) };
    t->offset = key_offset(site->key);
    t->images = image_bits(p, key_image(site->key));
    t->has_target = index + 1 == block->count && block->taken;
    t->target = t->has_target ? block->taken : 0;
    memory_take(site, &trigger, pc + insn->length);
    if (site->is_indirect && (site->is_call || trigger.is_return))
        site->adjust = site->is_call ? WORD : -(WORD + (int32_t)t->immediate);
    site->mask = production_match(p, t) & (productions.settled ? productions.always : UINT64_MAX);
    if (site->mask && t->has_target)
        site->target_key = hook_key_as(h, t->target);
    site->only = only_count(site);
}

/* ---- sites ---- */

static bool same_memory(const struct tuple_memory *a, const struct tuple_memory *b)
{
    return a->disp == b->disp && a->base == b->base && a->index == b->index &&
           a->scale == b->scale && a->add8 == b->add8 && a->segment == b->segment &&
           a->address32 == b->address32;
}

static bool same_site(const struct production_site *a, const struct production_site *b)
{
    bool same = a->mask == b->mask && a->key == b->key && a->target_key == b->target_key &&
                a->immediate == b->immediate && a->opcode == b->opcode &&
                a->memories == b->memories && a->adjust == b->adjust;
    for (unsigned i = 0; same && i < a->memories; i++)
        same = same_memory(&a->memory[i], &b->memory[i]);
    return same;
}

/* Its number, also where its code has been translated before; PRODUCTION_SITES: there is no
 * room. */
static uint32_t site_number_as(struct hooks *h, const struct production_site *site)
{
    struct production_common *c = hook_common_as(h, 0, sizeof *c);
    struct production_site *to = NULL;
    if (!c)
        return PRODUCTION_SITES;
    uint64_t hash = hash_word(site->key) >> 32;
    uint32_t *known = &c->known[hash % PRODUCTION_KNOWN];
    if (*known && same_site(&c->sites[*known - 1], site))
        return *known - 1;
    if (c->used < PRODUCTION_SITES)
        to = hook_common_as(h, offsetof(struct production_common, sites) + c->used * sizeof *to,
                            sizeof *to);
    if (!to)
        return PRODUCTION_SITES;
    *to = *site;
    *known = (uint32_t)++c->used;
    return *known - 1;
}

/* ---- blocks ---- */

/* Its copy with hooks is executed only where something but the idle counter is to be done. */
static bool has_gate(const struct hook_block *block)
{
    return block->watch_gate && productions.idle.possible && block->end != END_SYSCALL;
}

static uint32_t count_bits(uint64_t bits)
{
    uint32_t count = 0;
    for (; bits; bits &= bits - 1)
        count++;
    return count;
}

/* The hooks; or, with `events`, only how many are to be counted at the gate. False: no room. */
static bool insns_as(const struct hook_block *block, struct hooks *h, uint32_t *events, bool *any)
{
    uint64_t pc = block->pc;
    for (uint32_t i = 0; i < block->count; pc += block->insns[i].length, i++) {
        struct production_site site;
        site_make(block, i, pc, h, &site);
        if (!site.mask)
            continue;
        *any = true;
        if (events) {
            *events += count_bits(site.mask & productions.idle.events);
            continue;
        }
        uint32_t number = site_number_as(h, &site);
        if (number == PRODUCTION_SITES ||
            !hook_call_as(h, site.is_indirect ? HOOK_INDIRECT : HOOK_BEFORE,
                          site.is_indirect ? 0 : i, productions_site_as, number))
            return false;
    }
    return true;
}

void productions_block_as(const struct hook_block *block, struct hooks *h)
{
    enum { AMOUNT_MOST = 64 }; /* of a gate */
    uint32_t events = 0;
    bool any = false, ok = true;
    if (!productions.program || productions.program->by_model)
        return;
    if (!block->observed && has_gate(block)) {
        insns_as(block, h, &events, &any);
        if (any && events <= AMOUNT_MOST) {
            ok = watch_gate_as(h, events, productions_alarm_as, events);
            any = false;
        }
    } else {
        any = true;
    }
    if (ok && any)
        ok = insns_as(block, h, NULL, &any);
    if (!ok)
        hook_refuse_as(h);
}

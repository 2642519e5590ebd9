#include "tools/productions_plan.h"

#include <stddef.h>

#include "sigsafe/key.h"
#include "tools/classify.h"
#include "tools/inline/watch.h"
#include "x86/insn.h"

enum { WORD = 8 /* a return address */ };

/* ---- images ---- */

/* Bit n: the image's file is called as program.images[n]. */
static uint32_t image_bits_find(const struct production_program *p, unsigned number)
{
    const struct spool *s = productions.spool;
    const struct spool_image *image =
        spool_at(s, __atomic_load_n(&spool_header(s)->images, __ATOMIC_ACQUIRE), sizeof *image);
    while (image && image->number != number)
        image = spool_at(s, image->next, sizeof *image);
    const struct spool_string *path =
        image ? spool_at(s, image->path, sizeof *path) : NULL;
    if (!path)
        return 0;
    uint32_t from = path->length, bits = 0;
    while (from && path->bytes[from - 1] != '/')
        from--;
    for (uint32_t i = 0; i < p->image_count && i < PRODUCTION_IMAGES; i++) {
        uint32_t at = 0;
        while (at < PRODUCTION_NAME && from + at < path->length && p->images[i][at] &&
               p->images[i][at] == path->bytes[from + at])
            at++;
        if (at && from + at == path->length && at < PRODUCTION_NAME && !p->images[i][at])
            bits |= UINT32_C(1) << i;
    }
    return bits;
}

static uint32_t image_bits(const struct production_program *p, unsigned number)
{
    enum { REMEMBERED = 64 };
    static struct { uint32_t number, bits; } seen[REMEMBERED]; /* under the engine's lock */
    if (!p->image_count || !number)
        return 0;
    uint32_t at = number % REMEMBERED;
    if (seen[at].number != number) {
        seen[at].bits = image_bits_find(p, number);
        seen[at].number = number;
    }
    return seen[at].bits;
}

/* ---- what patterns see ---- */

static uint32_t bit(unsigned n)
{
    return UINT32_C(1) << n;
}

static bool is_return(const struct x86_insn *insn)
{
    return insn->kind == X86_RET;
}

static bool is_call(const struct x86_insn *insn)
{
    return insn->kind == X86_CALL || insn->kind == X86_CALL_INDIRECT;
}

static uint32_t class_bits(const struct x86_insn *insn)
{
    switch (classify(insn)) {
    case CLASS_CALL: return bit(OPCLASS_PROC_CALL);
    case CLASS_RETURN: return bit(OPCLASS_PROC_RETURN);
    case CLASS_BRANCH: return bit(OPCLASS_BRANCH) | bit(OPCLASS_COND_BRANCH);
    case CLASS_JUMP: return bit(OPCLASS_BRANCH);
    case CLASS_INDIRECT: return bit(OPCLASS_JUMP);
    case CLASS_MOVE: return bit(OPCLASS_MOVE);
    case CLASS_INTEGER:
    case CLASS_ATOMIC: return bit(OPCLASS_INTEGER);
    case CLASS_MULTIPLY: return bit(OPCLASS_MULTIPLY);
    case CLASS_STRING: return bit(OPCLASS_STRING);
    case CLASS_X87: return bit(OPCLASS_X87);
    case CLASS_VECTOR:
    case CLASS_CRYPTO: return bit(OPCLASS_VECTOR);
    default: return 0;
    }
}

/* Escape bytes and the opcode. */
static uint32_t opcode_of(const struct x86_insn *insn)
{
    switch (insn->map) {
    case X86_MAP_ONE_BYTE: return insn->opcode;
    case X86_MAP_0F: return 0x0f00u | insn->opcode;
    case X86_MAP_0F38: return 0x0f3800u | insn->opcode;
    case X86_MAP_0F3A: return 0x0f3a00u | insn->opcode;
    default: return (uint32_t)insn->map << 16 | insn->opcode;
    }
}

/* The last bytes of an instruction that are no displacement; of branches they are none. */
static bool immediate_of(const struct x86_insn *insn, const uint8_t *code, int64_t *value)
{
    bool transfer = insn->kind == X86_JCC || insn->kind == X86_LOOP || insn->kind == X86_JMP ||
                    insn->kind == X86_CALL || x86_is_xbegin(insn);
    if (!insn->at_imm || transfer || !insn->imm_size || insn->imm_size > sizeof *value)
        return false;
    uint64_t bits = 0;
    for (unsigned i = insn->imm_size; i-- > 0;)
        bits = bits << 8 | code[insn->at_imm + i];
    unsigned unused = 64 - 8u * insn->imm_size;
    *value = (int64_t)(bits << unused) >> unused;
    return true;
}

/* Operands whose addresses general registers say; not where a call or return has its address. */
static void memory_of(struct production_site *site, const struct x86_insn *insn,
                      const uint8_t *code, uint64_t next, uint32_t *classes)
{
    struct x86_memory m[X86_MEMORY_MAX];
    unsigned count = x86_memory_as(insn, code, m);
    if (is_call(insn) || is_return(insn))
        count = count && is_call(insn) && insn->access & X86_MEM_READ ? 1 : 0;
    for (unsigned i = 0; i < count && site->memories < TUPLE_MEMORIES; i++) {
        if ((insn->traits & X86_VSIB && m[i].index != X86_NONE) || m[i].segment == X86_GS)
            continue;
        *classes |= bit(OPCLASS_MEM_OP) | (m[i].access & X86_MEM_READ ? bit(OPCLASS_LOAD) : 0) |
                    (m[i].access & X86_MEM_WRITE ? bit(OPCLASS_STORE) : 0);
        site->memory[site->memories++] = (struct tuple_memory){
            .disp = m[i].disp + (m[i].base == X86_RIP ? (int64_t)next : 0),
            .base = m[i].base == X86_RIP ? X86_NONE : m[i].base, .index = m[i].index,
            .scale = m[i].scale, .add8 = m[i].add8, .segment = m[i].segment == X86_FS,
            .address32 = m[i].address32, .size = m[i].size};
    }
}

static bool is_indirect(const struct hook_block *block, uint32_t index)
{
    return index + 1 == block->count &&
           (block->end == END_CALL_INDIRECT || block->end == END_JUMP_INDIRECT ||
            block->end == END_RETURN);
}

/* What the instruction is, and which productions match it. */
static void site_make(const struct hook_block *block, uint32_t index, uint64_t pc, struct hooks *h,
                      struct production_site *site)
{
    const struct production_program *p = productions.program;
    const struct x86_insn *insn = &block->insns[index];
    const uint8_t *code = block->code[index];
    struct production_trigger t = { .classes = bit(OPCLASS_ANY) | class_bits(insn), .pc = pc,
                                    .opcode = opcode_of(insn), .reads = insn->reads,
                                    .writes = insn->writes, .base = X86_NONE,
                                    .index = X86_NONE };
    *site = (struct production_site){ .key = hook_key_as(h, pc), .opcode = t.opcode,
                                      .is_call = is_call(insn),
                                      .is_indirect = is_indirect(block, index) };
    if (insn->access) {
        t.base = insn->base;
        t.index = insn->index;
    }
    t.offset = key_offset(site->key);
    t.images = image_bits(p, key_image(site->key));
    t.has_target = index + 1 == block->count && block->taken;
    t.target = t.has_target ? block->taken : 0;
    t.has_immediate = immediate_of(insn, code, &t.immediate);
    if (insn->kind == X86_SYSCALL)
        t.classes |= bit(OPCLASS_SYSCALL);
    memory_of(site, insn, code, pc + insn->length, &t.classes);
    site->immediate = t.immediate;
    if (site->is_indirect && (site->is_call || is_return(insn)))
        site->adjust = site->is_call ? WORD : -(WORD + (int32_t)t.immediate);
    site->mask = production_match(p, &t);
    if (site->mask && t.has_target)
        site->target_key = hook_key_as(h, t.target);
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
    uint64_t hash = site->key * UINT64_C(0x9e3779b97f4a7c15) >> 32;
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
    if (!productions.program)
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

#include "tools/values_warm.h"

#include "engine/hook_run.h"
#include "sigsafe/hash.h"
#include "sigsafe/settings.h"
#include "sigsafe/warm.h"
#include "x86/insn.h"

enum { BLOCKS = 1 << 20, SITES_OF_BLOCKS = BLOCKS * 8, BLOCKS_INDEX = BLOCKS * 2 };

/* Instructions that follow each other. */
struct warm_block {
    uint32_t first, count; /* warm.sites[first], ... */
    spool_ref ring;        /* that has its definition, the last of several; written by any thread.
                              One reads its own ring here only if it has defined the block in it */
};

static struct {
    struct warm_block *blocks; /* from 1 on */
    uint32_t *sites;           /* numbers of values_whole.c's */
    uint32_t *index;           /* by hash of the first site: the block; 0: free */
    uint32_t used, sites_used;
} warm;

bool values_warm_make_as(void)
{
    if (warm.blocks)
        own_unmap_as(warm.blocks, BLOCKS * sizeof *warm.blocks);
    if (warm.sites)
        own_unmap_as(warm.sites, SITES_OF_BLOCKS * sizeof *warm.sites);
    if (warm.index)
        own_unmap_as(warm.index, BLOCKS_INDEX * sizeof *warm.index);
    warm.blocks = memory_map_as(BLOCKS * sizeof *warm.blocks);
    warm.sites = memory_map_as(SITES_OF_BLOCKS * sizeof *warm.sites);
    warm.index = memory_map_as(BLOCKS_INDEX * sizeof *warm.index);
    warm.used = warm.sites_used = 0;
    return warm.blocks && warm.sites && warm.index;
}

/* ---- blocks ---- */

static bool same_sites(const struct warm_block *b, const uint32_t *sites, uint32_t count)
{
    bool same = b->count == count;
    for (uint32_t i = 0; same && i < count; i++)
        same = warm.sites[b->first + i] == sites[i];
    return same;
}

/* 0: there is no room. */
static uint32_t block_make(const uint32_t *sites, uint32_t count)
{
    uint32_t at = (uint32_t)(hash_word(sites[0]) >> 32) % BLOCKS_INDEX;
    for (; warm.index[at]; at = (at + 1) % BLOCKS_INDEX)
        if (same_sites(&warm.blocks[warm.index[at]], sites, count))
            return warm.index[at];
    if (warm.used + 1 >= BLOCKS || warm.sites_used + count > SITES_OF_BLOCKS)
        return 0;
    struct warm_block *b = &warm.blocks[warm.used + 1];
    b->first = warm.sites_used;
    b->count = count;
    for (uint32_t i = 0; i < count; i++)
        warm.sites[warm.sites_used++] = sites[i];
    return warm.index[at] = ++warm.used;
}

/* False: there is no room for one. */
static bool sites_make(const struct hook_block *block, const struct hooks *h, uint32_t *sites)
{
    uint64_t pc = block->pc; /* block->code may be a copy */
    if (block->count > WARM_INSNS_MOST)
        return false;
    for (uint32_t i = 0; i < block->count; pc += block->insns[i++].length) {
        sites[i] = values_site_make_as(h, pc, block->code[i], &block->insns[i]);
        if (!sites[i])
            return false;
    }
    return true;
}

static bool touched_append_as(struct hooks *h, uint32_t index, uint32_t site)
{
    const struct values_site *s = values_site(site);
    if (!s->plan.memories)
        return true;
    return hook_append_constant_as(h, HOOK_BEFORE, index, (uint32_t)TOUCHED << PART_SHIFT | site,
                                   4) &&
           values_registers_append_as(h, index, &s->plan) &&
           (!s->repeated || hook_append_register_as(h, HOOK_BEFORE, index, ENGINE_RCX, WORD));
}

static void no_room(struct hooks *h)
{
    __atomic_fetch_add(&values.tuples->dropped[TUPLE_DROP_RECORDS], 1, __ATOMIC_RELAXED);
    hook_refuse_as(h);
}

bool values_warm_block_as(const struct hook_block *block, struct hooks *h)
{
    uint32_t sites[WARM_INSNS_MOST], number;
    if (!block->count)
        return true;
    number = sites_make(block, h, sites) ? block_make(sites, block->count) : 0;
    if (!number) {
        no_room(h);
        return false;
    }
    uint32_t head = (uint32_t)ENTERED << PART_SHIFT | number;
    bool ok = hook_append_constant_as(h, HOOK_ENTRY, 0, head, 4);
    for (uint32_t i = 0; ok && i < block->count; i++)
        ok = touched_append_as(h, i, sites[i]);
    return ok;
}

bool values_warm_alone_make_as(const struct hook_block *block, struct hooks *h)
{
    uint32_t sites[WARM_INSNS_MOST];
    bool ok = sites_make(block, h, sites);
    for (uint32_t i = 0; ok && i < block->count; i++) {
        struct values_site *s = values_site(sites[i]);
        s->alone = s->alone ? s->alone : block_make(&sites[i], 1);
        ok = s->alone;
    }
    if (!ok)
        no_room(h);
    return ok;
}

/* ---- words ---- */

/* False, too, where a sequence of tuples is open, which words are not to get into. */
static bool room_make_as(struct values_flush *f, uint32_t words)
{
    struct tuple_cursor *c = f->c;
    if (c->at && c->at + words * WORD > f->warm.end)
        values_warm_end_as(f);
    if (c->at)
        return f->warm.end;
    if (f->warm.lost || !values_warm_sequence_as(f->thread, f->ring, WARM_WORDS_MOST)) {
        f->warm.lost = true; /* till the ring is emptied again */
        return false;
    }
    f->warm.end = c->begin + (uint64_t)WARM_WORDS_MOST * WORD;
    return true;
}

static inline void put(struct values_flush *f, uint64_t word)
{
    if (f->c->at + WORD > f->warm.end && !room_make_as(f, 1))
        return;
    *values_word_at(f, f->c->at) = word;
    f->c->at += WORD;
}

void values_warm_end_as(struct values_flush *f)
{
    if (!f->warm.end)
        return;
    tuples_publish_as(hook_spool(f->thread), f->ring, f->c->at);
    f->c->at = f->warm.end = 0;
}

/* In one sequence; not where a record has no room. */
static bool define_as(struct values_flush *f, uint32_t number)
{
    struct warm_block *b = &warm.blocks[number];
    uint32_t ids[WARM_INSNS_MOST + 1] = {0};
    for (uint32_t i = 0; i < b->count; i++)
        if (!values_record_find_as(f->thread, values_site(warm.sites[b->first + i]), &ids[i]))
            return false;
    if (!room_make_as(f, 1 + (b->count + 1) / 2))
        return false;
    put(f, warm_word(WARM_DEFINE, (uint64_t)b->count << WARM_COUNT_SHIFT | number));
    for (uint32_t i = 0; i < b->count; i += 2)
        put(f, ids[i] | (uint64_t)ids[i + 1] << 32);
    return true;
}

void values_warm_enter_as(struct values_flush *f, uint32_t block)
{
    spool_ref ring = spool_ref_of(hook_spool(f->thread), f->ring), *of = &warm.blocks[block].ring;
    f->warm.slot = 0;
    f->warm.repeat = 1;
    if (__atomic_load_n(of, __ATOMIC_RELAXED) != ring) {
        if (!define_as(f, block))
            return;
        __atomic_store_n(of, ring, __ATOMIC_RELAXED);
    }
    put(f, warm_word(WARM_ENTER, block));
}

/* Does it change the state of a cache that has had what was touched before? */
static inline bool changes(struct values_flush *f, const struct tuple_insn *r, unsigned operand,
                           uint64_t address)
{
    uint64_t line = address >> WARM_LINE_SHIFT, end = address + r->memory[operand].size - 1;
    uint64_t *last = &f->warm.lines[line & f->warm.mask];
    bool same = *last >> 1 == line, stored = r->stores >> operand & 1;
    if (same && (*last & 1 || !stored) && end >> WARM_LINE_SHIFT == line)
        return false;
    *last = line << 1 | (stored || (same && *last & 1));
    return true;
}

/* The operands' addresses without what FS adds, which is the same all the time: read now. */
static inline void addresses_take(struct values_flush *f, const struct tuple_insn *r,
                                  uint64_t address[TUPLE_MEMORIES])
{
    for (unsigned i = 0; i < r->memories; i++) {
        address[i] = values_address_take(f, &r->memory[i]);
        if (r->memory[i].segment)
            address[i] += memory_fs_base_as();
    }
}

static void repeat(struct values_flush *f, uint64_t count)
{
    if (f->warm.repeat != count)
        put(f, warm_word(WARM_REPEAT, count));
    f->warm.repeat = count;
}

static inline void touch(struct values_flush *f, const struct tuple_insn *r,
                         const uint64_t address[TUPLE_MEMORIES], uint64_t count)
{
    if (f->warm.repeat != count)
        repeat(f, count);
    for (unsigned i = 0; i < r->memories; i++, f->warm.slot++)
        if (changes(f, r, i, address[i]) || count != 1)
            put(f, warm_word(f->warm.slot, address[i]));
}

void values_warm_touched_as(struct values_flush *f, uint32_t site)
{
    const struct values_site *s = values_site(site);
    uint64_t address[TUPLE_MEMORIES];
    addresses_take(f, &s->plan, address);
    touch(f, &s->plan, address, s->repeated ? take64(&f->from) : 1);
}

void values_warm_alone_as(struct values_flush *f, const struct values_site *s)
{
    if (s->alone)
        values_warm_enter_as(f, s->alone);
}

void values_warm_touch_as(struct values_flush *f, const struct tuple_insn *r)
{
    uint64_t address[TUPLE_MEMORIES];
    addresses_take(f, r, address);
    touch(f, r, address, 1);
}

/* How the addresses of each load and store follow one another: strides, runs, spans, lines (what is
 * kept: sigsafe/spool_streams.h). Of every instruction's memory operands but the implicit ones on
 * the stack (push, pop, call, return) and those whose address no general register says (gathers).
 *
 *      block entry       id                              4 bytes
 *      before an access  id, base, index                 4, and 8 for each register that there is
 *
 * An access's record stands alone: a signal or a fault may end a block anywhere between two of
 * them. The address is base + index * scale + displacement, without what FS adds; of a repeated
 * string instruction it is the first element's.
 *
 * Context: block_as under the engine's lock; the rest in the thread concerned.
 * Ownership: what is known of accesses, and each thread's rows, stay until the process ends. */
#include <stddef.h>

#include "sigsafe/spool_streams.h"
#include "tools/classify.h"
#include "tools/rows.h"
#include "tools/tools.h"

/* What is known of an id. */
struct access {
    int64_t base;    /* what is added to the registers; rip-relative: the address */
    uint8_t scale;   /* of the index; 0: none */
    bool has_base;
    bool is_access;  /* else a block */
};

enum { IDS = 1 << 23 }; /* with room in the engine's common memory: more than its code cache has */

/* Written before there is code that appends the id. */
static struct access *access_make_as(const struct hooks *h, uint32_t id)
{
    struct access *a = NULL;
    return hook_common_as(h, (uint64_t)id * sizeof *a, sizeof *a);
}

/* True if general registers and the displacement say where it is. */
static bool is_followed(const struct x86_insn *insn, const struct x86_memory *m)
{
    if (insn->traits & X86_VSIB || m->add8 != X86_NONE || m->address32 || !m->size)
        return false;
    return m->base != X86_RSP || insn->access; /* push and its kin have no operand of their own */
}

static bool access_as(const struct hook_block *block, uint32_t index, uint64_t next,
                      const struct x86_memory *m, struct hooks *h)
{
    struct spool_thing thing = {
        .key = hook_key_as(h, next - block->insns[index].length),
        .kind = THING_ACCESS,
        .access = {.bytes = m->size,
                   .way = (uint16_t)((m->access & X86_MEM_READ ? ACCESS_LOAD : 0) |
                                     (m->access & X86_MEM_WRITE ? ACCESS_STORE : 0))},
    };
    uint32_t id = hook_thing_new_as(h, &thing);
    struct access *a = id < COUNTS_IDS_MAX ? access_make_as(h, id) : NULL;
    if (!a)
        return false;
    bool has_base = m->base != X86_NONE && m->base != X86_RIP, has_index = m->index != X86_NONE;
    *a = (struct access){ .base = m->disp + (m->base == X86_RIP ? (int64_t)next : 0),
                          .scale = has_index ? m->scale : 0, .has_base = has_base,
                          .is_access = true };
    return hook_append_constant_as(h, HOOK_BEFORE, index, id, 4) &&
           (!has_base || hook_append_register_as(h, HOOK_BEFORE, index,
                                                 (enum engine_register)m->base, 8)) &&
           (!has_index || hook_append_register_as(h, HOOK_BEFORE, index,
                                                  (enum engine_register)m->index, 8));
}

static bool accesses_as(const struct hook_block *block, struct hooks *h)
{
    uint64_t next = block->pc;
    for (uint32_t i = 0; i < block->count; i++) {
        struct x86_memory memory[X86_MEMORY_MAX];
        const struct x86_insn *insn = &block->insns[i];
        unsigned count = x86_memory_as(insn, block->code[i], memory);
        next += insn->length;
        for (unsigned k = 0; k < count; k++)
            if (is_followed(insn, &memory[k]) && !access_as(block, i, next, &memory[k], h))
                return false;
    }
    return true;
}

static void block_as(const struct hook_block *block, struct hooks *h)
{
    struct spool_thing thing = classify_block_as(h, block);
    uint32_t id = hook_thing_make_as(h, &thing);
    struct access *a = id < COUNTS_IDS_MAX ? access_make_as(h, id) : NULL;
    if (a)
        *a = (struct access){ .is_access = false };
    if (!a || !hook_append_constant_as(h, HOOK_ENTRY, 0, id, 4) || !accesses_as(block, h))
        hook_refuse_as(h);
}

/* ---- addresses ---- */

static void flush_as(struct engine_thread *t, const uint8_t *records, uint64_t size, bool ends)
{
    (void)ends;
    struct rows_store *s = t->tools[TOOL_STREAMS];
    struct records r = { records };
    const struct access *accesses = hook_common(t, TOOL_STREAMS);
    if (!s || !s->record)
        return;
    while (r.at < records + size) {
        uint32_t id = take32(&r);
        const struct access *a = &accesses[id];
        struct spool_stream *row = rows_find_as(t, s, id);
        uint64_t address = (uint64_t)a->base;
        if (a->has_base)
            address += take64(&r);
        if (a->scale)
            address += take64(&r) * a->scale;
        if (!row)
            s->record->missed += a->is_access;
        else if (a->is_access)
            stream_access_as(row, address);
        else
            row->count++;
    }
}

static bool thread_begin_as(struct engine_thread *t)
{
    return rows_thread_begin_as(t, sizeof(struct rows_store), TOOL_STREAMS, TABLE_STREAMS,
                                STREAM_LAYOUT);
}

const struct tool tool_streams = {
    .flags = TOOL_STEALS_R15 | TOOL_SHARED,
    .common_size = IDS * sizeof(struct access),
    .block = block_as,
    .thread_begin = thread_begin_as,
    .flush = flush_as,
};

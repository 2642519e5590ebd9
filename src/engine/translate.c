#include "engine/translate.h"

#include "engine/inline.h"
#include "engine/link.h"
#include "engine/lookup.h"
#include "engine/pairs.h"
#include "engine/prologue.h"
#include "sigsafe/prefetch.h"
#include "sigsafe/sys.h"

/* One span of at most 255 bytes each. */
static void span_add(struct translation *x, enum span_kind kind, uint32_t length, uint32_t size,
                     uint32_t spilled)
{
    struct blocks *b = &x->e->blocks;
    *span_at(b, b->spans_used++) = (struct span){ .length = (uint8_t)length, .size = (uint8_t)size,
                                                  .kind = (uint8_t)kind, .spilled =
                                                      (uint8_t)spilled };
    x->block->span_count++;
}

void span_close_as(struct translation *x, enum span_kind kind, uint32_t size, uint32_t spilled)
{
    uint32_t length = (uint32_t)(x->hot.at - x->mark);
    x->mark = x->hot.at;
    if (x->borrowed != X86_RSP && kind != SPAN_BETWEEN) {
        spilled = x->borrowed | (kind == SPAN_CORE ? spilled & 0xf0 : X86_RSP << 4);
        kind = SPAN_CORE;
    }
    if (kind == SPAN_COPY && x->block->span_count) {
        struct span *last = span_at(&x->e->blocks, x->e->blocks.spans_used - 1);
        if (last->kind == SPAN_COPY && last->length + length <= UINT8_MAX) {
            last->length = (uint8_t)(last->length + length);
            last->size = (uint8_t)(last->size + size);
            return;
        }
    }
    while (length > UINT8_MAX) { /* what is no copy stands for nothing before its last byte */
        uint32_t part = kind == SPAN_COPY ? UINT8_MAX : 0;
        span_add(x, kind, UINT8_MAX, part, spilled);
        length -= UINT8_MAX;
        size -= part;
    }
    if (length || size)
        span_add(x, kind, length, size, spilled);
}

/* What decoding does with an instruction of each kind. */
enum treatment { COPY, COPY_AND_END, END, STOP };

struct rule {
    uint8_t treatment;
    uint8_t how; /* enum block_end, or enum stop_reason */
};

static const struct rule rules[X86_KINDS] = {
    [X86_INVALID] = { STOP, STOP_INVALID },
    [X86_TRUNCATED] = { STOP, STOP_UNREADABLE },
    [X86_ORDINARY] = { COPY, 0 },
    [X86_JCC] = { END, END_BRANCH },
    [X86_LOOP] = { END, END_BRANCH },
    [X86_JMP] = { END, END_JUMP },
    [X86_CALL] = { END, END_CALL },
    [X86_JMP_INDIRECT] = { END, END_JUMP_INDIRECT },
    [X86_CALL_INDIRECT] = { END, END_CALL_INDIRECT },
    [X86_RET] = { END, END_RETURN },
    [X86_FAR] = { STOP, STOP_FAR_TRANSFER },
    [X86_NEAR16] = { STOP, STOP_UNSUPPORTED },
    [X86_SYSCALL] = { END, END_SYSCALL },
    [X86_SYSENTER] = { STOP, STOP_FAR_TRANSFER },
    [X86_INT] = { STOP, STOP_UNSUPPORTED },
    [X86_INT3] = { COPY, 0 },
    [X86_INT1] = { COPY, 0 },
    [X86_UD] = { COPY_AND_END, 0 },
    [X86_PRIVILEGED] = { COPY, 0 },
    /* outside a transaction: xend faults, xabort does nothing. xbegin: transaction_begin */
    [X86_TSX] = { COPY, 0 },
    [X86_NONDET] = { COPY, 0 },
    [X86_STRING_REP] = { COPY, 0 },
    [X86_PUSHF] = { COPY, 0 },
    [X86_POPF] = { COPY, 0 },
    [X86_FSGSBASE] = { COPY, 0 },
    [X86_SEGMENT] = { COPY, 0 },
    [X86_FPU_STATE] = { COPY, 0 },
    [X86_OTHER] = { STOP, STOP_UNSUPPORTED },
};

/* True if the instruction reads, writes or addresses through GS. */
static bool uses_gs(const struct x86_insn *insn, const uint8_t *code)
{
    if (insn->traits & X86_GS && insn->kind != X86_JCC)
        return true;
    if (insn->kind == X86_FSGSBASE) /* rdfsbase, rdgsbase, wrfsbase, wrgsbase */
        return code[insn->at_modrm] & 8;
    if (insn->kind != X86_SEGMENT)
        return false;
    if (insn->map == X86_MAP_ONE_BYTE) /* mov sreg, r/m */
        return insn->opcode == 0x8e && (code[insn->at_modrm] >> 3 & 7) == 5;
    return insn->opcode == 0xa9 || insn->opcode == 0xb5; /* pop gs, lgs */
}

/* True if the instruction may leave the processor in a state that only native code can be in:
 * bursts run with SIGTRAP blocked. */
static bool may_trap(const struct x86_insn *insn)
{
    return insn->kind == X86_INT3 || insn->kind == X86_INT1 || insn->kind == X86_POPF;
}

/* Why the instruction cannot be translated; STOP_COUNT: it can. */
static enum stop_reason refusal(const struct engine *e, const struct x86_insn *insn,
                                const uint8_t *code)
{
    if (insn->kind == X86_ORDINARY && !(insn->traits & X86_GS)) /* most */
        return STOP_COUNT;
    if (rules[insn->kind].treatment == STOP)
        return rules[insn->kind].how;
    if (e->config.budget && may_trap(insn))
        return STOP_UNSUPPORTED;
    return uses_gs(insn, code) ? STOP_GS : STOP_COUNT;
}

/* Notes where code comes from, for engine_invalidate_as. */
static void range_note(struct engine *e, const struct trust_range *range)
{
    uint32_t i = 0;
    while (i < e->range_count && (e->ranges[i].lo > range->lo || e->ranges[i].hi < range->hi))
        i++;
    if (i == e->range_count && i < ENGINE_RANGES) {
        e->ranges[i].lo = range->lo;
        e->ranges[i].hi = range->hi;
        e->range_count++;
    }
}

/* Bytes that may be read at pc; asks for trust where the last answer ends. */
static uint64_t available_as(struct translation *x, uint64_t pc)
{
    struct engine *e = x->e;
    while (pc >= x->range.hi || x->range.hi - pc < 15) {
        struct trust_range more = e->config.carrier->trust(e->config.carrier_data, x->range.hi);
        if (more.trust == TRUST_NONE || x->range.hi < more.lo || x->range.hi >= more.hi)
            break;
        x->range.hi = more.hi;
        range_note(e, &more);
        if (more.trust < x->range.trust)
            x->range.trust = more.trust;
    }
    return pc < x->range.hi ? x->range.hi - pc : 0;
}

/* Another thread may write the code while it is read here: whatever is decoded, compared with later
 * and copied must be the same bytes. */
static const uint8_t *bytes_as(struct translation *x, uint64_t pc, uint64_t *available)
{
    const uint8_t *code = (const uint8_t *)(uintptr_t)pc;
    if (x->range.trust == TRUST_FIXED)
        return code;
    uint8_t *copy = x->e->copied + (pc - x->pc);
    if (*available > INSN_MOST)
        *available = INSN_MOST;
    for (uint64_t i = 0; i < *available; i++)
        copy[i] = ((const volatile uint8_t *)code)[i];
    return copy;
}

/* xbegin may abort at any time, and does at once: a jump to where it says, the reason in eax.
 * Processors that have none raise #UD. */
static enum treatment transaction_begin(struct translation *x, const struct x86_insn *insn,
                                        const uint8_t *code)
{
    if (!x->e->transactions)
        return COPY_AND_END;
    x->end = END_JUMP;
    x->taken = x->next + (uint64_t)(int64_t)x86_relative_as(insn, code);
    return END;
}

/* Decodes the instruction at pc. STOP: the block ends before it, because it cannot be translated;
 * x->why. */
static enum treatment decode_one_as(struct translation *x, uint64_t pc)
{
    struct engine *e = x->e;
    struct x86_insn *insn = &e->insns[x->count];
    enum trust trust = x->range.trust;
    uint64_t available = pc < x->range.hi ? x->range.hi - pc : 0;
    if (available < INSN_MOST)
        available = available_as(x, pc);
    /* Where trust ends, so does the block. */
    x->why = STOP_UNREADABLE;
    if (!pc || (x->count && x->range.trust != trust))
        return STOP;
    const uint8_t *code = bytes_as(x, pc, &available);
    x86_shape_as(code, available, insn);
    x->why = refusal(e, insn, code);
    if (x->why != STOP_COUNT)
        return STOP;
    e->code[x->count++] = code;
    x->next = pc + insn->length;
    struct rule rule = rules[insn->kind];
    if (x86_is_xbegin(insn))
        return transaction_begin(x, insn, code);
    if (rule.treatment != END)
        return rule.treatment;
    x->end = rule.how;
    if (x->end == END_BRANCH || x->end == END_JUMP || x->end == END_CALL) {
        x->taken = x->next + (uint64_t)(int64_t)x86_relative_as(insn, code);
        if (x->end != END_BRANCH)
            code_prefetch(x->taken);
    }
    return END;
}

/* True if the instruction may have changed what comes behind it in its block. What is written above
 * the stack pointer or at a known address far from the block is other memory. */
static bool may_write_code(const struct translation *x)
{
    struct x86_insn *insn = &x->e->insns[x->count - 1];
    struct x86_memory m[X86_MEMORY_MAX];
    x86_uses_as(insn, x->e->code[x->count - 1]);
    if (!(insn->access & (X86_MEM_WRITE | X86_MEM_STACK)))
        return false;
    unsigned count = x86_memory_as(insn, x->e->code[x->count - 1], m);
    for (unsigned i = 0; i < count; i++)
        if (m[i].access & X86_MEM_WRITE && m[i].base != X86_RSP &&
            (m[i].base != X86_RIP || !m[i].size ||
             x->next + (uint64_t)m[i].disp - x->pc + m[i].size < BLOCK_INSNS * INSN_MOST))
            return true;
    return false;
}

/* Decodes the block at pc, which lies in x->range. x->count is 0 if there is none. */
static void decode_as(struct translation *x, uint64_t pc)
{
    code_prefetch(pc + 64);
    code_prefetch(pc + 128);
    x->pc = x->next = pc;
    x->taken = 0;
    x->count = 0;
    x->end = END_FALL;
    while (x->count < x->limit && (x->next != x->stop_at || !x->count))
        if (decode_one_as(x, x->next) != COPY ||
            (x->range.trust < TRUST_FIXED && may_write_code(x)))
            break;
    /* Whether these are there will be asked when the block has been written. */
    blocks_prefetch(&x->e->blocks, x->next);
    if (x->taken)
        blocks_prefetch(&x->e->blocks, x->taken);
}

/* Copies instructions [from, to), which are used as they are. */
static void copy_run(struct translation *x, uint32_t from, uint32_t to)
{
    if (from == to)
        return;
    const uint8_t *begin = x->e->code[from];
    uint32_t size = (uint32_t)(x->e->code[to - 1] + x->e->insns[to - 1].length - begin);
    uint8_t *at = x->hot.at;
    typedef struct { uint64_t v; } __attribute__((packed, may_alias)) word;
    uint32_t i = 0;
    for (; i + 8 <= size; i += 8)
        ((word *)(void *)(at + i))->v = ((const word *)(const void *)(begin + i))->v;
    for (; i < size; i++)
        at[i] = begin[i];
    x->hot.at += size;
    span_close_as(x, SPAN_COPY, size, 0);
}

static void body_emit_as(struct translation *x)
{
    struct engine *e = x->e;
    uint32_t last = x->end == END_FALL ? x->count : x->count - 1;
    uint32_t run = 0;
    for (uint32_t i = 0; i < last; i++) {
        if (relocate_needless(e, &e->insns[i]))
            continue;
        copy_run(x, run, i);
        relocate_as(x, i);
        run = i + 1;
    }
    copy_run(x, run, last);
}

/* The same with hooks around single instructions. */
static void body_emit_hooked_as(struct translation *x)
{
    struct engine *e = x->e;
    uint32_t last = x->end == END_FALL ? x->count : x->count - 1;
    for (uint32_t i = 0; i < x->count; i++) {
        hooks_emit_as(x, HOOK_BEFORE, i, e->live[i]);
        if (i == last)
            break;
        hook_time_begin_as(x, i);
        if (relocate_needless(e, &e->insns[i]))
            copy_run(x, i, i + 1);
        else
            relocate_as(x, i);
        hook_time_end_as(x, i);
        hooks_emit_as(x, HOOK_AFTER, i, e->live[i + 1]);
    }
}

static uint8_t flags_at(const struct translation *x, uint64_t pc)
{
    bool known = x->range.trust == TRUST_FIXED && pc >= x->range.lo && pc < x->range.hi;
    return known ? liveness_ahead((const uint8_t *)(uintptr_t)pc, x->range.hi - pc) : UINT8_MAX;
}

/* Flags that are live behind the block. To look for those of the code there pays where there are
 * many hooks. */
static uint8_t flags_behind(const struct translation *x)
{
    if (!x->hooked || !(x->e->flags & (TOOL_LEADS | TOOL_WATCHES)) || x->e->faults_seen)
        return UINT8_MAX;
    switch (x->end) {
    case END_FALL: return flags_at(x, x->next);
    case END_JUMP:
    case END_CALL: return flags_at(x, x->taken);
    case END_BRANCH: return flags_at(x, x->next) | flags_at(x, x->taken);
    default: return UINT8_MAX;
    }
}

/* What hooks may not change. */
static void liveness_make(struct translation *x)
{
    struct engine *e = x->e;
    uint8_t flags = flags_behind(x);
    x->block->flags |= flags == UINT8_MAX ? 0 : BLOCK_LOOKED;
    if (e->flags & TOOL_DEAD && e->config.tools.count > 1)
        for (uint32_t i = 0; i <= x->count; i++)
            e->live[i] = (struct live){UINT16_MAX, UINT8_MAX};
    else
        liveness_scan(e->insns, x->count, flags, e->faults_seen ? UINT8_MAX : 0, e->live);
}

/* What stands before the first instruction, and the instructions but for the end. */
static void block_code_as(struct translation *x, bool checked)
{
    struct engine *e = x->e;
    bool tool = x->hooked;
    if (tool)
        liveness_make(x);
    if (checked)
        prologue_check_as(x);
    if (tool && x->looks)
        prologue_ring_as(x, e->live[0].flags);
    if (e->config.budget && !x->tail && !x->late && !x->observed && !loose_in_ring(e))
        prologue_budget_as(x);
    if (tool)
        hooks_emit_as(x, HOOK_ENTRY, 0, e->live[0]);
    if (tool && e->hooks.inside)
        body_emit_hooked_as(x);
    else
        body_emit_as(x);
}

/* Writes the decoded block; returns where it runs on to, or 0. `before`: the exit that runs on into
 * it, or none. */
static uint64_t block_emit_as(struct translation *x, uint32_t before)
{
    struct engine *e = x->e;
    struct blocks *b = &e->blocks;
    bool checked = x->range.trust < TRUST_FIXED;
    x->number = b->used;
    x->block = block_at(b, x->number);
    *x->block = (struct block){
        .pc = x->pc,
        .body = cache_offset(&e->cache, x->hot.at),
        .first_span = b->spans_used,
        .size = (uint16_t)(x->next - x->pc),
        .count = (uint8_t)x->count,
        .tail = x->late       ? BLOCK_LATE
                : x->observed ? BLOCK_OBSERVED
                : x->tail     ? (uint16_t)x->limit
                              : 0,
        .flags = (uint8_t)((before ? BLOCK_LAID : 0) | (checked ? BLOCK_CHECKED : 0)),
    };
    x->mark = x->hot.at;
    x->borrowed = X86_RSP;
    if (before)
        link_set_as(e, before, x->block);
    block_publish_as(b, x->number); /* it may link to itself */
    block_code_as(x, checked);
    e->figures.blocks++;
    e->figures.instructions += x->count;
    return end_emit_as(x);
}

/* The block is complete: recovery may find it. */
static void block_finish_as(struct translation *x)
{
    struct engine *e = x->e;
    x->block->code_size = (uint16_t)(cache_offset(&e->cache, x->hot.at) - x->block->body);
    __atomic_store_n(&e->blocks.used, x->number + 1, __ATOMIC_RELEASE);
    e->cache.hot = cache_offset(&e->cache, x->hot.at);
}

static bool range_find_as(struct translation *x, uint64_t pc)
{
    struct engine *e = x->e;
    for (uint32_t i = 0; i < ENGINE_TRUSTED; i++)
        if (pc >= e->trusted[i].lo && pc < e->trusted[i].hi) {
            x->range = e->trusted[i];
            return true;
        }
    x->range = e->config.carrier->trust(e->config.carrier_data, pc);
    if (x->range.trust == TRUST_NONE || pc < x->range.lo || pc >= x->range.hi)
        return false;
    if (x->range.trust >= TRUST_MAPPED)
        e->trusted[e->trusted_next++ % ENGINE_TRUSTED] = x->range;
    range_note(e, &x->range);
    return true;
}

/* The block becomes its first instructions. */
static void cut(struct translation *x, uint32_t count)
{
    const struct engine *e = x->e;
    x->count = count;
    x->end = END_FALL;
    x->taken = 0;
    x->next = x->pc + (uint64_t)(e->code[count - 1] - e->code[0]) + e->insns[count - 1].length;
}

/* Asks the tools; where they want more than fits, about half of it, and half of that. */
static bool ask_as(struct translation *x)
{
    while (!hooks_ask_as(x)) {
        if (!x->e->hooks.crowded || x->late || x->observed || x->count < 2)
            return false;
        cut(x, x->count / 2);
        x->tail = false;
    }
    return true;
}

static bool tool_sees(const struct translation *x, uint64_t pc)
{
    const struct engine *e = x->e;
    return e->hooks_any && (x->late || !e->config.late) &&
           (e->flags & TOOL_OWN || !engine_is_own(e, pc));
}

/* Decodes the block at pc, and asks the tool about it. False: x->why. */
static bool consider_as(struct translation *x, uint64_t pc)
{
    struct engine *e = x->e;
    bool end = x->stop_at && pc == x->stop_at;
    x->why = end ? STOP_ADDRESS : STOP_UNREADABLE;
    if (end || !range_find_as(x, pc))
        return false;
    decode_as(x, pc);
    if (!x->count)
        return false;
    if (x->count > x->spare) {
        if (x->number != BLOCK_NONE) /* it was only to be made ahead */
            return false;
        if (e->config.late) {
            x->late = true;
        } else { /* only what the budget suffices for */
            cut(x, x->spare);
            x->tail = true;
            x->limit = x->spare;
        }
    }
    x->why = STOP_COUNTERS_FULL;
    x->hooked = tool_sees(x, pc);
    for (uint32_t i = 0; (x->hooked || e->steals) && i < x->count; i++)
        x86_uses_as(&e->insns[i], e->code[i]);
    return !x->hooked || ask_as(x);
}

/* A short burst goes one way at a branch, and seldom comes back from a call: made ahead is what it
 * must reach. */
static bool reached(const struct translation *x, uint64_t pc)
{
    return !x->brief || x->end == END_FALL || (x->end != END_BRANCH && pc == x->taken);
}

/* Can the block at pc be made now, to be laid behind the one just written? Code that is not to be
 * trusted is not translated before it runs: it may not have been written yet. */
static bool ahead_as(struct translation *x, uint64_t pc, uint32_t made)
{
    return made < TRANSLATE_AHEAD && !x->tail && !x->late && !x->observed &&
           x->range.trust == TRUST_FIXED && reached(x, pc) &&
           !block_find_as(&x->e->blocks, pc, 0) && consider_as(x, pc) &&
           x->range.trust == TRUST_FIXED;
}

/* Code that will be wanted when a call returns: made now, with an entry, it saves the dispatch. */
static void return_note(struct translation *x)
{
    if ((x->end == END_CALL || x->end == END_CALL_INDIRECT) && !x->block->after &&
        x->returns_count < AHEAD_RETURNS && x->range.trust == TRUST_FIXED && !x->brief) {
        lookup_prefetch(x->e, x->next);
        x->returns[x->returns_count++] = x->next;
    }
}

/* From when the block before was finished, or the request came: decoding and asking the tool
 * included. */
static void block_time(struct translation *x)
{
    uint64_t now = sys_ticks_as();
    engine_latency_as(x->e, LATENCY_TRANSLATION, now - x->begun);
    x->begun = now;
}

/* The decoded block, and the next few that it runs on to, one behind the other. */
static void chain_emit_as(struct translation *x)
{
    uint32_t before = EXIT_NONE;
    for (uint32_t made = 1;; made++) {
        uint64_t on = block_emit_as(x, before);
        block_finish_as(x);
        return_note(x);
        x->spare -= x->spare == UINT32_MAX ? 0 : x->count;
        bool more = on && ahead_as(x, on, made);
        if (on && !more) {
            end_jump_as(x, on);
            block_finish_as(x);
        }
        block_time(x);
        if (!more)
            return;
        before = exit_make_as(x->e, x->number, EXIT_LINK, on);
    }
}

/* The decoded block and its chain, with an indirect entry if asked for. Returns its number; 0: the
 * cache is full. */
static uint32_t chain_make_as(struct translation *x, bool entered)
{
    struct engine *e = x->e;
    if (!blocks_reserve_as(&e->blocks) ||
        !cache_reserve_as(&e->cache, TRANSLATE_ROOM * TRANSLATE_AHEAD))
        return BLOCK_NONE;
    uint8_t *at = cache_at(&e->cache, e->cache.hot);
    x->hot = (struct emit){ .at = at, .end = cache_at(&e->cache, e->cache.cold) };
    uint32_t first = e->blocks.used;
    uint32_t entry = entered ? lookup_entry_emit_as(e, &x->hot, x->pc) : 0;
    chain_emit_as(x);
    if (entry)
        lookup_enter_as(e, block_at(&e->blocks, first), entry);
    return first;
}

/* What paired call `number` goes to, made unless it is there. */
static void callee_ahead_as(struct translation *x, uint32_t number)
{
    struct engine *e = x->e;
    uint64_t pc = x->calls[number].pc;
    struct block *block = block_find_as(&e->blocks, pc, 0);
    if (!block && consider_as(x, pc) && x->range.trust == TRUST_FIXED) {
        uint32_t made = chain_make_as(x, false);
        block = made ? block_at(&e->blocks, made) : NULL;
    }
    if (block)
        link_set_as(e, x->calls[number].exit, block);
}

/* Field by field: for an initializer as large as this clang calls memset, and libc's uses vector
 * registers, which are the program's. */
static void translation_begin(struct translation *x, struct engine *e,
                              const struct request *request)
{
    x->e = e;
    x->hot.at = x->hot.end = NULL;
    x->hot.bias = 0;
    x->hot.overflow = x->hot.unreachable = false;
    x->stop_at = request->stop_at;
    x->range = (struct trust_range){ 0 };
    x->pc = x->next = x->taken = 0;
    x->count = 0;
    x->end = END_FALL;
    x->late = request->tail == BLOCK_LATE;
    x->observed = request->tail == BLOCK_OBSERVED;
    x->gate = request->gate;
    x->tail = request->tail && !x->late && !x->observed;
    x->limit = request->limit;
    x->spare = request->spare;
    x->brief = request->spare < BRIEF || e->config.late;
    x->hooked = x->looks = false;
    x->why = STOP_COUNT;
    x->returns_count = x->call_count = 0;
    x->number = BLOCK_NONE;
    x->block = NULL;
    x->mark = NULL;
    x->borrowed = X86_RSP;
}

void translate_soon_as(const struct engine *e)
{
    enum { LINE = 64, INSNS_LINES = 4 };
    x86_tables_prefetch_as();
    blocks_prefetch_end(&e->blocks);
    cache_prefetch(&e->cache);
    for (unsigned i = 0; i < INSNS_LINES; i++)
        prefetch_write((const char *)e->insns + LINE * i);
    prefetch_write(e->code);
}

struct block *translate_as(struct engine *e, struct request request, enum stop_reason *why)
{
    struct translation x;
    translation_begin(&x, e, &request);
    uint64_t begin = x.begun = sys_ticks_as();
    pairs_consider_as(e);
    if (!consider_as(&x, request.pc)) {
        *why = x.why;
        return NULL;
    }
    *why = STOP_CACHE_FULL;
    uint32_t first = chain_make_as(&x, request.entry && !x.late && !x.tail);
    if (!first)
        return NULL;
    x.observed = false;
    for (uint32_t i = 0; i < x.returns_count; i++)
        if (!block_find_as(&e->blocks, x.returns[i], 0) && consider_as(&x, x.returns[i]) &&
            x.range.trust == TRUST_FIXED)
            chain_make_as(&x, true);
    for (uint32_t i = 0; i < x.call_count && !x.brief; i++)
        callee_ahead_as(&x, i);
    e->figures.translate_ticks += x.begun - begin;
    return block_at(&e->blocks, first);
}

#include "engine/hook.h"

#include "engine/hook_line.h"
#include "engine/hook_run.h"
#include "engine/inline.h"
#include "engine/ring.h"
#include "engine/translate.h"
#include "sigsafe/hash.h"
#include "sigsafe/key.h"
#include "sigsafe/sys.h"

enum hook_kind { HOOK_COUNT, HOOK_APPEND_CONSTANT, HOOK_APPEND_REGISTER, HOOK_CALL, HOOK_LINE,
                HOOK_INLINE };

/* Of a block's code. The rest is for its instructions. */
enum { HOOK_HOT = 72 /* bytes of one that is no piece */, HOOK_TIMED = 168,
      HOOKS_ROOM = TRANSLATE_ROOM - (16 << 10) };

/* Lists: entry, taken, fall, indirect, before 0 ..., after 0 ... */
static uint32_t list_of(enum hook_point point, uint32_t index)
{
    switch (point) {
    case HOOK_ENTRY: return 0;
    case HOOK_TAKEN: return 1;
    case HOOK_FALL: return 2;
    case HOOK_INDIRECT: return 3;
    case HOOK_BEFORE: return 4 + index;
    case HOOK_AFTER: break;
    }
    return 4 + BLOCK_INSNS + index;
}

static bool room_take(struct hooks *h, uint32_t bytes)
{
    h->crowded |= h->room + bytes > HOOKS_ROOM;
    h->room += h->crowded ? 0 : bytes;
    return !h->crowded;
}

static struct hook *hook_add(struct hooks *h, enum hook_point point, uint32_t index,
                             enum hook_kind kind, uint32_t room)
{
    h->crowded |= h->count == HOOKS_MOST;
    if (index >= BLOCK_INSNS || !room_take(h, room))
        return NULL;
    uint32_t list = list_of(point, index);
    struct hook *hook = &h->hooks[h->count++];
    hook->next = 0;
    hook->kind = (uint8_t)kind;
    hook->member = (uint8_t)h->member;
    if (h->last[list])
        h->hooks[h->last[list] - 1].next = (uint16_t)h->count;
    else
        h->first[list] = (uint16_t)h->count;
    h->last[list] = (uint16_t)h->count;
    h->inside |= list >= 4;
    h->beyond |= list > 0;
    return hook;
}

bool hook_count_as(struct hooks *h, enum hook_point point, uint32_t index, uint32_t counter,
                   uint32_t amount)
{
    struct hook *hook = hook_add(h, point, index, HOOK_COUNT, HOOK_HOT);
    if (hook) {
        hook->value = counter;
        hook->argument = amount;
    }
    return hook;
}

/* Bytes of a member's head in front of what it appends at a point. */
static uint32_t head_size(const struct engine *e)
{
    return e->appenders > 1 ? sizeof(uint32_t) : 0;
}

static struct hook *append_add(struct hooks *h, enum hook_point point, uint32_t index,
                               enum hook_kind kind, uint64_t value, uint32_t size)
{
    struct hook *hook = hook_add(h, point, index, kind, HOOK_HOT);
    if (hook) {
        hook->value = value;
        hook->size = (uint8_t)size;
        h->appended += size + head_size(h->engine);
    }
    return hook;
}

bool hook_append_constant_as(struct hooks *h, enum hook_point point, uint32_t index, uint64_t value,
                             uint32_t size)
{
    return append_add(h, point, index, HOOK_APPEND_CONSTANT, value, size);
}

bool hook_append_register_as(struct hooks *h, enum hook_point point, uint32_t index,
                             enum engine_register reg, uint32_t size)
{
    return append_add(h, point, index, HOOK_APPEND_REGISTER, reg, size);
}

bool hook_time_as(struct hooks *h, uint32_t index)
{
    if (index >= BLOCK_INSNS || !room_take(h, HOOK_TIMED))
        return false;
    h->timed |= UINT64_C(1) << index;
    return h->inside = true;
}

static struct hook *call_add(struct hooks *h, enum hook_point point, uint32_t index,
                             enum hook_kind kind, uint32_t room, hook_function *function,
                             uint64_t argument)
{
    struct hook *hook = hook_add(h, point, index, kind, room);
    if (hook) {
        hook->value = (uint64_t)(uintptr_t)function;
        hook->argument = argument;
        hook->size = 0;
    }
    return hook;
}

bool hook_call_as(struct hooks *h, enum hook_point point, uint32_t index, hook_function *function,
                  uint64_t argument)
{
    return call_add(h, point, index, HOOK_CALL, HOOK_HOT, function, argument);
}

bool hook_call_appending_as(struct hooks *h, enum hook_point point, uint32_t index,
                            hook_function *function, uint64_t argument)
{
    h->appended += HOOK_CALL_APPENDS;
    return hook_call_as(h, point, index, function, argument);
}

/* r15 of translated code is in gpr while a called hook runs. */
void *hook_append_as(struct engine_thread *t, const struct tool *tool, uint32_t size)
{
    const struct engine *e = t->engine;
    uint32_t *at = (uint32_t *)t->gpr[ENGINE_R15], member = 0;
    t->gpr[ENGINE_R15] += head_size(e) + size;
    if (!head_size(e))
        return at;
    while (e->config.tools.of[member].tool != tool)
        member++;
    *at = ring_head_word((struct ring_head){ size, member });
    return at + 1;
}

bool hook_line_as(struct hooks *h, enum hook_point point, unsigned which, hook_function *function,
                  uint64_t argument)
{
    struct hook *hook = call_add(h, point, 0, HOOK_LINE, HOOK_HOT, function, argument);
    if (hook)
        hook->size = (uint8_t)which;
    return hook;
}

struct hook *inline_add_as(struct hooks *h, enum hook_point point, uint32_t index,
                           const struct hook_inline *piece, hook_function *function,
                           uint64_t argument, unsigned size)
{
    uint32_t room = (uint32_t)piece->hot + piece->cold;
    struct hook *hook = call_add(h, point, index, HOOK_INLINE, room, function, argument);
    if (hook) {
        hook->piece = piece;
        hook->size = (uint8_t)size;
    }
    return hook;
}

bool inline_has_line(const struct engine *e, const struct hook *hook)
{
    return e->config.tools.of[hook->member].tool->line;
}

static uint64_t key_as(const struct engine *e, uint64_t address)
{
    const struct engine_config *c = &e->config;
    return c->carrier->key ? c->carrier->key(c->carrier_data, address) : key_make(0, address);
}

uint64_t hook_key_as(const struct hooks *h, uint64_t address)
{
    return key_as(h->engine, address);
}

uint64_t hook_key_late_as(struct engine_thread *t, uint64_t address)
{
    engine_lock_as(t->engine);
    uint64_t key = key_as(t->engine, address);
    engine_unlock_as(t->engine);
    return key;
}

void *hook_common_as(const struct hooks *h, uint64_t offset, uint64_t size)
{
    const struct engine *e = h->engine;
    uint64_t at = e->common_at[h->member], room = e->common_at[h->member + 1] - at;
    return offset <= room && size <= room - offset ? e->common.base + at + offset : NULL;
}

void *hook_common(const struct engine_thread *t, uint32_t kind)
{
    const struct engine *e = t->engine;
    uint32_t i = 0;
    while (i < e->config.tools.count && e->config.tools.of[i].kind != kind)
        i++;
    return e->common.base + e->common_at[i];
}

const struct spool *hook_spool(const struct engine_thread *t)
{
    return t->engine->config.spool;
}

struct spool_counts *hook_counts(const struct engine_thread *t)
{
    return t->engine->config.counts;
}

uint64_t hook_caller_as(struct engine_thread *t, uint64_t pc)
{
    const struct engine_carrier *c = t->engine->config.carrier;
    return c->caller ? c->caller(t, pc) : 0;
}

bool hook_is_own(const struct engine_thread *t, uint64_t address)
{
    return engine_is_own(t->engine, address);
}

bool hook_is_sampled(const struct engine_thread *t)
{
    return t->engine->config.budget;
}

bool hook_is_burst(const struct engine_thread *t)
{
    return t->engine->config.budget && !t->engine->config.shared;
}

uint64_t hook_register(const struct engine_thread *t, unsigned reg)
{
    return reg == ENGINE_R15 && t->engine->steals ? t->stolen : t->gpr[reg];
}

void hook_stop_as(struct engine_thread *t, uint64_t pc)
{
    t->rip = pc;
    t->stop = STOP_BUDGET;
    t->hook_action = t->engine->config.carrier->stopped(t, STOP_BUDGET);
}

/* Every thread's window must cover an id before there is code that counts with it. */
static bool windows_grow_as(struct engine *e, uint32_t ids)
{
    if (ids <= e->window_ids || e->config.shared)
        return true;
    uint32_t all = UINT32_MAX;
    for (struct engine_thread *t = e->threads; t; t = t->link) {
        if (!counts_window_grow_as(e->config.spool, &t->window, ids))
            return false;
        if (t->window.mapped < all)
            all = t->window.mapped;
    }
    e->window_ids = all;
    return true;
}

/* The collector has been told that storage runs short, but on a busy machine it takes its time. A
 * whole run can wait for it, now and then, and so can a shadow, though not as long as others wait
 * for the lock that it may hold; a burst cannot. */
bool engine_storage_wait_as(struct engine *e)
{
    enum { WAITS = 5000, SHARED_WAITS = 500, NANOSECONDS = 1000000 }; /* in a row */
    static const uint64_t pause[2] = { 0, NANOSECONDS };
    uint32_t most = e->config.shared ? SHARED_WAITS : e->config.budget ? 0 : WAITS;
    if (__atomic_load_n(&e->storage_waits, __ATOMIC_RELAXED) >= most ||
        !spool_can_grow_as(e->config.spool))
        return false;
    __atomic_fetch_add(&e->storage_waits, 1, __ATOMIC_RELAXED);
    sys_call3_as(SYS_nanosleep, (long)pause, 0, 0);
    return true;
}

void engine_room_wait_as(struct engine *e)
{
    /* without its counters, which are waited for when it is known how many they are */
    enum { ENOUGH = 1 << 18, WAITS = 200 };
    for (unsigned i = 0; e->config.counts && i < WAITS &&
         !spool_ready_as(e->config.spool, ENOUGH) && engine_storage_wait_as(e); i++)
        ;
}

bool engine_room_again_as(struct engine *e)
{
    if (!engine_storage_wait_as(e))
        return false;
    engine_room_wait_as(e);
    return true;
}

void engine_storage_waited(struct engine *e)
{
    if (__atomic_load_n(&e->storage_waits, __ATOMIC_RELAXED))
        __atomic_store_n(&e->storage_waits, 0, __ATOMIC_RELAXED);
}

bool hook_wait_as(struct engine_thread *t)
{
    return engine_storage_wait_as(t->engine);
}

void hook_waited(struct engine_thread *t)
{
    engine_storage_waited(t->engine);
}

/* What has been given a counter keeps it when it is translated again: code that changes over and
 * over would use up ids. */
struct known_thing {
    struct spool_thing thing;
    uint32_t id; /* + 1; 0: free */
    uint32_t counts; /* spool_ref: of whom; a forked child's are others */
};

enum { THINGS = 1 << 15 };

bool hook_things_map_as(struct engine *e)
{
    return area_map_as(&e->known_things, THINGS * sizeof(struct known_thing), AREA_PLAIN);
}

static struct known_thing *thing_at(const struct engine *e, const struct spool_thing *thing)
{
    uint64_t more = thing->words[0] | (uint64_t)thing->words[1] << 32;
    uint64_t hash = (thing->key ^ thing->tool ^ hash_word(more)) *
                    UINT64_C(0xd6e8feb86659fd93);
    return (struct known_thing *)(void *)e->known_things.base + (hash >> 32) % THINGS;
}

static bool thing_equal(const struct spool_thing *a, const struct spool_thing *b)
{
    bool equal = a->key == b->key && a->kind == b->kind && a->tool == b->tool;
    for (unsigned i = 0; equal && i < sizeof a->words / sizeof *a->words; i++)
        equal = a->words[i] == b->words[i];
    return equal;
}

/* An id, without a counter. */
static uint32_t thing_new_as(struct engine *e, const struct spool_thing *thing)
{
    uint32_t id;
    do
        id = counts_thing_as(e->config.spool, e->config.counts, thing);
    while (id == COUNTS_NONE && engine_storage_wait_as(e));
    if (id != COUNTS_NONE)
        engine_storage_waited(e);
    return id;
}

static uint32_t counter_new_as(struct engine *e, const struct spool_thing *thing)
{
    uint32_t id = thing_new_as(e, thing);
    while (id != COUNTS_NONE && !windows_grow_as(e, id + 1))
        if (!engine_storage_wait_as(e))
            return COUNTS_NONE;
    if (id != COUNTS_NONE)
        engine_storage_waited(e);
    return id;
}

typedef uint32_t thing_maker(struct engine *e, const struct spool_thing *thing);

static uint32_t thing_make_as(struct engine *e, const struct spool_thing *thing, thing_maker *make)
{
    if (!e->config.counts)
        return e->counters < engine_counters(e) ? e->counters++ : COUNTS_NONE;
    if (!e->known_things.base)
        return make(e, thing);
    uint32_t counts = spool_ref_of(e->config.spool, e->config.counts);
    struct known_thing *known = thing_at(e, thing);
    if (known->id && known->counts == counts && thing_equal(&known->thing, thing))
        return known->id - 1;
    uint32_t id = make(e, thing);
    if (id != COUNTS_NONE)
        *known = (struct known_thing){ *thing, id + 1, counts };
    return id;
}

/* It is the tool's that is asked. */
static struct spool_thing own(const struct hooks *h, const struct spool_thing *thing)
{
    struct spool_thing copy = *thing;
    copy.tool = (uint16_t)h->engine->config.tools.of[h->member].kind;
    return copy;
}

uint32_t hook_counter_make_as(struct hooks *h, const struct spool_thing *thing)
{
    struct spool_thing mine = own(h, thing);
    uint32_t id = thing_make_as(h->engine, &mine, counter_new_as);
    h->full |= id == COUNTS_NONE;
    return id;
}

uint32_t hook_thing_make_as(struct hooks *h, const struct spool_thing *thing)
{
    struct engine *e = h->engine;
    struct spool_thing mine = own(h, thing);
    uint32_t id = e->config.counts ? thing_make_as(e, &mine, thing_new_as) : e->counters++;
    h->full |= id == COUNTS_NONE;
    return id;
}

uint32_t hook_thing_new_as(struct hooks *h, const struct spool_thing *thing)
{
    struct engine *e = h->engine;
    struct spool_thing mine = own(h, thing);
    uint32_t id = e->config.counts ? thing_new_as(e, &mine) : e->counters++;
    h->full |= id == COUNTS_NONE;
    return id;
}

void hook_refuse_as(struct hooks *h)
{
    h->full = true;
}

uint32_t inline_counter_make_as(struct engine_thread *t, uint32_t kind, uint64_t from, uint64_t to)
{
    struct engine *e = t->engine;
    engine_lock_as(e);
    struct spool_thing thing = { .key = key_as(e, from), .edge.to = key_as(e, to),
                                 .kind = THING_EDGE, .tool = (uint16_t)kind };
    uint32_t id = thing_make_as(e, &thing, counter_new_as);
    engine_unlock_as(e);
    return id;
}

static bool gate_possible(const struct translation *x)
{
    return !x->e->config.late && !x->tail && !x->observed && x->range.trust == TRUST_FIXED;
}

/* Which members are asked: what is behind a gate is its owner's, who comes last. */
static uint32_t first_asked(const struct translation *x)
{
    return x->observed ? x->e->config.tools.count - 1 : 0;
}

static void hooks_clear(struct hooks *h, struct engine *e)
{
    h->engine = e;
    h->count = h->appended = h->room = 0;
    h->full = h->crowded = h->inside = h->beyond = h->gated = false;
    h->timed = 0;
    for (uint32_t i = 0; i < HOOK_LISTS; i++)
        h->first[i] = h->last[i] = 0;
}

bool hooks_ask_as(struct translation *x)
{
    struct engine *e = x->e;
    struct hooks *h = &e->hooks;
    const struct tool_set *tools = &e->config.tools;
    hooks_clear(h, e);
    struct hook_block block = {
        .pc = x->pc, .next = x->next, .taken = x->taken, .count = x->count, .end = x->end,
        .number = e->blocks.used, .observed = x->observed, .gated = x->gate,
        .insns = e->insns, .code = e->code,
    };
    for (h->member = first_asked(x); h->member < tools->count; h->member++) {
        const struct tool *tool = tools->of[h->member].tool;
        /* What is hooked behind a gate is not executed each time: nobody else has anything
         * there. */
        bool possible = h->member + 1 == tools->count && !h->beyond && gate_possible(x);
        block.gate = possible && e->config.budget && e->config.shared;
        block.watch_gate = possible && !e->config.budget;
        if (tool->block && (tool->flags & TOOL_OWN || !engine_is_own(e, x->pc)))
            tool->block(&block, h);
    }
    x->looks = e->rings && !x->observed && (h->gated || ring_needs_look(&block, h->appended));
    return !h->full && !h->crowded;
}

bool hooks_any(const struct engine *e, enum hook_point point, uint32_t index)
{
    return e->hooks.first[list_of(point, index)];
}

/* A register whose value nobody needs, or RSP. rcx last: the lookup and the budget use it. */
static unsigned dead_register(struct live live)
{
    static const uint8_t order[] = { X86_RAX, X86_RDX, X86_RSI, X86_RDI, X86_R8,
                                     X86_R9,  X86_R10, X86_R11, X86_RBX, X86_RCX };
    for (unsigned i = 0; i < sizeof order; i++)
        if (!(live.registers >> order[i] & 1))
            return order[i];
    return X86_RSP;
}

/*      add  qword gs:[counter], n              where the flags are dead
 *
 *      mov  gs:[slot], r11                     unless there is a dead register
 *      mov  r11, gs:[counter]
 *      lea  r11, [r11 + n]
 *      mov  gs:[counter], r11
 *      mov  r11, gs:[slot]                                                                      */
static void emit_count(struct emit *to, const struct engine *e, const struct hook *hook,
                       struct live live)
{
    struct emit_mem counter = emit_gs((int32_t)(ENGINE_T_SIZE + hook->value * e->counter_size));
    int32_t amount = (int32_t)hook->argument;
    if (!(live.flags & X86_STATUS_FLAGS)) {
        emit_alu_mi(to, EMIT_ADD, 8, counter, amount);
        return;
    }
    unsigned scratch = dead_register(live);
    bool spill = scratch == X86_RSP;
    if (spill) {
        scratch = X86_R11;
        emit_mov_mr(to, 8, emit_gs(ENGINE_T_SLOT_HOOK), scratch);
    }
    emit_mov_rm(to, 8, scratch, counter);
    emit_lea(to, 8, scratch, emit_at(scratch, amount));
    emit_mov_mr(to, 8, counter, scratch);
    if (spill)
        emit_mov_rm(to, 8, scratch, emit_gs(ENGINE_T_SLOT_HOOK));
}

/*      mov  [r15 + offset], value                                                                */
static void emit_append(struct emit *to, const struct hook *hook, int32_t offset)
{
    struct emit_mem at = emit_at(X86_R15, offset);
    bool stolen = hook->kind == HOOK_APPEND_REGISTER && hook->value == X86_R15;
    if (stolen) {
        /* The program's r15 is in its slot. */
        emit_mov_mr(to, 8, emit_gs(ENGINE_T_SLOT_HOOK), X86_R11);
        emit_mov_rm(to, 8, X86_R11, emit_gs(ENGINE_T_STOLEN));
        emit_mov_mr(to, hook->size, at, X86_R11);
        emit_mov_rm(to, 8, X86_R11, emit_gs(ENGINE_T_SLOT_HOOK));
    } else if (hook->kind == HOOK_APPEND_REGISTER) {
        emit_mov_mr(to, hook->size, at, (unsigned)hook->value);
    } else if (hook->size == 8 && hook->value == (uint64_t)(int64_t)(int32_t)hook->value) {
        emit_mov_mi(to, 8, at, (int32_t)hook->value);
    } else {
        emit_mov_mi(to, 4, at, (int32_t)(uint32_t)hook->value);
        if (hook->size == 8)
            emit_mov_mi(to, 4, emit_at(X86_R15, offset + 4), (int32_t)(hook->value >> 32));
    }
}

static bool is_append(const struct hook *hook)
{
    return hook->kind == HOOK_APPEND_CONSTANT || hook->kind == HOOK_APPEND_REGISTER;
}

/* What the hook's member appends from there on; returns the last of it. */
static const struct hook *emit_member(struct emit *to, const struct hooks *h,
                                      const struct hook *hook, int32_t *offset)
{
    int32_t head = *offset;
    for (*offset += (int32_t)head_size(h->engine);; hook = &h->hooks[hook->next - 1]) {
        emit_append(to, hook, *offset);
        *offset += hook->size;
        const struct hook *next = hook->next ? &h->hooks[hook->next - 1] : NULL;
        if (!next || !is_append(next) || next->member != hook->member)
            break;
    }
    int32_t size = *offset - head - (int32_t)sizeof(uint32_t);
    if (head_size(h->engine))
        emit_mov_mi(to, 4, emit_at(X86_R15, head),
                    (int32_t)ring_head_word((struct ring_head){ (uint32_t)size, hook->member }));
    return hook;
}

/*      mov  [r15], value
 *      mov  [r15 + size], value                what is appended at one point is there wholly or not at all
 *      ...
 *      lea  r15, [r15 + sizes]                                                                   */
static const struct hook *emit_appends(struct emit *to, const struct hooks *h,
                                       const struct hook *hook)
{
    int32_t offset = 0;
    for (;; hook = &h->hooks[hook->next - 1]) {
        hook = emit_member(to, h, hook, &offset);
        if (!hook->next || !is_append(&h->hooks[hook->next - 1]))
            break;
    }
    emit_lea(to, 8, X86_R15, emit_at(X86_R15, offset));
    return hook;
}

/*      mov  gs:[slot_link], r11                not at an indirect end: the lookup has spilled it
 *      mov  r11, target                        through the tool's own code: these two,
 *      mov  gs:[rip], r11                      and its entry instead of the glue
 *      lea  r11, [rip + 5]
 *      jmp  glue
 *      (function, argument)
 *      mov  rcx, gs:[rip]                      at an indirect end: the target again              */
void hook_call_emit(struct engine *e, struct emit *to, const struct hook *hook, struct hook_way way)
{
    bool line = hook->kind == HOOK_LINE;
    uint32_t glue = way.indirect ? e->glue.hook_indirect : e->glue.hook;
    if (!way.indirect)
        emit_mov_mr(to, 8, emit_gs(ENGINE_T_SLOT_LINK), X86_R11);
    if (line || way.line)
        glue = e->glue.line[hook->member][line ? hook->size : 0];
    if (line && !way.indirect) {
        emit_mov_ri(to, X86_R11, way.target);
        emit_mov_mr(to, 8, emit_gs(ENGINE_T_RIP), X86_R11);
    }
    emit_lea(to, 8, X86_R11, emit_rip(emit_here(to) + 7 + 5));
    emit_jmp(to, (uint64_t)(uintptr_t)cache_at(&e->cache, glue));
    emit_literal(to, hook->value);
    emit_literal(to, hook->argument);
    if (way.indirect)
        emit_mov_rm(to, 8, X86_RCX, emit_gs(ENGINE_T_RIP));
}

void hooks_emit_as(struct translation *x, enum hook_point point, uint32_t index, struct live live)
{
    struct hooks *h = &x->e->hooks;
    uint32_t number = h->first[list_of(point, index)];
    if (!number)
        return;
    for (const struct hook *hook; number; number = hook->next) {
        hook = &h->hooks[number - 1];
        if (hook->kind == HOOK_COUNT)
            emit_count(&x->hot, x->e, hook, live);
        else if (hook->kind == HOOK_CALL || hook->kind == HOOK_LINE)
            hook_call_emit(x->e, &x->hot, hook,
                           (struct hook_way){point == HOOK_INDIRECT, false, x->taken});
        else if (hook->kind == HOOK_INLINE)
            hook->piece->emit(x, hook, index, live);
        else
            hook = emit_appends(&x->hot, h, hook);
    }
    span_close_as(x, SPAN_BETWEEN, 0, 0);
}

#include "engine/thread.h"

#include <asm/prctl.h>
#include <sys/mman.h>

#include "engine/hook.h"
#include "engine/pairs.h"
#include "engine/ring.h"
#include "engine/switch.h"
#include "sigsafe/own_memory.h"
#include "sigsafe/sys.h"

enum { RETURNS = ENGINE_T_RETURNS_SIZE, GUARD = 4096, STACK = ENGINE_T_STACK_SIZE,
      LEAVE_SIZE = 48 };

/* The way to native code, with registers that are all the program's but rdi. */
struct leave {
    uint64_t rdi, rip;
    uint8_t code[LEAVE_SIZE - 16]; /* mov rdi, [rip + ...]; jmp [rip + ...] */
};

_Static_assert(ENGINE_T_RETURNS == -(RETURNS + GUARD + STACK), "below the thread");

static bool leave_make_as(struct engine *e, struct engine_thread *t)
{
    uint32_t place = __atomic_fetch_add(&e->leaves_used, 1, __ATOMIC_RELAXED);
    if ((uint64_t)(place + 1) * LEAVE_SIZE > e->leaves.size)
        return false;
    struct leave *leave = (struct leave *)(void *)(e->leaves.base + (uint64_t)place * LEAVE_SIZE);
    struct emit to = { .at = leave->code, .end = leave->code + sizeof leave->code + EMIT_LONGEST };
    emit_mov_rm(&to, 8, X86_RDI, emit_rip((uint64_t)(uintptr_t)&leave->rdi));
    emit_jmp_m(&to, emit_rip((uint64_t)(uintptr_t)&leave->rip));
    t->leave = (uint64_t)(uintptr_t)leave->code;
    return true;
}

static struct engine_thread *pool_take_as(struct engine *e)
{
    engine_lock_as(e);
    struct engine_thread *t = e->pool;
    if (t)
        e->pool = t->link;
    engine_unlock_as(e);
    return t;
}

static struct engine_thread *area_make_as(struct engine *e)
{
    uint64_t targets = e->flags & TOOL_TARGETS ? ENGINE_T_TARGETS_SIZE : 0;
    uint64_t size = targets + RETURNS + GUARD + STACK + ENGINE_T_SIZE + e->counter_space;
    long base = own_map_as(0, size, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
    if (sys_failed(base))
        return NULL;
    uint8_t *mapping = (uint8_t *)base, *returns = mapping + targets;
    sys_call3_as(SYS_mprotect, (long)(returns + RETURNS), GUARD, PROT_NONE);
    struct engine_thread *t = (struct engine_thread *)(void *)(returns + RETURNS + GUARD + STACK);
    t->mapping = mapping; /* the rest is zero: it is fresh */
    t->mapping_size = size;
    t->engine = e;
    t->counter_size = e->counter_size;
    t->quiet = 1;
    t->self = t;
    t->stack_top = (uint64_t)(uintptr_t)t;
    t->exit_entry = (uint64_t)(uintptr_t)engine_exit;
    t->lookup_entry = (uint64_t)(uintptr_t)engine_lookup_miss;
    t->hook_entry = (uint64_t)(uintptr_t)engine_hook;
    t->hook_indirect_entry = (uint64_t)(uintptr_t)engine_hook_indirect;
    if ((e->config.shared || leave_make_as(e, t)) && (!e->rings || ring_make_as(t)))
        return t;
    engine_area_unmap_as(t);
    return NULL;
}

void engine_area_unmap_as(struct engine_thread *t)
{
    ring_unmap_as(t);
    own_unmap_as(t->mapping, t->mapping_size);
}

/* Of a shared engine: one thread a process, in none of the engine's lists. No access before
 * counters are mapped, so that the first count faults. */
static bool window_share_as(struct engine *e, struct engine_thread *t, int32_t tid,
                            struct spool_window *window)
{
    const struct engine_config *c = &e->config;
    uint64_t *base = hook_counter(t, 0);
    uint32_t capacity = engine_counters(e);
    if (!c->counts || !capacity)
        return true;
    sys_call3_as(SYS_mprotect, (long)base, (long)e->counter_space, PROT_NONE);
    if (window)
        return counts_window_resume_as(c->spool, c->counts, &t->window, window, base, capacity,
                                       tid);
    return counts_window_begin_as(c->spool, c->counts, &t->window, base, capacity, tid);
}

bool engine_window_fault_as(struct engine_thread *t, uint64_t address)
{
    uint64_t at = (address - (uint64_t)(uintptr_t)t->window.base) / t->engine->counter_size;
    if (!t->engine->config.shared || !t->window.record || at >= t->window.capacity ||
        at < t->window.mapped)
        return false;
    while (!counts_window_grow_as(t->engine->config.spool, &t->window, (uint32_t)at + 1))
        if (!engine_storage_wait_as(t->engine))
            return false;
    engine_storage_waited(t->engine);
    return true;
}

struct engine_thread *engine_thread_share_as(struct engine *e, int32_t tid,
                                             struct spool_window *window)
{
    struct engine_thread *t = area_make_as(e);
    if (!t || !window_share_as(e, t, tid, window))
        return NULL;
    pairs_thread_as(e, t);
    return tool_set_begin_as(t) ? t : NULL;
}

void engine_thread_finish_as(struct engine_thread *t)
{
    engine_flush_as(t, true);
    tool_set_end_as(t);
}

bool engine_window_make_as(struct engine *e, struct engine_thread *t, int32_t tid)
{
    const struct engine_config *c = &e->config;
    uint64_t *base = hook_counter(t, 0);
    uint32_t capacity = engine_counters(e);
    if (!c->counts)
        return true;
    while (!t->window.record &&
           !counts_window_begin_as(c->spool, c->counts, &t->window, base, capacity, tid))
        if (!engine_storage_wait_as(e))
            return false;
    t->window.record->tid = tid;
    uint32_t ids = counts_ids_as(c->spool, c->counts),
             all = ids > e->window_ids ? ids : e->window_ids;
    while (!counts_window_grow_as(c->spool, &t->window, all))
        if (all > capacity || !engine_storage_wait_as(e))
            return false;
    engine_storage_waited(e);
    if (t->window.mapped < e->window_ids || !e->threads)
        e->window_ids = t->window.mapped;
    return true;
}

struct engine_thread *engine_thread_make_as(struct engine *e, int32_t tid)
{
    struct engine_thread *t = pool_take_as(e);
    if (!t)
        t = area_make_as(e);
    if (!t)
        return NULL;
    if (e->threads)
        engine_room_wait_as(e);
    engine_lock_as(e);
    bool counting = engine_window_make_as(e, t, tid);
    t->link = counting ? e->threads : e->pool;
    if (counting) {
        e->threads = t;
        t->number = e->thread_count++;
        pairs_thread_as(e, t);
    } else {
        e->pool = t;
    }
    engine_unlock_as(e);
    if (!counting)
        return NULL;
    if (tool_set_begin_as(t))
        return t;
    engine_thread_free_as(t);
    return NULL;
}

void engine_thread_free_as(struct engine_thread *t)
{
    struct engine *e = t->engine;
    engine_flush_as(t, true);
    tool_set_end_as(t);
    engine_lock_as(e);
    struct engine_thread **link = &e->threads;
    while (*link && *link != t)
        link = &(*link)->link;
    if (*link)
        *link = t->link;
    e->thread_count--;
    t->link = e->pool;
    t->pending = t->mask_changed = t->state = 0;
    t->quiet = 1;
    t->alt_size = t->stop_at = 0;
    e->pool = t;
    engine_unlock_as(e);
}

uint64_t engine_gs_as(const struct engine *e)
{
    uint64_t base;
    if (e->fsgsbase)
        __asm__ volatile("rdgsbase %0" : "=r"(base));
    else
        sys_call3_as(SYS_arch_prctl, ARCH_GET_GS, (long)&base, 0);
    return base;
}

void engine_gs_set_as(const struct engine *e, uint64_t base)
{
    if (e->fsgsbase)
        __asm__ volatile("wrgsbase %0" : : "r"(base) : "memory");
    else
        sys_call3_as(SYS_arch_prctl, ARCH_SET_GS, (long)base, 0);
}

enum stop_reason engine_run_as(struct engine_thread *t)
{
    t->runs++;
    t->host_gs = engine_gs_as(t->engine);
    engine_gs_set_as(t->engine, (uint64_t)(uintptr_t)t);
    engine_run(t);
    engine_gs_set_as(t->engine, t->host_gs);
    return (enum stop_reason)t->stop;
}

_Noreturn void engine_start_as(struct engine_thread *t)
{
    t->runs++;
    t->host_gs = engine_gs_as(t->engine);
    engine_gs_set_as(t->engine, (uint64_t)(uintptr_t)t);
    engine_start(t);
}

void engine_release_as(struct engine_thread *t)
{
    t->state = ENGINE_NATIVE;
    engine_gs_set_as(t->engine, t->host_gs);
}

/* Called by engine_leave: GS and what the last two instructions load. */
struct engine_thread *engine_leave_as(struct engine_thread *t)
{
    struct leave *leave =
        (struct leave *)(void *)((uint8_t *)(uintptr_t)t->leave - offsetof(struct leave, code));
    leave->rdi = t->gpr[ENGINE_RDI];
    leave->rip = t->rip;
    engine_release_as(t);
    return t;
}

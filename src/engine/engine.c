#include "engine/engine.h"

#include <cpuid.h>
#include <elf.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/resource.h>
#include <time.h>

#include "engine/hook.h"
#include "engine/hook_line.h"
#include "engine/lookup.h"
#include "engine/pairs.h"
#include "engine/reset.h"
#include "engine/state.h"
#include "engine/translate.h"
#include "sigsafe/bytes.h"
#include "sigsafe/sys.h"

#ifndef HWCAP2_FSGSBASE
#define HWCAP2_FSGSBASE 2
#endif

#define CACHE_DEFAULT (UINT64_C(256) << 20)
#define COUNTERS (UINT64_C(4) << 20)
#define CACHE_LEAST (UINT64_C(4) << 20)

bool engine_lock_try_as(struct engine *e)
{
    uint32_t free = 0;
    return __atomic_compare_exchange_n(&e->lock, &free, 1, false, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
}

/* Between processes: one that is killed never gives the lock back, and nobody holds it for long. */
enum { LOOK_NS = 20000000, LOOKS = 100 };

static void lock_shared_as(struct engine *e)
{
    const struct timespec pause = { 0, LOOK_NS };
    if (engine_lock_try_as(e))
        return;
    for (uint32_t looks = 0; __atomic_exchange_n(&e->lock, 2, __ATOMIC_ACQUIRE); looks++) {
        if (looks == LOOKS)
            e->config.lost();
        sys_call6_as(SYS_futex, (long)&e->lock, FUTEX_WAIT, 2, (long)&pause, 0, 0);
    }
}

/* A futex: waits where another thread translates. No handler waits for it, since handlers of
 * threads that are in the dispatcher only leave a note (docs/engine.md). */
void engine_lock_as(struct engine *e)
{
    if (e->config.shared) {
        lock_shared_as(e);
        return;
    }
    if (engine_lock_try_as(e))
        return;
    while (__atomic_exchange_n(&e->lock, 2, __ATOMIC_ACQUIRE))
        sys_call6_as(SYS_futex, (long)&e->lock, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 2, 0, 0, 0);
}

void engine_unlock_as(struct engine *e)
{
    long private = e->config.shared ? 0 : FUTEX_PRIVATE_FLAG;
    if (__atomic_exchange_n(&e->lock, 0, __ATOMIC_RELEASE) == 2)
        sys_call6_as(SYS_futex, (long)&e->lock, FUTEX_WAKE | private, 1, 0, 0, 0);
}

/* Whether the kernel lets user mode set GS by an instruction: AT_HWCAP2. */
static bool fsgsbase_as(void)
{
    uint64_t auxv[2 * 64];
    long fd = sys_call6_as(SYS_openat, AT_FDCWD, (long)"/proc/self/auxv", O_RDONLY | O_CLOEXEC, 0,
                           0, 0);
    if (fd < 0)
        return false;
    long got = sys_call3_as(SYS_read, fd, (long)auxv, sizeof auxv);
    sys_call3_as(SYS_close, fd, 0, 0);
    for (long i = 0; i + 16 <= got; i += 16)
        if (auxv[i / 8] == AT_HWCAP2)
            return auxv[i / 8 + 1] & HWCAP2_FSGSBASE;
    return false;
}

static bool transactions(void)
{
    enum { RTM = 1 << 11, ALWAYS_ABORTS = 1 << 11 }; /* leaf 7: of ebx, of edx */
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & RTM || d & ALWAYS_ABORTS);
}

/* No more than a small share of the program's limit on address space. */
static uint64_t within_limit_as(uint64_t size, uint64_t share)
{
    struct rlimit limit = { 0 };
    if (!sys_call6_as(SYS_prlimit64, 0, RLIMIT_AS, 0, (long)&limit, 0, 0) &&
        limit.rlim_cur != RLIM_INFINITY && size > limit.rlim_cur / share)
        size = limit.rlim_cur / share;
    return size;
}

static uint64_t cache_size_as(const struct engine_config *config)
{
    uint64_t size = within_limit_as(config->cache_size ? config->cache_size : CACHE_DEFAULT, 16);
    return (size + CACHE_SEGMENT - 1) & ~(uint64_t)(CACHE_SEGMENT - 1);
}

/* Of each thread. */
static uint64_t counter_space_as(uint32_t each)
{
    return (within_limit_as(COUNTERS * each, 512) + 65535) & ~UINT64_C(65535);
}

static uint32_t glue_one(struct engine *e, struct emit *to, uint32_t entry)
{
    uint32_t place = cache_offset(&e->cache, to->at);
    emit_jmp_m(to, emit_gs((int32_t)entry));
    return place;
}

static void glue_make_as(struct engine *e)
{
    uint8_t *at = cache_at(&e->cache, 16); /* 0 is no place */
    struct emit to = { .at = at, .end = at + 256 };
    e->glue.exit = glue_one(e, &to, ENGINE_T_EXIT_ENTRY);
    e->glue.lookup = glue_one(e, &to, ENGINE_T_LOOKUP_ENTRY);
    e->glue.hook = glue_one(e, &to, ENGINE_T_HOOK_ENTRY);
    e->glue.hook_indirect = glue_one(e, &to, ENGINE_T_HOOK_INDIRECT_ENTRY);
    e->cache.hot = cache_offset(&e->cache, to.at);
}

/* A tool's own code: within reach of what is translated, and no place of the program's to
 * recovery. */
static void line_make_as(struct engine *e, uint32_t member, const struct tool_line *line)
{
    uint32_t size = (uint32_t)(line->end - line->begin);
    uint32_t place = cache_cold_as(&e->cache, size, 64);
    struct emit to = {.at = cache_at(&e->cache, place),
                      .end = cache_at(&e->cache, place + size) + EMIT_LONGEST};
    emit_copy(&to, line->begin, size);
    for (unsigned i = 0; i < TOOL_LINES; i++)
        e->glue.line[member][i] = place + (uint32_t)(line->entries[i] - line->begin);
}

static bool map_as(struct engine *e, uint64_t size)
{
    for (; size >= CACHE_LEAST; size /= 2) {
        if (cache_map_as(&e->cache, size, engine_sharing(e))) {
            if (blocks_map_as(&e->blocks, size, engine_sharing(e)))
                return true;
            cache_unmap_as(&e->cache);
        }
    }
    return false;
}

static bool common_map_as(struct engine *e)
{
    const struct tool_set *tools = &e->config.tools;
    uint64_t size = 0;
    for (uint32_t i = 0; i < tools->count; i++) {
        e->common_at[i] = size;
        size += within_limit_as(tools->of[i].tool->common_size, 64);
    }
    e->common_at[tools->count] = size;
    return !size || area_map_as(&e->common, size, engine_sharing(e));
}

/* Of engines that are one process's own. */
static bool tables_map_as(struct engine *e)
{
    return e->config.shared ||
           (area_map_as(&e->leaves, ENGINE_LEAVES, AREA_CODE) && hook_things_map_as(e));
}

static uint64_t tick_ns(const struct spool *spool)
{
    uint64_t hz = spool ? spool_header(spool)->tsc_hz : 0;
    return hz ? (UINT64_C(1000000000) << 32) / hz : 0;
}

struct engine *engine_make_as(const struct engine_config *config, enum stop_reason *why)
{
    struct area own;
    *why = STOP_UNSUPPORTED;
    if (!tool_set_fits(&config->tools))
        return NULL;
    *why = STOP_NO_MEMORY;
    if (!area_map_as(&own, sizeof(struct engine), config->shared ? AREA_SHARED : AREA_PLAIN))
        return NULL;
    struct engine *e = (struct engine *)(void *)own.base;
    bytes_copy_as(&e->config, config, sizeof *config);
    e->fsgsbase = fsgsbase_as();
    e->transactions = transactions();
    e->tick_ns = tick_ns(config->spool);
    e->flags = tool_set_any(&config->tools);
    e->appenders = tool_set_appenders(&config->tools, &e->first_appender);
    e->counter_size = e->flags & TOOL_LEADS ? sizeof(struct counts_lead) : sizeof(uint64_t);
    if (config->counts)
        config->counts->words = e->counter_size / sizeof(uint64_t);
    e->counter_space = config->tools.count ? counter_space_as(e->counter_size) : 0;
    e->ended = STOP_COUNT;
    e->rings = e->appenders;
    e->hooks_any = tool_set_hooks(&config->tools);
    e->steals = config->loose || e->rings;
    if (map_as(e, cache_size_as(config)) && cache_reserve_as(&e->cache, 4096) && common_map_as(e) &&
        tables_map_as(e)) {
        glue_make_as(e);
        for (uint32_t i = 0; i < config->tools.count; i++)
            if (config->tools.of[i].tool->line)
                line_make_as(e, i, config->tools.of[i].tool->line);
        if (lookup_map_as(e)) {
            pairs_prepare_as(e);
            if (config->paired)
                pairs_begin_as(e);
            reset_prepare(e);
            return e;
        }
    }
    engine_free_as(e);
    return NULL;
}

/* A shared engine lives on in other processes: what it knows of its memory is not to be changed
 * there. */
void engine_free_as(struct engine *e)
{
    struct cache cache = e->cache;
    struct blocks blocks = e->blocks;
    struct area table = e->table_area, common = e->common, leaves = e->leaves,
                things = e->known_things;
    struct engine_thread *lists[] = { e->threads, e->pool };
    for (int i = 0; i < 2; i++)
        while (lists[i]) {
            struct engine_thread *t = lists[i];
            lists[i] = t->link;
            engine_area_unmap_as(t);
        }
    cache_unmap_as(&cache);
    blocks_unmap_as(&blocks);
    area_unmap_as(&table);
    area_unmap_as(&common);
    area_unmap_as(&leaves);
    area_unmap_as(&things);
    struct area own = { .base = (uint8_t *)e, .size = sizeof(struct engine) };
    area_unmap_as(&own);
}

bool engine_holds_as(const struct engine *e, uint64_t address)
{
    struct area own = { .base = (uint8_t *)(uintptr_t)e, .size = sizeof(struct engine) };
    return area_holds(&own, address) || area_holds(&e->cache.area, address) ||
           area_holds(&e->blocks.blocks, address) || area_holds(&e->blocks.exits, address) ||
           area_holds(&e->blocks.spans, address) || area_holds(&e->blocks.slots, address) ||
           area_holds(&e->table_area, address) || area_holds(&e->common, address);
}

struct engine_figures engine_figures_as(const struct engine *e)
{
    struct engine_figures f = e->figures;
    f.code_bytes = e->cache.hot;
    f.paired = e->paired;
    f.slots = e->blocks.taken;
    return f;
}

void engine_latency_as(const struct engine *e, enum latency_kind kind, uint64_t ticks)
{
    if (e->config.counts && e->tick_ns)
        latency_add_as(&e->config.counts->latencies[kind],
                       (uint64_t)((unsigned __int128)ticks * e->tick_ns >> 32));
}

void engine_faults_seen_as(struct engine *e)
{
    engine_lock_as(e);
    bool seen = e->faults_seen || !e->hooks_any;
    e->faults_seen = true;
    engine_unlock_as(e);
    if (!seen)
        engine_invalidate_as(e, 0, UINT64_MAX);
}

void engine_fork_before_as(struct engine *e)
{
    engine_lock_as(e);
}

void engine_fork_parent_as(struct engine *e)
{
    engine_unlock_as(e);
}

/* The areas of threads that do not exist in the child; their counters are the parent's. */
static void areas_drop_as(struct engine_thread *list, const struct engine_thread *keep)
{
    while (list) {
        struct engine_thread *gone = list;
        list = gone->link;
        if (gone != keep)
            engine_area_unmap_as(gone);
    }
}

bool engine_fork_child_as(struct engine *e, struct engine_thread *t, struct spool_counts *counts,
                          int32_t tid)
{
    areas_drop_as(e->threads, t);
    areas_drop_as(e->pool, t);
    t->link = NULL;
    if (t->ring_base)
        t->ring = t->ring_from;
    e->pool = NULL;
    e->threads = t;
    e->thread_count = 1;
    e->lock = 0;
    e->config.counts = counts;
    if (!counts)
        return true;
    /* the parent's: its counters are in the window until the child's are */
    t->window.record = NULL;
    bool counting = engine_window_make_as(e, t, tid);
    return tool_set_begin_as(t) && counting;
}

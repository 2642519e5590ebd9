#include "engine/engine.h"
#include "runtime/carrier/shadow/shadow_monitor.h"
#include "tools/tools.h"

static struct {
    uint32_t retired;       /* atomic: they know code that has gone */
    struct engine *engine;  /* NULL: not made yet, or each shadow makes its own */
    struct engine *passing; /* likewise: the one without a tool */
} engines;

/* What a tool keeps outside of the spool and of the code is not there in another process. */
static bool shares_code(void)
{
    return !(shadow_settings->flags & SHADOW_COLD) &&
           tools_flags_all(rt.config->tools) & TOOL_SHARED;
}

static void drop_as(void)
{
    if (engines.engine)
        engine_free_as(engines.engine);
    if (engines.passing)
        engine_free_as(engines.passing);
    engines.engine = engines.passing = NULL;
}

/* Without it shadows observe all that they run. */
static void passing_need_as(void)
{
    struct engine_config config;
    enum stop_reason why;
    if (engines.passing || !shadow_passes())
        return;
    shadow_passing_config(&config);
    engines.passing = engine_make_as(&config, &why);
}

bool shadow_engines_need_as(void)
{
    struct engine_config config;
    enum stop_reason why = STOP_COUNT;
    bool lost = __atomic_exchange_n(&shadow_monitor.record->cache_lost, 0, __ATOMIC_RELAXED);
    if (__atomic_exchange_n(&engines.retired, 0, __ATOMIC_ACQUIRE) || lost)
        drop_as();
    passing_need_as();
    if (engines.engine || !shares_code())
        return true;
    shadow_engine_config(&config, shadow_monitor.counts);
    engines.engine = engine_make_as(&config, &why);
    return engines.engine;
}

/* Shadows may be running in it: theirs stays, and ours is replaced at the next trigger. */
void shadow_engines_retire(void)
{
    __atomic_store_n(&engines.retired, 1, __ATOMIC_RELEASE);
}

void shadow_engines_lend(struct shadow_start *start)
{
    start->engine = engines.engine;
    start->passing = engines.passing;
}

void shadow_engines_forget(void)
{
    drop_as();
    engines.retired = 0;
}

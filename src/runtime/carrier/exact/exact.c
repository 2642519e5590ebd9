/* The carrier `exact`: the whole run under the engine, from the end of the runtime's constructor
 * on: all threads, and the processes that it forks and executes.
 *
 * Ownership: the engine lives as long as the process; records are the spool's. */
#include "engine/mappings.h"
#include "engine/state.h"
#include "runtime/carrier/exact/whole.h"
#include "runtime/carrier/carrier.h"
#include "runtime/trampoline/forbidden.h"
#include "runtime/carrier/translated.h"
#include "runtime/kept_files.h"
#include "runtime/process.h"
#include "runtime/runtime.h"
#include "runtime/thread.h"
#include "sigsafe/bytes.h"
#include "sigsafe/spool_counts.h"
#include "sigsafe/sys.h"
#include "tools/tools.h"

static struct spool_counts *counts; /* NULL: the spool was full */

static struct rt_thread *state_of(const struct engine_thread *t)
{
    return ((const struct whole_thread *)t->carrier)->carrier;
}

/* Every thread that is under the engine tells of its system calls; one that has left does not. */
static struct trust_range exact_trust(void *data, uint64_t address)
{
    struct trust_range range = mappings_trust_as(address);
    (void)data;
    if (range.trust == TRUST_CHECKED && !whole_some_left_as())
        range.trust = TRUST_MAPPED;
    return range;
}

static bool exact_thread_begin(struct engine_thread *t)
{
    struct rt_thread *state;
    engine_room_wait_as(t->engine);
    while ((state = thread_make_as()) && !thread_begin_as(state))
        if (!engine_room_again_as(t->engine))
            return false;
    if (!state)
        return false;
    engine_storage_waited(t->engine);
    whole_thread_as(t)->carrier = state;
    t->record = state->record;
    return true;
}

static void exact_thread_end(struct engine_thread *t)
{
    engine_flush_as(t, true);
    if (counts)
        translated_figures_as(counts, t);
    if (state_of(t))
        thread_end_as(state_of(t));
    whole_thread_as(t)->carrier = NULL;
}

/* The records of a forked child. */
static bool child_records_make(struct engine_thread *t, const struct spool_counts *parent)
{
    struct engine *e = t->engine;
    bool followed = rt_running_as() && spool_header(&guest.spool)->follow;
    engine_room_wait_as(e);
    for (; !process_copy_as(); rt.state = RT_PROFILED)
        if (!followed || !engine_room_again_as(e))
            return false;
    while (parent && !(counts = counts_fork_child_as(&guest.spool, parent, guest.process)))
        if (!engine_room_again_as(e))
            break;
    struct rt_thread *state = state_of(t);
    while (!thread_fork_child_as(state))
        if (!state || !engine_room_again_as(e))
            return false;
    engine_storage_waited(e);
    return true;
}

static bool exact_fork_child(struct engine_thread *t)
{
    const struct spool_counts *parent = counts;
    int32_t tid = (int32_t)sys_call3_as(SYS_gettid, 0, 0, 0);
    counts = NULL;
    bool recorded = child_records_make(t, parent);
    t->record = recorded ? state_of(t)->record : NULL;
    return engine_fork_child_as(t->engine, t, counts, tid) && counts && recorded;
}

static void exact_left(struct engine_thread *t, enum stop_reason why)
{
    /* The filter may be for all threads, and the engine's own system calls are not what it expects.
     * Who makes some now has the lock, which the next line waits for. */
    if (why == STOP_SANDBOX)
        engine_end_as(t->engine, why);
    engine_unmapped_as(t->engine);
    if (!counts)
        return;
    __atomic_add_fetch(&counts->stopped[why], 1, __ATOMIC_RELAXED);
    if (translated_is_refusal(why))
        translated_refused_as(counts, t);
    translated_figures_as(counts, t);
}

static void exact_alone(struct engine_thread *t)
{
    if (!counts)
        return;
    __atomic_add_fetch(&counts->alone, 1, __ATOMIC_RELAXED);
    translated_refused_as(counts, t);
}

static uint64_t exact_caller(struct engine_thread *t, uint64_t pc)
{
    return state_of(t) ? translated_caller_as(state_of(t), t, pc) : 0;
}

static const struct engine_carrier engine_carrier = {
    .caller = exact_caller,
    .trust = exact_trust,
    .system_call = whole_system_call_as,
    .stopped = whole_stopped_as,
    .key = translated_key_as,
    .own_begin = __ehdr_start,
    .own_end = _end,
};

static const struct whole_events events = {
    .thread_begin = exact_thread_begin,
    .thread_end = exact_thread_end,
    .fork_child = exact_fork_child,
    .alone = exact_alone,
    .left = exact_left,
};

static bool exact_begin(void)
{
    enum { TRIES = 3, ENOUGH = 1 << 18, MS = 5000 };
    enum stop_reason why = STOP_NO_MEMORY;
    bool ready = true;
    for (int i = 0; i < TRIES && ready && !counts; i++) {
        ready = spool_wait_as(&guest.spool, ENOUGH, MS);
        counts = counts_begin_as(&guest.spool, guest.process);
    }
    struct engine_config config;
    bytes_clear_as(&config, sizeof config);
    config.carrier = &engine_carrier;
    config.spool = &guest.spool;
    config.counts = counts;
    tools_set_whole(&guest.spool, rt.config->tools, &config.tools);
    bool may = counts && !forbidden_shadow_stack_as();
    if (counts && !may)
        why = STOP_SHADOW_STACK;
    if (may && !mappings_readable_as()) { /* every instruction would be stepped over */
        why = STOP_NO_MAPS;
        may = false;
    }
    struct engine *e = may ? engine_make_as(&config, &why) : NULL;
    if (e && whole_begin(e, &events, translated_rseq_area_as()))
        return true;
    if (counts)
        counts->stopped[why]++;
    return false;
}

static void files_keep_as(void)
{
    kept_open_as(KEPT_MAPS);
}

const struct carrier carrier_exact = {
    .translates = true,
    .begin = exact_begin,
    .files_keep_as = files_keep_as,
};

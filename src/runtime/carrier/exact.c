#include "runtime/carrier/exact.h"

#include <stddef.h>

#include "engine/mappings.h"
#include "engine/whole.h"
#include "runtime/images.h"
#include "runtime/process.h"
#include "runtime/runtime.h"
#include "runtime/thread.h"
#include "sigsafe/key.h"
#include "sigsafe/spool_counts.h"
#include "sigsafe/sys.h"
#include "tools/tools.h"

static struct spool_counts *counts; /* NULL: the spool was full */

static struct rt_thread *state_of(const struct engine_thread *t)
{
    return ((const struct whole_thread *)t->carrier)->carrier;
}

static struct trust_range exact_trust(void *data, uint64_t address)
{
    (void)data;
    return mappings_trust_as(address);
}

static uint64_t exact_key(void *data, uint64_t address)
{
    const struct unwind_image *image = unwind_index_find_as(images_current_as(), address);
    (void)data;
    if (!image && images_add_as(address))
        image = unwind_index_find_as(images_current_as(), address);
    return image ? key_make(image->number, address - image->bias) : key_make(0, address);
}

static bool exact_thread_begin(struct engine_thread *t)
{
    struct rt_thread *state = thread_make_as();
    if (!state)
        return false;
    if (!thread_begin_as(state))
        return false;
    whole_thread_as(t)->carrier = state;
    t->record = state->record;
    return true;
}

/* What the engine did for this thread, into the process's record. */
static void figures_add(const struct engine_thread *t)
{
    if (!counts)
        return;
    __atomic_add_fetch(&counts->dispatches, t->dispatches, __ATOMIC_RELAXED);
    __atomic_add_fetch(&counts->dispatch_ticks, t->dispatch_ticks, __ATOMIC_RELAXED);
    struct engine_figures f = engine_figures_as(t->engine);
    __atomic_store_n(&counts->blocks, f.blocks, __ATOMIC_RELAXED);
    __atomic_store_n(&counts->code_bytes, f.code_bytes, __ATOMIC_RELAXED);
    __atomic_store_n(&counts->translation_ticks, f.translate_ticks, __ATOMIC_RELAXED);
}

static void exact_thread_end(struct engine_thread *t)
{
    figures_add(t);
    if (state_of(t))
        thread_end_as(state_of(t));
    whole_thread_as(t)->carrier = NULL;
}

static bool exact_fork_child(struct engine_thread *t)
{
    const struct spool_counts *parent = counts;
    int32_t tid = (int32_t)sys_call3_as(SYS_gettid, 0, 0, 0);
    counts = NULL;
    if (process_copy_as() && parent)
        counts = counts_fork_child_as(&rt.spool, parent, rt.process);
    bool recorded = rt.process && thread_fork_child_as(state_of(t));
    t->record = recorded ? state_of(t)->record : NULL;
    return engine_fork_child_as(t->engine, t, counts, tid) && counts && recorded;
}

static void exact_left(struct engine_thread *t, enum stop_reason why)
{
    if (counts)
        __atomic_add_fetch(&counts->stopped[why], 1, __ATOMIC_RELAXED);
    figures_add(t);
}

static const struct engine_carrier carrier = {
    .trust = exact_trust,
    .system_call = whole_system_call_as,
    .stopped = whole_stopped_as,
    .signals = whole_signals_as,
    .key = exact_key,
};

static const struct whole_events events = {
    .thread_begin = exact_thread_begin,
    .thread_end = exact_thread_end,
    .fork_child = exact_fork_child,
    .left = exact_left,
};

/* glibc's registration of the calling thread; the symbol came with it (2.35). */
extern const ptrdiff_t __rseq_offset __attribute__((weak));

static void *rseq_area(void)
{
    return &__rseq_offset ? (char *)__builtin_thread_pointer() + __rseq_offset : NULL;
}

static const struct tool *configured_tool(void)
{
    static const struct tool *const tools[] = {[TOOL_NULL] = &tool_null,
                                               [TOOL_COUNT] = &tool_count,
                                               [TOOL_BLOCKS] = &tool_blocks,
                                               [TOOL_EDGES] = &tool_edges,
                                               [TOOL_CALLS] = &tool_calls};
    return rt.config->tool < sizeof tools / sizeof *tools ? tools[rt.config->tool] : NULL;
}

bool exact_begin(void)
{
    enum stop_reason why = STOP_NO_MEMORY;
    counts = counts_begin_as(&rt.spool, rt.process);
    const struct engine_config config = {.carrier = &carrier,
                                         .tool = configured_tool(),
                                         .spool = &rt.spool,
                                         .counts = counts};
    struct engine *e = counts ? engine_make_as(&config, &why) : NULL;
    if (e && whole_begin(e, &events, rseq_area()))
        return true;
    if (counts)
        counts->stopped[why]++;
    return false;
}

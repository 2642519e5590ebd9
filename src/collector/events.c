#include "collector/events.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

#include "base/suggest.h"

#define SOFTWARE(id) PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##id
#define HARDWARE(id) TRIGGER_HARDWARE, PERF_TYPE_HARDWARE, PERF_COUNT_HW_##id
#define CACHE(cache, op, result)                                                                   \
    TRIGGER_HARDWARE, PERF_TYPE_HW_CACHE,                                                          \
        PERF_COUNT_HW_CACHE_##cache | PERF_COUNT_HW_CACHE_OP_##op << 8 |                           \
            PERF_COUNT_HW_CACHE_RESULT_##result << 16

/* Default periods of hardware events: what happens about once a cycle, every million; what is rarer
 * by two orders of magnitude, every ten thousand. On busy code both make some thousand samples a
 * second. */
enum { OFTEN = 1000000, RARE = 10000 };

/* Of synchronous events. As many bytes of the heap as other sampling heap profilers take. */
enum { HEAP_BYTES = 512 * 1024, IO_BYTES = 64 * 1024, WAIT_NS = 1000000 };

static const struct event events[] = {
    {"cpu", TRIGGER_CPU, SOFTWARE(TASK_CLOCK), 0, "CPU time of each thread"},
    {"wall", TRIGGER_WALL, SOFTWARE(TASK_CLOCK), 0,
     "elapsed time of each thread, waiting included"},
    {"page-faults", TRIGGER_PAGE_FAULTS, SOFTWARE(PAGE_FAULTS), 1, "page faults"},
    {"context-switches", TRIGGER_CONTEXT_SWITCHES, SOFTWARE(CONTEXT_SWITCHES), 1,
     "times a thread left its processor"},
    {"cycles", HARDWARE(CPU_CYCLES), OFTEN, "processor cycles"},
    {"instructions", HARDWARE(INSTRUCTIONS), OFTEN, "instructions retired"},
    {"ref-cycles", HARDWARE(REF_CPU_CYCLES), OFTEN, "cycles at a constant frequency"},
    {"bus-cycles", HARDWARE(BUS_CYCLES), RARE, "bus cycles"},
    {"branches", HARDWARE(BRANCH_INSTRUCTIONS), OFTEN, "branch instructions"},
    {"branch-misses", HARDWARE(BRANCH_MISSES), RARE, "mispredicted branches"},
    {"cache-references", HARDWARE(CACHE_REFERENCES), RARE, "last-level cache accesses"},
    {"cache-misses", HARDWARE(CACHE_MISSES), RARE, "last-level cache misses"},
    {"stalled-cycles-frontend", HARDWARE(STALLED_CYCLES_FRONTEND), OFTEN,
     "cycles without instructions to issue"},
    {"stalled-cycles-backend", HARDWARE(STALLED_CYCLES_BACKEND), OFTEN,
     "cycles waiting for data or units"},
    {"L1-dcache-loads", CACHE(L1D, READ, ACCESS), OFTEN, "loads from the first-level cache"},
    {"L1-dcache-load-misses", CACHE(L1D, READ, MISS), RARE, "loads that miss it"},
    {"L1-icache-load-misses", CACHE(L1I, READ, MISS), RARE, "instruction fetches that miss it"},
    {"LLC-loads", CACHE(LL, READ, ACCESS), RARE, "loads from the last-level cache"},
    {"LLC-load-misses", CACHE(LL, READ, MISS), RARE, "loads that miss it"},
    {"dTLB-load-misses", CACHE(DTLB, READ, MISS), RARE, "loads without a translation at hand"},
    {"iTLB-load-misses", CACHE(ITLB, READ, MISS), RARE, "fetches without a translation at hand"},
    {"malloc", TRIGGER_MALLOC, 0, 0, HEAP_BYTES, "bytes allocated, and what of them is live"},
    {"read", TRIGGER_READ, 0, 0, IO_BYTES, "bytes read or received"},
    {"write", TRIGGER_WRITE, 0, 0, IO_BYTES, "bytes written or sent"},
    {"lock-wait", TRIGGER_LOCK_WAIT, 0, 0, WAIT_NS,
     "time waited for locks and conditions of pthreads"},
};
enum { EVENT_COUNT = sizeof events / sizeof events[0] };

/* Other names that people know from perf. */
static const struct { const char *name, *means; } aliases[] = {
    {"cpu-clock", "cpu"},
    {"task-clock", "cpu"},
    {"cpu-time", "cpu"},
    {"wall-clock", "wall"},
    {"real-time", "wall"},
    {"faults", "page-faults"},
    {"cs", "context-switches"},
    {"cpu-cycles", "cycles"},
    {"branch-instructions", "branches"},
};

const struct event *events_row(unsigned row)
{
    return row < EVENT_COUNT ? &events[row] : NULL;
}

const struct event *events_find(const char *typed, const char **period, struct err *e)
{
    char name[64];
    size_t length = strcspn(typed, "=");
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name), typed);
    *period = typed[length] ? typed + length + 1 : NULL;
    const char *wanted = name;
    for (unsigned i = 0; i < sizeof aliases / sizeof aliases[0]; i++)
        if (!strcmp(name, aliases[i].name))
            wanted = aliases[i].means;
    struct suggest s = {0};
    for (unsigned i = 0; i < EVENT_COUNT; i++) {
        if (!strcmp(wanted, events[i].name))
            return &events[i];
        suggest_offer(&s, name, events[i].name);
    }
    if (s.best)
        err_set(e, ERR_USAGE, "there is no event \"%s\"; did you mean \"%s\"?", name, s.best);
    else
        err_set(e, ERR_USAGE,
                "there is no event \"%s\"; penumbra record --help lists those there are", name);
    return NULL;
}

const struct event *events_of_trigger(struct spool_trigger trigger)
{
    for (unsigned i = 0; i < EVENT_COUNT; i++)
        if (events[i].trigger == trigger.trigger && events[i].perf_type == trigger.perf_type &&
            events[i].perf_config == trigger.perf_config)
            return &events[i];
    return NULL;
}

const char *event_family(const struct event *event)
{
    switch (event->trigger) {
    case TRIGGER_MALLOC:
        return "heap";
    case TRIGGER_READ:
    case TRIGGER_WRITE:
        return "io";
    case TRIGGER_LOCK_WAIT:
        return "locks";
    default:
        return NULL;
    }
}

#include "alone.h"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <time.h>

#include "guest/images.h"
#include "runtime/process.h"
#include "runtime/self.h"
#include "runtime/trampoline/forbidden.h"
#include "sigsafe/sys.h"

enum { SPOOL_SIZE = 256 << 20, CODE_TRAP_PERF = 6, PERIOD_NS = 1000000000 };

static uint64_t tsc_hz(void)
{
    struct timespec pause = {0, 50000000};
    uint64_t before_ns = thread_monotonic_ns_as(), before = sys_ticks_as();
    nanosleep(&pause, NULL);
    uint64_t after = sys_ticks_as(), after_ns = thread_monotonic_ns_as();
    return (after - before) * 1000000000u / (after_ns - before_ns);
}

static void config_begin(struct spool_config *c, uint32_t depth_most, uint32_t more)
{
    c->trigger = TRIGGER_CPU;
    c->mechanism = MECHANISM_PERF;
    c->perf_type = PERF_TYPE_SOFTWARE;
    c->perf_config = PERF_COUNT_SW_TASK_CLOCK;
    c->signal = SIGTRAP;
    c->period = PERIOD_NS;
    c->max_depth = depth_most;
    c->trampoline = !more;
    c->more_triggers = more;
    for (uint32_t i = 0; i < more; i++)
        c->more[i] = (struct spool_trigger){.trigger = TRIGGER_PAGE_FAULTS, .period = 1};
}

static struct rt_thread *thread_alone(const void *stack_top, uint64_t stack_size)
{
    struct rt_thread *t = thread_make_as();
    if (!t || !thread_begin_as(t))
        return NULL;
    thread_stack_as(t, stack_top, stack_size);
    self_set(t);
    t->clock.multiple = 1;
    t->clock.mean = t->clock.period = PERIOD_NS;
    for (uint32_t which = 1; which <= t->other_count; which++) {
        if (!thread_other_record_as(t, which))
            return NULL;
        t->others[which - 1].clock = (struct rt_clock){
            .trigger = TRIGGER_PAGE_FAULTS, .mean = 1, .period = 1, .multiple = 1};
    }
    return t;
}

struct rt_thread *alone_begin(uint32_t depth_most, uint32_t more, const void *stack_top,
                              uint64_t stack_size)
{
    char *argv[] = {(char *)(uintptr_t)"alone", NULL};
    uint8_t *base =
        mmap(NULL, SPOOL_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED)
        return NULL;
    guest.spool = (struct spool){base, SPOOL_SIZE, 0};
    struct spool_header *h = spool_header(&guest.spool);
    h->size = h->limit = SPOOL_SIZE;
    h->next = SPOOL_HEADER_SIZE;
    h->layout = SPOOL_LAYOUT;
    h->process_size = sizeof(struct spool_process);
    h->thread_size = sizeof(struct spool_thread);
    h->follow = 1;
    h->tsc_hz = tsc_hz();
    struct settings settings = {0};
    config_begin(&settings.sampling, depth_most, more);
    if (!settings_put(&guest.spool, &settings) || !guest_sizes_take() || !runtime_config_take())
        return NULL;
    if (!process_begin(1, argv))
        return NULL;
    forbidden_init();
    return process_images_begin() && self_init() ? thread_alone(stack_top, stack_size) : NULL;
}

union alone_info alone_signal(const struct rt_thread *t, uint32_t which)
{
    return (union alone_info){
        .perf = {SIGTRAP, 0, CODE_TRAP_PERF, 0, 0,
                 (uint64_t)rt.cookie << 32 | t->slot | which << RT_WHICH_SHIFT}};
}

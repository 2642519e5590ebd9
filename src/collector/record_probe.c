#include "collector/record_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collector/outside/outside.h"
#include "collector/perf_event.h"

/* The kernel's number. glibc keeps 32 and 33 for itself and gives out SIGRTMIN (34) upwards,
 * SIGRTMAX (64) downwards: the middle is where programs seldom are. */
enum { TIMER_SIGNAL = 41 };

/* 0, or the errno of perf_event_open. */
static int try_event(uint32_t type, uint64_t config, uint64_t period, bool exclude_kernel)
{
    const struct perf_event event = {.type = type,
                                     .config = config,
                                     .period = period,
                                     .value = 1,
                                     .exclude_kernel = exclude_kernel};
    int fd = perf_event_open(&event, 0);
    if (fd < 0)
        return errno;
    close(fd);
    return 0;
}

static int paranoid_level(void)
{
    int level = -2;
    FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
    if (!f)
        return level;
    if (fscanf(f, "%d", &level) != 1)
        level = -2;
    fclose(f);
    return level;
}

static bool refused(int error)
{
    return error == EACCES || error == EPERM;
}

/* The kernel knows no sigtrap: an attribute that is not zero lies beyond those that it has. */
static bool has_no_signals(int error)
{
    return error == E2BIG;
}

static const char *why_not(int error)
{
    return has_no_signals(error) ? "before Linux 5.13 they send no signals" : strerror(error);
}

static bool no_hardware(const struct event *event, int error, struct err *e)
{
    if (refused(error))
        return err_set(e, ERR_NO_TRIGGER,
                       "the event %s may not be used here: perf_event_open says \"%s\" "
                       "(perf_event_paranoid is %d; a container may forbid the call altogether). "
                       "Try -e cpu, or ask for sysctl kernel.perf_event_paranoid=2", event->name,
                       strerror(error), paranoid_level());
    if (has_no_signals(error))
        return err_set(e, ERR_NO_TRIGGER,
                       "-e %s takes Linux 5.13: before it, perf events send no signals. Try -e cpu",
                       event->name);
    return err_set(e, ERR_NO_TRIGGER,
                   "this machine does not have the event %s: perf_event_open says \"%s\" (virtual "
                   "machines often have no hardware counters, and not every processor has every "
                   "event). Try -e cpu", event->name, strerror(error));
}

static bool is_hazardous(const struct event *event, struct err *e)
{
    return err_set(e, ERR_NO_TRIGGER,
                   "-e %s needs events inside the kernel, which are not used here: %s. Try %s",
                   event->name, perf_kernel_hazard(),
                   event->trigger == TRIGGER_WALL ? "-e cpu" : "-e wall or -e cpu");
}

/* Root is refused by a container only, and there paranoid_level() has no say. */
static bool no_switches(const struct event *event, int error, struct err *e)
{
    if (geteuid() == 0)
        return err_set(e, ERR_NO_TRIGGER,
                       "-e %s needs events inside the kernel, which are refused even to root here: "
                       "perf_event_open says "
                       "\"%s\" (a container forbids the call: docker run --cap-add PERFMON, or a "
                       "seccomp profile that "
                       "allows it). Try -e cpu",
                       event->name, strerror(error));
    return err_set(
        e, ERR_NO_TRIGGER,
        "-e %s needs events inside the kernel, which are not allowed here: "
        "perf_event_open says \"%s\" (perf_event_paranoid is %d). Run as root or ask for "
        "sysctl kernel.perf_event_paranoid=1; or try -e cpu",
        event->name, strerror(error), paranoid_level());
}

/* Without sigtrap (before Linux 5.13), or where perf events are refused altogether. */
static void use_timer(struct spool_config *config, int error, struct buf *notes)
{
    config->mechanism = MECHANISM_TIMER;
    config->signal = TIMER_SIGNAL;
    config->exclude_kernel = 0;
    buf_printf(notes, "perf events cannot be used here (%s), so CPU timers are: samples come at "
                      "kernel ticks only (at most about 250 a second), those from inside system "
                      "calls at their return\n", why_not(error));
}

/* Threads that run are sampled by their CPU timers, those that wait by looking at them. */
static bool use_outside(const struct event *event, uint32_t carrier, int error,
                        struct spool_config *config, struct buf *notes, struct err *e)
{
    if (!outside_is_possible() || carrier != CARRIER_HANDLER)
        return error ? no_switches(event, error, e) : is_hazardous(event, e);
    config->trigger = TRIGGER_CPU;
    config->outside = 1;
    config->mechanism = MECHANISM_TIMER;
    config->signal = TIMER_SIGNAL;
    buf_printf(notes,
               "perf events that see into the kernel cannot be used here (%s), so threads that "
               "wait are looked at from "
               "outside, and those that run have CPU timers (at most about 250 samples a second)\n",
               error ? why_not(error) : perf_kernel_hazard());
    return true;
}

/* Where events inside the kernel are not used. */
static bool probe_user_mode(const struct event *event, uint32_t carrier,
                            struct spool_config *config, struct buf *notes, struct err *e)
{
    if (event->trigger == TRIGGER_WALL)
        return use_outside(event, carrier, 0, config, notes, e);
    if (event->trigger == TRIGGER_CONTEXT_SWITCHES)
        return is_hazardous(event, e);
    int error = try_event(event->perf_type, event->perf_config, config->period, true);
    if (error && event->trigger != TRIGGER_CPU)
        return no_hardware(event, error, e);
    if (error) {
        use_timer(config, error, notes);
        return true;
    }
    config->exclude_kernel = 1;
    buf_printf(notes, "%s inside the kernel is not sampled, only in user mode, since events there "
                      "are not used: %s\n",
               event->trigger == TRIGGER_CPU ? "time" : event->name, perf_kernel_hazard());
    return true;
}

/* Of the first event; the others go on from what it has found. */
static bool probe_first(const struct record_event *first, uint32_t carrier,
                        struct spool_config *config, struct buf *notes, struct err *e)
{
    const struct event *event = first->event;
    uint64_t period = first->period;
    config->trigger = event->trigger;
    config->perf_type = event->perf_type;
    config->perf_config = event->perf_config;
    config->period = period;
    config->mechanism = MECHANISM_PERF;
    config->signal = SIGTRAP;
    config->exclude_kernel = 0;
    if (event_is_synchronous(event)) {
        config->mechanism = MECHANISM_CALLS;
        return true;
    }
    if (perf_kernel_hazard())
        return probe_user_mode(event, carrier, config, notes, e);
    int error = try_event(event->perf_type, event->perf_config, period, false);
    if (event->trigger == TRIGGER_WALL && !error)
        error = try_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, 1, false);
    if (!error) {
        config->watch = event->trigger == TRIGGER_WALL && carrier == CARRIER_HANDLER &&
                        outside_is_possible();
        return true;
    }
    if (event->trigger == TRIGGER_WALL)
        return use_outside(event, carrier, error, config, notes, e);
    if (event->trigger == TRIGGER_CONTEXT_SWITCHES)
        return no_switches(event, error, e);
    if (refused(error)) {
        int second = try_event(event->perf_type, event->perf_config, period, true);
        if (!second) {
            config->exclude_kernel = 1;
            buf_printf(notes, "%s inside the kernel is not sampled, only in user mode "
                              "(perf_event_paranoid is %d; it would have to be 1)\n",
                       event->trigger == TRIGGER_CPU ? "time" : event->name, paranoid_level());
            return true;
        }
        error = second;
    }
    if (event->trigger != TRIGGER_CPU)
        return no_hardware(event, error, e);
    use_timer(config, error, notes);
    return true;
}

static bool probe_other(const struct record_event *one, const struct spool_config *config,
                        struct err *e)
{
    const struct event *event = one->event;
    if (event_is_synchronous(event))
        return true;
    bool switches = event->trigger == TRIGGER_CONTEXT_SWITCHES;
    if (switches && perf_kernel_hazard())
        return is_hazardous(event, e);
    int error = try_event(event->perf_type, event->perf_config, one->period,
                          config->exclude_kernel && !switches);
    if (!error)
        return true;
    return switches ? no_switches(event, error, e) : no_hardware(event, error, e);
}

void record_probe_kernel(const struct spool_config *config, struct buf *notes)
{
    if (config->mechanism != MECHANISM_PERF)
        buf_puts(notes, "kernel functions are not seen (--kernel): it takes perf events\n");
    else if (config->exclude_kernel && perf_kernel_hazard())
        buf_printf(notes, "kernel functions are not seen (--kernel): events inside the kernel are "
                          "not used: %s\n", perf_kernel_hazard());
    else if (config->exclude_kernel)
        buf_printf(notes, "kernel functions are not seen (--kernel): perf_event_paranoid is %d, "
                          "and would have to be 1\n", paranoid_level());
}

bool record_probe_trigger(const struct record_events *events, uint32_t carrier,
                          struct spool_config *config, struct buf *notes, struct err *e)
{
    if (carrier == CARRIER_COMPILED) {
        config->trigger = TRIGGER_CHECKS;
        config->mechanism = MECHANISM_CALLS;
        config->signal = SIGTRAP;
        return true;
    }
    if (!probe_first(&events->list[0], carrier, config, notes, e))
        return false;
    config->more_triggers = events->count - 1;
    config->watch &= !config->more_triggers;
    for (unsigned i = 1; i < events->count; i++) {
        const struct record_event *one = &events->list[i];
        if (!probe_other(one, config, e))
            return false;
        config->more[i - 1] = (struct spool_trigger){.trigger = one->event->trigger,
                                                     .perf_type = one->event->perf_type,
                                                     .perf_config = one->event->perf_config,
                                                     .period = one->period};
    }
    return true;
}

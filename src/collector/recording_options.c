#include "collector/recording_options.h"

#include <string.h>

#include "sigsafe/settings.h"
#include "sigsafe/tools.h"
#include "sigsafe/tuples.h"

enum { BUDGET_FORKS_PPM = 10000, BUDGET_LEAST_PPM = 10, BUDGET_MOST_PPM = 1000000 };
enum { RATE_DEFAULT = 997, RATE_SHADOW = 199, DEPTH_DEFAULT = 131072 };

void recording_options_init(struct recording_options *o)
{
    *o = (struct recording_options){.max_depth = DEPTH_DEFAULT,
                                    .follow = true,
                                    .randomize = true,
                                    .trampoline = true,
                                    .timeline = true,
                                    .names = true,
                                    .arm_sandboxes = true};
}

/* Bursts and shadows begin at the samples of one event. */
static bool settle_events(struct recording_options *o, struct err *e)
{
    bool shadows = o->engine.carrier == CARRIER_SHADOW || o->engine.carrier == CARRIER_AUTO;
    if (!record_events_settle(&o->events, shadows ? RATE_SHADOW : RATE_DEFAULT, e))
        return false;
    if (o->events.count > 1 && o->engine.carrier != CARRIER_HANDLER)
        return err_set(
            e, ERR_USAGE,
            "bursts and shadows begin at the samples of one event; give one of -e %s and "
            "-e %s, or record call paths (without --carrier, --tool and --module)",
            o->events.list[0].event->name, o->events.list[1].event->name);
    return true;
}

const char *recording_options_family(const struct recording_options *o)
{
    return o->engine.shadow_flags & SHADOW_LOG_INPUT ? "io" : record_events_family(&o->events);
}

/* Copies are compared with the whole program: from its start to its end. */
static bool verify_settle(const struct recording_options *o, struct err *e)
{
    const char *with = o->pid           ? "-p"
                       : o->duration_ns ? "--duration"
                       : o->wait_all    ? "--wait-all"
                                        : NULL;
    if (!o->verify_cost || !with)
        return true;
    return err_set(e, ERR_USAGE,
                   "--verify-cost compares whole runs of a program, so it excludes %s", with);
}

static bool family_settle(const struct recording_options *o, struct err *e)
{
    const char *family = record_events_family(&o->events), *needed = recording_options_family(o);
    const char *event = record_events_calls(&o->events);
    if (family && strcmp(family, needed) != 0)
        return err_set(e, ERR_USAGE,
                       "-e %s and --log-input both interpose the program's calls; leave out one "
                       "of the two",
                       event);
    /* What a process has bound already does not become ours. */
    if (o->pid && needed)
        return err_set(e, ERR_USAGE,
                       "%s%s needs libpenumbra-rt.so from the program's start on; start it with "
                       "penumbra record",
                       event ? "-e " : "--log-input", event ? event : "");
    return true;
}

/* The first option given that is about samples. */
static const char *sampling_option(const struct recording_options *o)
{
    return o->events.given             ? "-e"
           : o->events.frequency_given ? "-F"
           : o->events.period_text     ? "-c"
           : o->budget_ppm             ? "--budget"
                                       : NULL;
}

static bool check_ranges(const struct recording_options *o, struct err *e)
{
    const struct record_events *events = &o->events;
    if (events->frequency_given && (!events->frequency || events->frequency > RECORDING_RATE_MOST))
        return err_set(e, ERR_USAGE, "the rate (-F) must be between 1 and %d",
                       (int)RECORDING_RATE_MOST);
    if (events->count > TRIGGERS_MAX)
        return err_set(e, ERR_USAGE, "a recording has %d events at most", (int)TRIGGERS_MAX);
    for (unsigned i = 0; i < events->count; i++)
        if (!events->list[i].event)
            return err_set(e, ERR_USAGE, "of %u events (-e), number %u is none", events->count, i);
    if (o->max_depth < SPOOL_DEPTH_LEAST || o->max_depth > RECORDING_DEPTH_MOST)
        return err_set(e, ERR_USAGE, "the depth (--max-depth) must be between %d and %d",
                       (int)SPOOL_DEPTH_LEAST, (int)RECORDING_DEPTH_MOST);
    if (o->engine.carrier >= CARRIER_KIND_COUNT || o->engine.tools >> TOOL_KIND_COUNT)
        return err_set(e, ERR_USAGE, "there is no carrier %u with tools 0x%llx", o->engine.carrier,
                       (unsigned long long)o->engine.tools);
    if (o->pid < 0)
        return err_set(e, ERR_USAGE, "%d (-p) is not the number of a process", o->pid);
    if (o->values.summary >= HOTLIST_KINDS)
        return err_set(e, ERR_USAGE, "there is no summary of values (--summary) %u",
                       (unsigned)o->values.summary);
    if (o->productions.burst > PRODUCTION_BURST_MOST)
        return err_set(e, ERR_USAGE, "a burst (--burst) has at most 2^32 events");
    return record_engine_range("--budget", o->budget_ppm, BUDGET_LEAST_PPM, BUDGET_MOST_PPM,
                               "millionths", e) &&
           record_engine_range("--every", o->values.every, 1, VALUES_EVERY_MOST, "triggers", e);
}

/* The first option given that needs the runtime in the program. */
static const char *entering_option(const struct recording_options *o)
{
    bool values = !o->engine.tools || o->engine.tools == tools_one(TOOL_VALUES);
    return o->engine.carrier != CARRIER_HANDLER ? "--carrier"
           : !values                            ? "--tool (but values)"
           : o->values.by_site                  ? "--by-site"
           : o->budget_ppm                      ? "--budget"
           : o->verify_cost                     ? "--verify-cost"
           : o->wait_all                        ? "--wait-all"
           : !o->follow                         ? "--no-follow"
                                                : NULL;
}

/* Values are captured from outside, and instructions interpreted. */
static bool machine_values_settle(struct recording_options *o, struct err *e)
{
    struct record_values *v = &o->values;
    if (!o->engine.tools && !v->file)
        return true;
    if (o->machine.waits)
        return err_set(e, ERR_USAGE, "values are captured at samples of CPU time: leave out -e "
                                     "wall");
    if (o->engine.length > TUPLE_LENGTH_MAX)
        return err_set(e, ERR_USAGE, "at most %d instructions are interpreted one after the other "
                                     "(--length)", TUPLE_LENGTH_MAX);
    o->machine.values = v->outside = true;
    v->length = (uint32_t)o->engine.length;
    o->engine.length = 0;
    return true;
}

/* From outside: samples of CPU time, or of elapsed time, and values. */
static bool machine_settle(struct recording_options *o, struct err *e)
{
    const struct machine_options *m = &o->machine;
    const char *how = m->all ? "-a" : m->external ? "--external" : m->cgroup ? "--cgroup" : "--uid";
    const char *entering = entering_option(o);
    const char *event = o->events.given ? o->events.list[0].event->name : "cpu";
    if (entering)
        return err_set(e, ERR_USAGE,
                       "%s looks at processes from outside, and %s needs Penumbra in the program",
                       how, entering);
    o->machine.waits = !strcmp(event, "wall");
    if (o->events.count > 1 || (!o->machine.waits && strcmp(event, "cpu") != 0))
        return err_set(e, ERR_USAGE, "%s samples CPU time (-e cpu) or elapsed time (-e wall) alone",
                       how);
    if (o->pid && !m->external)
        return err_set(e, ERR_USAGE, "%s and -p exclude each other; of one process from outside: "
                                     "--external -p %d", how, o->pid);
    if (m->external && (m->all || m->cgroup || m->user))
        return err_set(e, ERR_USAGE, "--external is of one program or process; leave it out with "
                                     "%s", m->all ? "-a" : m->cgroup ? "--cgroup" : "--uid");
    if (m->all && (m->cgroup || m->user))
        return err_set(e, ERR_USAGE, "-a is all of the machine; leave it out with %s",
                       m->cgroup ? "--cgroup" : "--uid");
    if (m->external && !o->pid && !recording_options_has_program(o))
        return err_set(e, ERR_USAGE, "--external needs a program to run, or a process (-p PID); "
                                     "everything: -a");
    o->randomize = o->trampoline = o->arm_sandboxes = false;
    return machine_values_settle(o, e);
}

/* Samples of the program's threads, at events, by Penumbra in the program. */
static bool kernel_settle(const struct recording_options *o, struct err *e)
{
    const struct event *event = o->events.list[0].event;
    if (!o->kernel)
        return true;
    if (recording_options_is_machine(o))
        return err_set(e, ERR_USAGE, "from outside, kernel functions are in the stacks anyway: "
                                     "leave out --kernel");
    if (o->pid)
        return err_set(e, ERR_USAGE, "--kernel is for a program that Penumbra starts; for one that "
                                     "runs: --external -p %d", o->pid);
    if (o->engine.carrier != CARRIER_HANDLER)
        return err_set(e, ERR_USAGE, "--kernel adds to stacks of samples: leave out --carrier, "
                                     "--exact, --tool and --module");
    return event->trigger == TRIGGER_CPU || event->trigger == TRIGGER_HARDWARE
               ? true
               : err_set(e, ERR_USAGE, "with -e %s there are no kernel functions (--kernel); there "
                                       "are with -e cpu", event->name);
}

bool recording_options_settle(struct recording_options *o, struct err *e)
{
    bool has_program = recording_options_has_program(o);
    bool machine = recording_options_is_machine(o);
    if (o->pid && has_program)
        return err_set(e, ERR_USAGE,
                       "either a process (-p %d) or a program to start (%s), not both", o->pid,
                       *o->program);
    if (machine && !machine_settle(o, e))
        return false;
    if (has_program ? !**o->program : !o->pid && !machine)
        return err_set(e, ERR_USAGE,
                       "no program to run: penumbra record [OPTIONS] -- PROGRAM "
                       "ARGUMENTS; see penumbra record --help");
    if (!o->budget_ppm && (o->engine.carrier == CARRIER_AUTO ||
                           (o->engine.carrier == CARRIER_SHADOW && !o->engine.load_milli)))
        o->budget_ppm = BUDGET_FORKS_PPM;
    o->engine.budgeted = o->budget_ppm != 0;
    return check_ranges(o, e) && record_productions_settle(&o->productions, &o->engine, e) &&
           record_values_settle(&o->values, &o->engine, e) &&
           record_engine_settle(&o->engine, o->pid, sampling_option(o), e) && settle_events(o, e) &&
           kernel_settle(o, e) && family_settle(o, e) && verify_settle(o, e);
}

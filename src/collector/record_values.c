#include "collector/record_values.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "modules/builtin.h"
#include "sigsafe/tools.h"
#include "sigsafe/tuples.h"

/* The paper's: four instructions at every second trigger. */
enum { LENGTH_DEFAULT = 4, EVERY_DEFAULT = 2 };
/* From outside, an instruction more costs the program nothing. */
enum { LENGTH_OUTSIDE = 32, EVERY_OUTSIDE = 1 };

/* What bursts may cost of the CPU time, in millionths, with what comes behind them, where no
 * --every was given. What is left of a point is for the beginning (docs/values.md, "How often"). */
enum { SHARE_PPM = 7000 };

bool record_values_settle(struct record_values *v, struct record_engine *engine, struct err *e)
{
    uint32_t module = tools_module(engine->tools);
    const struct tool_about *tool = tool_about(module);
    v->name = tool ? tool->name : NULL;
    v->hierarchy = tool && tool->hierarchy;
    if (tool && tool->machine && !v->machine)
        return err_set(e, ERR_USAGE, "--tool %s needs a machine: use penumbra simulate --machine "
                       "FILE -- PROGRAM", tool->name);
    bool chosen = v->name || v->file;
    if (v->file && engine->tools)
        return err_set(e, ERR_USAGE,
                       "--module %s and --tool are two choices of what is observed; give one",
                       v->file);
    if (!chosen && (v->redact || v->summary_given || v->every || v->by_site))
        return err_set(e, ERR_USAGE, "--%s is about sampled values: add --tool values, or --module",
                       v->redact          ? "redact"
                       : v->summary_given ? "summary"
                       : v->every         ? "every"
                                          : "by-site");
    if (!chosen)
        return true;
    if (v->outside) {
        engine->tools = 0; /* nothing runs in the program */
        return true;
    }
    if (v->file)
        engine->tools = tools_one(tool_of_modules());
    if (engine->carrier == CARRIER_HANDLER)
        engine->carrier = CARRIER_BURST;
    if (engine->carrier != CARRIER_EXACT && engine->length > TUPLE_LENGTH_MAX)
        return err_set(e, ERR_USAGE,
                       "at most %d instructions are observed one after the other (--length)",
                       TUPLE_LENGTH_MAX);
    return true;
}

bool record_values_calibrate(const struct record_values *v,
                             const struct recording_callbacks *callbacks, struct err *e)
{
    bool measured;
    if (!v->hierarchy)
        return true;
    const struct hierarchy *h = module_hierarchy(&measured, e);
    if (h && measured)
        tell_note(callbacks,
                  "measured this machine's memory hierarchy first, because it was not known "
                  "yet; penumbra calibrate --show");
    return h;
}

bool record_values_start(const struct record_values *v, struct record_host *host,
                         const struct record_engine *engine, struct record_spool *spool,
                         uint32_t carrier, struct burst_settings *burst,
                         struct shadow_settings *shadow, struct value_settings *values,
                         const struct recording_callbacks *callbacks, struct err *e)
{
    struct host_options options = {
        .summary = v->summary, .redact = v->redact, .by_site = v->by_site,
        .machine = v->machine, .machine_name = v->machine_name,
        .productions = v->productions, .dise_original = v->dise_original,
        .registers = v->registers, .sample = v->sample};
    if (!v->name && !v->file)
        return true;
    if (getrandom(&options.seed, sizeof options.seed, 0) != (ssize_t)sizeof options.seed)
        return err_set(e, ERR_INTERNAL, "there are no random numbers to be had");
    if (v->by_site)
        values->context |= PENUMBRA_RETURN_ADDRESS;
    values->sample = v->sample;
    if (!record_host_start(host, v->file, v->name, &options, spool, values, callbacks, e))
        return false;
    const struct spool_values *wants = host->values;
    uint32_t length = wants->length < TUPLE_LENGTH_MAX ? wants->length : TUPLE_LENGTH_MAX;
    burst->every = v->every       ? v->every
                   : v->outside   ? EVERY_OUTSIDE
                   : wants->every ? wants->every
                                  : EVERY_DEFAULT;
    burst->ppm = v->every ? 0 : SHARE_PPM;
    if (v->outside) {
        burst->length = v->length ? v->length : LENGTH_OUTSIDE;
        return true;
    }
    length = length ? length : LENGTH_DEFAULT;
    if (carrier == CARRIER_AUTO)
        burst->length = engine->burst_length ? engine->burst_length : length;
    else if (carrier != CARRIER_EXACT && !engine->length)
        burst->length = shadow->length = length;
    return true;
}

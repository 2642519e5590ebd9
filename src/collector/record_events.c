#include "collector/record_events.h"

#include <stdio.h>
#include <string.h>

#include "base/numbers.h"

/* Each in its place: so that two recordings of the same events have the same metrics in the same
 * order. */
static bool insert(struct record_events *r, const struct record_event *one, struct err *e)
{
    unsigned at = 0;
    while (at < r->count && r->list[at].event < one->event)
        at++;
    if (at < r->count && r->list[at].event == one->event)
        return err_set(e, ERR_USAGE, "-e %s is given twice", one->event->name);
    if (r->count == TRIGGERS_MAX)
        return err_set(e, ERR_USAGE, "a recording has %d events at most", (int)TRIGGERS_MAX);
    memmove(&r->list[at + 1], &r->list[at], (r->count - at) * sizeof r->list[0]);
    r->list[at] = *one;
    r->count++;
    return true;
}

static bool add_one(struct record_events *r, const char *typed, struct err *e)
{
    struct record_event one = {0};
    const char *period;
    one.event = events_find(typed, &period, e);
    if (!one.event)
        return false;
    if (period && (!*period || strlen(period) >= sizeof one.period_text))
        return err_set(e, ERR_USAGE, "-e %s: the period that follows the = cannot be \"%s\"",
                       one.event->name, period);
    snprintf(one.period_text, sizeof one.period_text, "%s", period ? period : "");
    return insert(r, &one, e);
}

bool record_events_add(struct record_events *r, const char *typed, struct err *e)
{
    r->given = true;
    for (;;) {
        char one[128];
        size_t length = strcspn(typed, ",");
        snprintf(one, sizeof one, "%.*s", (int)(length < sizeof one ? length : sizeof one), typed);
        if (!add_one(r, one, e))
            return false;
        if (!typed[length])
            return true;
        typed += length + 1;
    }
}

static bool parse_period(struct record_event *one, const char *text, struct err *e)
{
    double value;
    const struct event *event = one->event;
    bool time = event_is_time(event), waits = event->trigger == TRIGGER_LOCK_WAIT, ok;
    if (event_is_synchronous(event))
        ok = number_parse(text, waits ? number_periods : number_bytes, 1, waits ? 1e12 : 1e15,
                          waits ? "the waiting time (-e lock-wait=TIME)" : "the number of bytes",
                          &value, e);
    else
        /* Below 10 us the kernel itself does not go (kernel/events/core.c,
         * perf_swevent_start_hrtimer). */
        ok = number_parse(text, time ? number_periods : number_counts, time ? 10000 : 1,
                          time ? 1e12 : 1e15,
                          time ? "the period in nanoseconds (-c)" : "the period (-c)", &value, e);
    one->period = ok ? (uint64_t)value : 0;
    return ok;
}

/* The period follows from the event, -c and -F together. */
static bool settle_one(struct record_events *r, struct record_event *one, struct err *e)
{
    const struct event *event = one->event;
    const char *text = *one->period_text ? one->period_text : r->period_text;
    bool time = event_is_time(event);
    if (r->period_text && *one->period_text)
        return err_set(e, ERR_USAGE, "-e %s=%s and -c %s are two periods; give one", event->name,
                       one->period_text, r->period_text);
    if (text && r->frequency_given && (time || r->count == 1))
        return err_set(e, ERR_USAGE, "a rate (-F) and a period (-c) exclude each other; give one");
    if (r->frequency_given && r->count == 1 && !time)
        return err_set(e, ERR_USAGE,
                       "-F is for time (-e cpu, -e wall); for %s give a period with -c, "
                       "or none for one sample every %lu",
                       event->name, (unsigned long)event->period);
    if (text)
        return parse_period(one, text, e);
    one->period = time ? UINT64_C(1000000000) / r->frequency : event->period;
    return true;
}

/* What several events cannot be. */
static bool check_several(const struct record_events *r, struct err *e)
{
    unsigned times = 0;
    for (unsigned i = 0; i < r->count; i++)
        times += event_is_time(r->list[i].event);
    if (r->count > 1 && r->period_text)
        return err_set(e, ERR_USAGE,
                       "-c is the period of one event; of several, give each its own: -e %s=%s",
                       r->list[0].event->name, r->period_text);
    if (r->count > 1 && r->frequency_given && !times)
        return err_set(e, ERR_USAGE,
                       "-F is for time (-e cpu, -e wall); give each event a period: -e %s=PERIOD",
                       r->list[0].event->name);
    if (times > 1)
        return err_set(e, ERR_USAGE,
                       "-e cpu and -e wall are both the clock of a thread, and a recording has "
                       "one: elapsed time "
                       "includes CPU time; record -e wall, or each in a run of its own");
    return true;
}

bool record_events_settle(struct record_events *r, uint64_t frequency, struct err *e)
{
    if (!r->count) {
        r->list[0] = (struct record_event){.event = events_row(0)};
        r->count = 1;
    }
    if (!r->frequency_given)
        r->frequency = frequency;
    if (!check_several(r, e))
        return false;
    for (unsigned i = 0; i < r->count; i++)
        if (!settle_one(r, &r->list[i], e))
            return false;
    return true;
}

const struct event *record_events_first(const struct record_events *r)
{
    return r->list[0].event;
}

const char *record_events_family(const struct record_events *r)
{
    const char *needed = NULL;
    for (unsigned i = 0; i < r->count; i++) {
        const char *family = event_family(r->list[i].event);
        if (family && needed && strcmp(family, needed) != 0)
            return "calls";
        needed = family ? family : needed;
    }
    return needed;
}

const char *record_events_calls(const struct record_events *r)
{
    for (unsigned i = 0; i < r->count; i++)
        if (event_is_synchronous(r->list[i].event))
            return r->list[i].event->name;
    return NULL;
}

uint32_t record_events_bound_ppm(const struct record_events *r, unsigned index, uint32_t budget_ppm,
                                 enum carrier_kind carrier)
{
    enum { TIME_PPM = 20000, USUAL_PPM = 50000, ALL_PPM = 1000000, SAFETY_PPM = 250000 };
    const struct record_event *one = &r->list[index];
    bool synchronous = event_is_synchronous(one->event);
    if (budget_ppm)
        return budget_ppm < ALL_PPM ? budget_ppm / r->count : synchronous ? 0 : budget_ppm;
    if (synchronous)
        return one->period > 1 ? USUAL_PPM : 0;
    bool rate_asked = r->frequency_given || r->period_text || *one->period_text;
    if (rate_asked || (carrier != CARRIER_HANDLER && carrier != CARRIER_BURST))
        return SAFETY_PPM;
    return carrier == CARRIER_HANDLER && trigger_is_time(one->event->trigger) ? TIME_PPM
                                                                              : USUAL_PPM;
}

#include "profile/section_shadows.h"

#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"
#include "profile/shadows.h"

/* The plain numbers, in the order of the file. */
enum { NUMBERS = 8, STOPPED_NUMBERS = 6 };

static void numbers_of(struct profile_shadows *s, uint64_t *numbers[NUMBERS])
{
    uint64_t *const all[NUMBERS] = {
        &s->load_milli, &s->started,  &s->instructions,  &s->skipped_writes,
        &s->cpu_ns,     &s->run_ns,   &s->faults,        &s->pause_ns,
    };
    memcpy(numbers, all, sizeof all);
}

/* Page faults that forks have caused. Files of older versions may have all of the program's instead, and its CPU time, until
 * the first fork and since then: what it would have had at the rate before is not the forks'. */
enum { BEFORE, BEFORE_NS, AFTER, AFTER_NS, COPIES_NUMBERS };

static void put_copies(struct buf *b, uint64_t copies)
{
    const uint64_t numbers[COPIES_NUMBERS] = {[AFTER] = copies};
    for (unsigned i = 0; i < COPIES_NUMBERS; i++)
        buf_put_uleb(b, numbers[i]);
}

static uint64_t get_copies(struct cursor *c)
{
    uint64_t n[COPIES_NUMBERS];
    for (unsigned i = 0; i < COPIES_NUMBERS; i++)
        n[i] = cursor_uleb(c, UINT64_MAX, "a number of page faults, or their time");
    double own = n[BEFORE_NS] ? (double)n[BEFORE] / (double)n[BEFORE_NS] * (double)n[AFTER_NS] : 0;
    return (double)n[AFTER] > own ? n[AFTER] - (uint64_t)own : 0;
}

static void put_named(struct buf *b, const uint64_t *counts, unsigned count,
                      const char *(*name_of)(unsigned))
{
    buf_put_uleb(b, count);
    for (unsigned i = 0; i < count; i++) {
        buf_put_string(b, name_of(i));
        buf_put_uleb(b, counts[i]);
    }
}

void section_shadows_put(struct section_out *out, const struct profile_shadows *s)
{
    struct buf *b = &out->raw;
    struct profile_shadows copy = *s;
    uint64_t *numbers[NUMBERS];
    unsigned calls = 0;
    out->type = SECTION_SHADOWS;
    out->optional = true;
    numbers_of(&copy, numbers);
    for (unsigned i = 0; i < NUMBERS; i++)
        buf_put_uleb(b, *numbers[i]);
    put_copies(b, s->copies);
    put_named(b, s->ended, END_COUNT, profile_end_name);
    put_named(b, s->declined, DECLINE_COUNT, profile_decline_name);
    buf_put_uleb(b, SHADOW_PAUSES);
    for (unsigned i = 0; i < SHADOW_PAUSES; i++)
        buf_put_uleb(b, s->pauses[i]);
    for (unsigned i = 0; i < SHADOW_CALLS; i++)
        calls += s->calls[i] != 0;
    buf_put_uleb(b, calls);
    for (unsigned i = 0; i < SHADOW_CALLS; i++)
        if (s->calls[i]) {
            buf_put_uleb(b, i);
            buf_put_uleb(b, s->calls[i]);
            buf_put_uleb(b, s->calls_ended[i]);
        }
}

/* Names that this version does not know count as the last reason of all: for what they say, a newer one is
 * needed, but no shadow is lost. */
static void get_named(struct cursor *c, uint64_t *counts, unsigned known,
                      const char *(*name_of)(unsigned), unsigned other)
{
    uint32_t n = (uint32_t)cursor_uleb(c, REASONS_MAX, "a number of names up to 64");
    for (uint32_t i = 0; i < n && !c->failed; i++) {
        char *name = cursor_string(c, "a name");
        uint64_t count = cursor_uleb(c, UINT64_MAX, "a count");
        unsigned k = 0;
        while (name && k < known && strcmp(name, name_of(k)) != 0)
            k++;
        k = k < known ? k : other;
        counts[k] = add_saturated(counts[k], count);
        free(name);
    }
}

static void get_all(struct cursor *c, struct profile_shadows *s)
{
    uint64_t *numbers[NUMBERS];
    numbers_of(s, numbers);
    for (unsigned i = 0; i < NUMBERS; i++)
        *numbers[i] = cursor_uleb(c, UINT64_MAX, "a number about shadows");
    s->copies = get_copies(c);
    get_named(c, s->ended, END_COUNT, profile_end_name, END_ENGINE);
    get_named(c, s->declined, DECLINE_COUNT, profile_decline_name, DECLINE_MEMORY);
    uint64_t pauses = cursor_uleb(c, SHADOW_PAUSES, "a number of pauses up to 160");
    for (uint64_t i = 0; i < pauses && !c->failed; i++)
        s->pauses[i] = cursor_uleb(c, UINT64_MAX, "a number of pauses");
    uint64_t calls = cursor_uleb(c, SHADOW_CALLS, "a number of system calls up to 512");
    for (uint64_t i = 0; i < calls && !c->failed; i++) {
        uint64_t number = cursor_uleb(c, SHADOW_CALLS - 1, "a system call's number below 512");
        s->calls[number] = cursor_uleb(c, UINT64_MAX, "how often a system call was met");
        s->calls_ended[number] = cursor_uleb(c, UINT64_MAX, "how often it ended a shadow");
    }
}

void section_places_put(struct section_out *out, const struct profile_shadows *s)
{
    out->type = SECTION_PLACES;
    out->optional = true;
    buf_put_uleb(&out->raw, s->burst_length);
    put_named(&out->raw, s->placed, PLACE_COUNT, profile_place_name);
}

static void get_places(struct cursor *c, struct profile_shadows *s)
{
    s->burst_length = cursor_uleb(c, UINT64_MAX, "the length of bursts");
    get_named(c, s->placed, PLACE_COUNT, profile_place_name, PLACE_UNDECIDED);
}

static void stopped_numbers(struct profile_shadows *s, uint64_t *numbers[STOPPED_NUMBERS])
{
    uint64_t *const all[STOPPED_NUMBERS] = {&s->barriers, &s->barrier_ns, &s->rebuilt,
                                            &s->asleep,   &s->scheduled,  &s->switches};
    memcpy(numbers, all, sizeof all);
}

void section_stopped_put(struct section_out *out, const struct profile_shadows *s)
{
    struct profile_shadows copy = *s;
    uint64_t *numbers[STOPPED_NUMBERS];
    stopped_numbers(&copy, numbers);
    out->type = SECTION_STOPPED;
    out->optional = true;
    for (unsigned i = 0; i < STOPPED_NUMBERS; i++)
        buf_put_uleb(&out->raw, *numbers[i]);
    put_named(&out->raw, s->gave_up, BARRIER_COUNT, profile_barrier_name);
}

static void get_stopped(struct cursor *c, struct profile_shadows *s)
{
    uint64_t *numbers[STOPPED_NUMBERS];
    stopped_numbers(s, numbers);
    for (unsigned i = 0; i < STOPPED_NUMBERS; i++)
        *numbers[i] = cursor_uleb(c, UINT64_MAX, "a number about stopped threads");
    get_named(c, s->gave_up, BARRIER_COUNT, profile_barrier_name, BARRIER_TIMEOUT);
}

static void put_two(struct section_out *out, enum section_type type, uint64_t a, uint64_t b)
{
    out->type = type;
    out->optional = true;
    buf_put_uleb(&out->raw, a);
    buf_put_uleb(&out->raw, b);
}

void section_input_put(struct section_out *out, const struct profile_shadows *s)
{
    put_two(out, SECTION_INPUT, s->replayed, s->input_lost);
}

static void get_input(struct cursor *c, struct profile_shadows *s)
{
    s->replayed = cursor_uleb(c, UINT64_MAX, "a number of calls answered");
    s->input_lost = cursor_uleb(c, UINT64_MAX, "a number of shadows without input");
}

void section_spent_put(struct section_out *out, const struct profile_shadows *s)
{
    put_two(out, SECTION_SPENT, s->cost_ns, s->worst_ns);
}

static void get_spent(struct cursor *c, struct profile_shadows *s)
{
    s->cost_ns = cursor_uleb(c, UINT64_MAX, "what shadows have cost");
    s->worst_ns = cursor_uleb(c, UINT64_MAX, "the most in a window");
}

void section_sleepers_put(struct section_out *out, const struct profile_shadows *s)
{
    unsigned calls = 0;
    out->type = SECTION_SLEEPERS;
    out->optional = true;
    buf_put_uleb(&out->raw, s->fell_asleep);
    for (unsigned i = 0; i < SHADOW_CALLS; i++)
        calls += s->asleep_in[i] != 0;
    buf_put_uleb(&out->raw, calls);
    for (unsigned i = 0; i < SHADOW_CALLS; i++)
        if (s->asleep_in[i]) {
            buf_put_uleb(&out->raw, i);
            buf_put_uleb(&out->raw, s->asleep_in[i]);
        }
}

static void get_sleepers(struct cursor *c, struct profile_shadows *s)
{
    s->fell_asleep = cursor_uleb(c, UINT64_MAX, "a number of threads");
    uint64_t calls = cursor_uleb(c, SHADOW_CALLS, "a number of system calls up to 512");
    for (uint64_t i = 0; i < calls && !c->failed; i++) {
        uint64_t number = cursor_uleb(c, SHADOW_CALLS - 1, "a system call's number below 512");
        s->asleep_in[number] = cursor_uleb(c, UINT64_MAX, "how many threads slept in it");
    }
}

void section_passed_put(struct section_out *out, const struct profile_shadows *s)
{
    put_two(out, SECTION_PASSED, s->passed, s->passed_ns);
}

static void get_passed(struct cursor *c, struct profile_shadows *s)
{
    s->passed = cursor_uleb(c, UINT64_MAX, "a number of instructions passed over");
    s->passed_ns = cursor_uleb(c, UINT64_MAX, "the time that they took");
}

void section_huge_put(struct section_out *out, const struct profile_shadows *s)
{
    put_two(out, SECTION_HUGE, s->huge_pages, s->huge_ns);
}

static void get_huge(struct cursor *c, struct profile_shadows *s)
{
    s->huge_pages = cursor_uleb(c, UINT64_MAX, "a number of huge pages");
    s->huge_ns = cursor_uleb(c, UINT64_MAX, "the time that they took");
}

static bool get_section(struct decoder *d, enum section_type type,
                        void (*get)(struct cursor *c, struct profile_shadows *s))
{
    struct cursor c;
    if (!d->file.known[type].offset)
        return true;
    if (!decode_open(d, type, &c))
        return false;
    get(&c, d->p->shadows);
    bool ok = cursor_end(&c);
    free((void *)(uintptr_t)c.data);
    return ok;
}

bool section_shadows_get(struct decoder *d)
{
    if (!d->file.known[SECTION_SHADOWS].offset)
        return true;
    d->p->shadows = calloc(1, sizeof *d->p->shadows);
    if (!d->p->shadows)
        return err_set(d->e, ERR_INTERNAL, "%s: out of memory", d->file.name);
    return get_section(d, SECTION_SHADOWS, get_all) && get_section(d, SECTION_PLACES, get_places) &&
           get_section(d, SECTION_STOPPED, get_stopped) && get_section(d, SECTION_INPUT, get_input) &&
           get_section(d, SECTION_SPENT, get_spent) && get_section(d, SECTION_SLEEPERS, get_sleepers) &&
           get_section(d, SECTION_PASSED, get_passed) && get_section(d, SECTION_HUGE, get_huge);
}

/* What became of the shadows of a recording (docs/shadow.md): sums over all processes.
 *
 * Context: ordinary code.
 * Ownership: a struct profile owns its shadows. */
#ifndef PENUMBRA_PROFILE_SHADOWS_H
#define PENUMBRA_PROFILE_SHADOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/figures.h"
#include "sigsafe/reasons.h"
#include "sigsafe/spool_shadow.h"

/* The groups of system calls, as in "Shadow Profiling", section 3.2. */
enum call_group { CALL_BENIGN, CALL_OUTPUT, CALL_INPUT, CALL_MISC, CALL_UNSAFE, CALL_GROUPS };

/* Settings, of all processes. */
#define SHADOW_SETTINGS(ONE)                                                                       \
    ONE(load_milli, GREATEST, "1/1000", "shadows to be active on average, asked for")              \
    ONE(burst_length, GREATEST, "instructions", "of a burst, of the carrier auto; 0: another one")

struct profile_shadows {
    uint32_t fork_errno; /* of DECLINE_FORK; not in files */
    SHADOW_SETTINGS(FIGURE_FIELD)
#define TICKS(field, how, unit, what) uint64_t field##_ns;
    SHADOW_FIGURES(FIGURE_FIELD, TICKS, FIGURE_FIELDS)
#undef TICKS
};

/* Of a profile's shadows, in files. */
extern const struct figure_family shadow_figures;

/* Adds up; both are of one load, or what is merged has none. */
void profile_shadows_add(struct profile_shadows *into, const struct profile_shadows *from);

/* Barriers were tried: --threads all. */
bool profile_shadows_stopped(const struct profile_shadows *s);

/* The pause that half of the forks stayed below. */
uint64_t profile_shadows_pause_ns(const struct profile_shadows *s);

/* The share of the program's instructions that was observed, and its bounds.
 *
 * The program's instructions are not counted, but its CPU time is, and the shadows' instructions
 * are. How many the program executes in a nanosecond is known where shadows have passed code over:
 * so many, times what the engine without a tool costs, SHADOW_PASSED_USUAL tenths, hardly ever more
 * than SHADOW_PASSED_MOST. Else it is guessed: some four, hardly ever more than SHADOW_FASTEST
 * tenths or less than SHADOW_SLOWEST tenths of one. And under the engine an instruction takes at
 * least as long as natively, so that more than the shadows' time by the program's was not
 * observed. */
enum { SHADOW_USUAL = 40, SHADOW_FASTEST = 120, SHADOW_SLOWEST = 3,
       SHADOW_PASSED_USUAL = 23, SHADOW_PASSED_MOST = 50, SHADOW_RATE_LEAST = 20000000 };
struct shadow_coverage {
    double estimate, low, high;
    bool measured; /* the program's rate */
};
struct shadow_coverage profile_shadows_coverage(const struct profile_shadows *s, uint64_t cpu_ns);

/* Names by enumerator; "?" out of range. Of system calls by number: NULL if it has none. */
const char *profile_end_name(unsigned end);
const char *profile_end_sentence(unsigned end);
const char *profile_decline_name(unsigned decline);
const char *profile_decline_sentence(unsigned decline);
const char *profile_place_name(unsigned place);
const char *profile_place_sentence(unsigned place);
const char *profile_barrier_name(unsigned reason);
const char *profile_barrier_sentence(unsigned reason);
const char *profile_group_name(unsigned group);
const char *profile_call_name(unsigned number);
enum call_group profile_call_group(unsigned number);
const char *profile_call_reason(unsigned number);

#endif

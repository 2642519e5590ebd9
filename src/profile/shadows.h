/* What became of the shadows of a recording (docs/shadow.md): sums over all processes.
 *
 * Context: ordinary code.
 * Ownership: a struct profile owns its shadows. */
#ifndef PENUMBRA_PROFILE_SHADOWS_H
#define PENUMBRA_PROFILE_SHADOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "sigsafe/reasons.h"
#include "sigsafe/spool_shadow.h"

/* The groups of system calls, as in "Shadow Profiling", section 3.2. */
enum call_group { CALL_BENIGN, CALL_OUTPUT, CALL_INPUT, CALL_MISC, CALL_UNSAFE, CALL_GROUPS };

struct profile_shadows {
    uint64_t load_milli;     /* asked for */
    uint64_t started;
    uint64_t ended[END_COUNT];
    uint64_t declined[DECLINE_COUNT];
    uint32_t fork_errno;     /* of DECLINE_FORK; not in files */
    uint64_t instructions;   /* observed in shadows */
    uint64_t passed, passed_ns; /* executed there without being observed, and the CPU time for that */
    uint64_t skipped_writes; /* to shared memory */
    uint64_t cpu_ns, run_ns; /* of shadows; of these: observing the program's code */
    uint64_t faults;         /* page faults in shadows */
    uint64_t pause_ns;       /* of the program, in forks */
    uint64_t pauses[SHADOW_PAUSES];
    uint64_t copies;         /* page faults of the program that forks have caused */
    uint64_t huge_pages, huge_ns; /* put together again after forks had split them; the program's CPU time for that */
    uint64_t cost_ns;        /* of all shadows, to the program: triggers, pauses, copies of pages, huge pages */
    uint64_t worst_ns;       /* of one process: the most in PLACE_WINDOW_S seconds of its CPU time */
    /* --threads all; as in spool_shadow.h */
    uint64_t barriers, gave_up[BARRIER_COUNT], barrier_ns;
    uint64_t rebuilt, asleep, scheduled, switches;
    uint64_t fell_asleep, asleep_in[SHADOW_CALLS];
    uint64_t calls[SHADOW_CALLS], calls_ended[SHADOW_CALLS];
    /* Of the carrier `auto`: a burst's instructions (0: another carrier), and how often it was decided where a
     * process is observed. */
    uint64_t burst_length;
    uint64_t placed[PLACE_COUNT];
    /* Of --log-input: calls answered with what the program had read, and shadows that the log was too small for. */
    uint64_t replayed, input_lost;
};

/* Adds up; both are of one load, or what is merged has none. */
void profile_shadows_add(struct profile_shadows *into, const struct profile_shadows *from);

/* Barriers were tried: --threads all. */
bool profile_shadows_stopped(const struct profile_shadows *s);

/* The pause that half of the forks stayed below. */
uint64_t profile_shadows_pause_ns(const struct profile_shadows *s);

/* The share of the program's instructions that was observed, and its bounds.
 *
 * The program's instructions are not counted, but its CPU time is, and the shadows' instructions are. How many the program
 * executes in a nanosecond is known where shadows have passed code over: so many, times what the engine without a tool
 * costs, SHADOW_PASSED_USUAL tenths, hardly ever more than SHADOW_PASSED_MOST. Else it is guessed: some four, hardly
 * ever more than SHADOW_FASTEST tenths or less than SHADOW_SLOWEST tenths of one. And under the engine an instruction takes
 * at least as long as natively, so that more than the shadows' time by the program's was not observed. */
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

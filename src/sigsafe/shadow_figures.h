/* What is counted of shadows, declared once: the spool, the profile, its file, merging and
 * `penumbra report --dump` take it from here.
 *
 * Context: constants only. */
#ifndef PENUMBRA_SIGSAFE_SHADOW_FIGURES_H
#define PENUMBRA_SIGSAFE_SHADOW_FIGURES_H

/* ONE(field, how it is merged, unit, what it is): a number.
 * TICKS(field, how, unit, what): the same, counted in ticks as FIELD_ticks, and kept as FIELD_ns.
 * MANY(field, count, names, unit, what): numbers by enumerator, whose names `names` gives; NULL: by
 * index. */
#define SHADOW_FIGURES(ONE, TICKS, MANY)                                                           \
    ONE(started, SUM, "shadows", "shadows")                                                        \
    MANY(ended, END_COUNT, profile_end_name, "shadows", "ended, by reason")                        \
    MANY(declined, DECLINE_COUNT, profile_decline_name, "triggers", "that made none, by reason")   \
    MANY(placed, PLACE_COUNT, profile_place_name, "decisions", "where a process is observed")      \
    ONE(instructions, SUM, "instructions", "observed in shadows")                                  \
    ONE(passed, SUM, "instructions", "executed there without being observed")                      \
    ONE(passed_ns, SUM, "ns", "CPU time of shadows for these")                                     \
    ONE(skipped_writes, SUM, "instructions", "that would have written to shared memory")           \
    ONE(cpu_ns, SUM, "ns", "CPU time of shadows")                                                  \
    ONE(run_ns, SUM, "ns", "of this: observing the program's code")                                \
    ONE(faults, SUM, "faults", "page faults in shadows")                                           \
    TICKS(pause, SUM, "ns", "of the program, in forks")                                            \
    MANY(pauses, SHADOW_PAUSES, NULL, "forks", "by how long they took (sigsafe/latency.h)")        \
    ONE(copies, SUM, "faults", "page faults of the program that forks have caused")                \
    ONE(huge_pages, SUM, "pages", "put together again after forks had split them")                 \
    ONE(huge_ns, SUM, "ns", "CPU time of the program for that")                                    \
    ONE(cost_ns, SUM, "ns", "of the program: triggers, pauses, copies of pages, huge pages")       \
    ONE(signals_ns, SUM, "ns", "of that: triggers' signals, which are in the account of samples")  \
    ONE(worst_ns, GREATEST, "ns", "of one process: the most in PLACE_WINDOW_S of its CPU time")    \
    ONE(barriers, SUM, "barriers", "at which all threads of the program stood still")              \
    MANY(gave_up, BARRIER_COUNT, profile_barrier_name, "barriers", "given up, by reason")          \
    TICKS(barrier, SUM, "ns", "of both, from closing to opening")                                  \
    ONE(rebuilt, SUM, "threads", "that shadows had and could run")                                 \
    ONE(asleep, SUM, "threads", "that shadows had and that slept in a call")                       \
    ONE(scheduled, SUM, "threads", "of those rebuilt: that ran in their shadow")                   \
    ONE(switches, SUM, "switches", "from one thread to another, in shadows")                       \
    ONE(fell_asleep, SUM, "threads", "that waited for input in shadows, while others ran on")      \
    MANY(asleep_in, SHADOW_CALLS, NULL, "threads", "of those asleep, by system call")              \
    ONE(replayed, SUM, "calls", "answered from the log of input")                                  \
    ONE(input_lost, SUM, "shadows", "that ended because the log no longer had what they needed")   \
    MANY(calls, SHADOW_CALLS, NULL, "calls", "system calls met, by number")                        \
    MANY(calls_ended, SHADOW_CALLS, NULL, "calls", "of these: that ended a shadow")

#define FIGURE_FIELD(field, how, unit, what) uint64_t field;
#define FIGURE_FIELDS(field, count, names, unit, what) uint64_t field[count];

#endif

/* A recording of the whole machine, from outside: nothing enters any process.
 *
 *     perf events ──> rings ──> queue ──> processes, maps, threads
 *     a CPU           reader    walker ──> samples: stacks ──> trees in the spool
 *
 * docs/whole-machine.md has the picture. What is counted is in the spool, as all recordings' is: so
 * the collector can be killed.
 *
 * Context: the main thread opens, begins and ends; two threads do the rest.
 * Ownership: the spool and the files must outlive it. */
#ifndef PENUMBRA_COLLECTOR_MACHINE_H
#define PENUMBRA_COLLECTOR_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "collector/record_files.h"
#include "collector/record_spool.h"
#include "profile/profile.h"

/* What the options say. */
struct machine_options {
    bool all;           /* -a */
    bool external;      /* --external: of -p PID, or of the program */
    const char *cgroup; /* NULL: not given */
    const char *user;   /* NULL: not given */
    bool values;        /* a module sees what the interpreter makes of moments (machine_values.h) */
    /* for as long as the machine runs: little memory, and a process has its service
     * (machine_service.h) instead of its arguments */
    bool lasting;
    bool waits; /* -e wall: elapsed time of threads, and not CPU time alone */
};

struct machine;

/* Whether it is one. */
static inline bool machine_is_asked_for(const struct machine_options *o)
{
    return o->all || o->external || o->cgroup || o->user;
}

/* Opens the events, and finds out about user and control group. */
bool machine_open(struct machine **m, const struct machine_options *o, uint64_t period_ns,
                  struct err *e);
/* The events count from now on; what runs is found out. What events tell waits for machine_run.
 * pid: this process and its descendants alone; 0: all. */
bool machine_begin(struct machine *m, const struct record_spool *spool, struct record_files *files,
                   int32_t pid, struct err *e);
/* program: as `pid`, of a process that has begun since then; 0: none has. */
bool machine_run(struct machine *m, int32_t program, struct err *e);
/* Ends. What is to be known is added to the notes. The moment at which sampling ended, of
 * CLOCK_MONOTONIC; 0: nothing was sampled, as where m is NULL. */
uint64_t machine_stop(struct machine *m, struct buf *notes);
void machine_free(struct machine *m);

/* machine_lasting.c, for a lasting one. What comes from now on is counted in `spool`, a new one
 * with the same settings; nothing is written to the one before any more. */
bool machine_swap(struct machine *m, const struct record_spool *spool, struct err *e);
/* A sample a CPU in so many nanoseconds of its time from now on. */
void machine_pace(struct machine *m, uint64_t period_ns);
/* What has been lost so far: samples. */
uint64_t machine_lost(struct machine *m);
/* The service of a process, by what its command says in the profile; "": it has none. */
const char *machine_service(struct machine *m, const char *command);

#endif

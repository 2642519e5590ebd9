/* The processes of a recording, and their threads, as they are looked at from outside.
 *
 * Context: the thread of src/collector/outside/outside.c.
 * Ownership: a process owns its threads and its index; records in the spool stay. */
#ifndef PENUMBRA_COLLECTOR_OUTSIDE_PROCESS_H
#define PENUMBRA_COLLECTOR_OUTSIDE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/outside/outside_memory.h"
#include "sigsafe/spool.h"
#include "sigsafe/timeline.h"
#include "unwind/unwind.h"

/* Whole periods that could not be charged to a stack, and looks that failed. */
struct outside_unseen {
    uint64_t ready;      /* periods: ready, and waiting for a processor */
    uint64_t elsewhere;  /* periods: waited, but never found waiting */
    uint64_t moved;      /* looks: it went on meanwhile */
    uint64_t refused;    /* looks: it may not be looked at */
    int error;           /* errno of the last of those */
    uint64_t watched;    /* threads that have left their waits to us */
};

/* What all looks share. */
struct outside_tools {
    const struct spool *spool;
    const char *spool_name;      /* the file's, without its folder */
    struct outside_memory memory;
    struct unwind_thread unwind;
    struct unwind_frame *frames;
    uint32_t frames_max;
    uint64_t period;
    bool watches;                /* only threads that have left their waits to us */
    uint32_t generation;         /* of the last index made */
    struct outside_unseen unseen;
};

struct outside_phase {
    uint32_t phase;
    struct spool_thread *record;
};

struct outside_thread {
    pid_t tid;
    bool here;              /* found by the current round */
    int schedstat;          /* descriptor, or -1 */
    uint64_t seen_ns;       /* of the process's clock, at the last look */
    uint64_t ran_ns, ready_ns, turns; /* then */
    /* Not charged yet. The scheduler tells late how long a thread that is ready has been so: until
     * it is told that it has waited less, it seems to have waited. */
    int64_t waited;
    uint64_t stood;
    /* The node in whose stack it waited at the last look, with so many turns; 0: it did not, or
     * that could not be seen. */
    spool_ref node;
    uint32_t node_phase;
    enum truncation truncation;
    bool guessed;
    struct outside_phase *phases; /* records, one for each phase that it was seen in */
    unsigned phase_count;
    uint8_t *block, *block_end;   /* cct_grow.h */
    struct timeline timeline;
};

struct outside_process {
    struct outside_process *next;
    struct spool_process *record;
    pid_t pid;
    int tasks;              /* /proc/PID/task */
    uint64_t round_ns;      /* of the process's clock, at the last round; 0: there was none */
    spool_ref maps;         /* that the index was made of */
    uint32_t epoch;
    struct unwind_index *index;
    struct outside_thread **threads; /* by tid */
    unsigned thread_count, thread_capacity;
    uint32_t watched;       /* of record->watched, that are among the threads, or were */
};

/* NULL: it cannot be looked at. */
struct outside_process *outside_process_open(struct outside_tools *tools,
                                             struct spool_process *record);
/* Looks at all its threads. False: it is over. */
bool outside_process_round(struct outside_tools *tools, struct outside_process *p);
void outside_process_close(struct outside_tools *tools, struct outside_process *p);

/* outside_watch.c. Whether a runtime asks if the process may be looked at; the answer: p is what
 * was opened, or NULL. */
bool outside_is_asked(const struct spool_process *record);
void outside_answer(struct spool_process *record, const struct outside_process *p);
/* Adds the threads that have left their waits to us since the last round. */
void outside_watched_add(struct outside_tools *tools, struct outside_process *p);

/* outside_index.c: brings p->index up to date. False: its images are not ready to be unwound
 * yet. */
bool outside_index_update(struct outside_tools *tools, struct outside_process *p);

/* outside_look.c. A new thread, of which the time counts from `began` on, in ns of the process's
 * clock. ran_ns: what it had run by then; OUTSIDE_RAN_AS_NOW: as much as now. */
#define OUTSIDE_RAN_AS_NOW UINT64_MAX
struct outside_thread *outside_thread_open(const struct outside_process *p, pid_t tid,
                                           uint64_t began, uint64_t ran_ns);
/* False: it has ended. */
bool outside_thread_look(struct outside_tools *tools, const struct outside_process *p,
                         struct outside_thread *t, uint64_t now);
/* Puts it among the process's. False: without memory, or it is there. */
bool outside_thread_add(struct outside_process *p, struct outside_thread *t);
/* It has ended. */
void outside_thread_close(struct outside_tools *tools, const struct outside_process *p,
                          struct outside_thread *t);

/* outside_tree.c. The phase that the process is in; the record of a thread in it, NULL without
 * storage. */
uint32_t outside_phase_now(const struct spool *s, const struct spool_process *p);
struct spool_thread *outside_record(struct outside_tools *tools, const struct outside_process *p,
                                    struct outside_thread *t, uint32_t phase);
/* The node of a path; 0 without storage. */
spool_ref outside_path_add(struct outside_tools *tools, struct outside_thread *t,
                           struct spool_thread *record, const struct unwind_result *walk);
/* To t's node. */
void outside_charge(struct outside_tools *tools, struct outside_thread *t,
                    struct spool_thread *record, uint64_t periods);
void outside_charge_unattributed(struct outside_tools *tools, struct outside_thread *t,
                                 struct spool_thread *record, uint64_t periods);

#endif

/* The profile database: what a daemon has sampled, by host, day, service and hour, in one SQLite
 * file (docs/daemon.md).
 *
 *      part      a day of a host: a dictionary (dictionary.h) in segments, and its services
 *      slot      an interval of time, later an hour; when, and what was lost in it
 *      samples   of a service in a slot: a blob (counts.h) that refers to the part's dictionary
 *      total     of a service in all slots, once its day is over
 *      run       of the daemon: when it began, was last heard of, and whether it ended in order
 *
 * What goes in is the profile of an interval, what comes out one of a range of time: an ordinary
 * profile, whose processes are programs of services. An interval is written in one transaction.
 *
 * Context: ordinary code, one thread a store. Other processes may read, and collect garbage, while
 * one writes.
 * Ownership: store_close releases a store, also one that could not be opened. */
#ifndef PENUMBRA_DATABASE_STORE_H
#define PENUMBRA_DATABASE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "profile/profile.h"

struct store;

enum store_mode {
    STORE_READ,
    STORE_CHANGE, /* a database that is there */
    STORE_MAKE,   /* it is made if it is missing: mode 0600, in a folder that is there */
};

bool store_open(struct store **s, const char *path, enum store_mode mode, struct err *e);
void store_close(struct store *s);

/* ---- writing (write.c) ---- */

/* A range of time, and what is known of it as a whole. Times are CLOCK_REALTIME. */
struct store_slot {
    int64_t begin_ns, end_ns;
    uint64_t period_ns; /* of a CPU's time, that a sample stands for */
    uint32_t cpus;
    uint64_t lost;      /* samples that were not taken */
    uint64_t missed_ns; /* time before it that nothing is known of, as it could not be written */
    uint64_t cost_ns;   /* CPU time of the daemon */
};

/* Makes this process the one that writes, until store_close. False: ERR_OUTPUT, another one does,
 * or the lock beside the database cannot be made. */
bool store_claim(struct store *s, struct err *e);
/* A run of the daemon begins. *unclean: whether the one before ended without notice. */
bool store_run_begin(struct store *s, const char *host, int64_t now_ns, bool *unclean,
                     struct err *e);
bool store_run_end(struct store *s, int64_t now_ns, struct err *e);

/* The images and places (in one thread) of `p` whose names are not known at `when_ns`; the names
 * that they get are p's to have. NULL: nothing is missing, or *e. */
struct profile *store_nameless(struct store *s, const struct profile *p, int64_t when_ns,
                               struct err *e);
/* Adds an interval. Processes have their service as command, and their program as name. After a
 * failure nothing of it is in the database, and it can be tried again. */
bool store_put(struct store *s, const struct profile *p, const struct store_slot *slot,
               struct err *e);

/* Names of all addresses of `p`, which was put last, by its images. The caller's; NULL without
 * memory. */
struct profile_names *store_names(struct store *s, const struct profile *p, struct err *e);

/* ---- keeping (keep.c) ---- */

struct store_bounds {
    uint64_t keep_ns;   /* 0: for ever */
    uint64_t most_bytes; /* 0: as large as it gets */
};

struct store_kept {
    uint64_t parts, slots; /* that were taken out */
    uint64_t merged;       /* slots that became one of an hour */
    int64_t bytes;         /* of the database then */
};

/* between: called by store_keep after each of its transactions, of which there is one a day and
 * hour that is over; NULL: nothing is. */
void store_between(struct store *s, void (*between)(void *context), void *context);
/* Makes hours of intervals that are older than two, then takes out what is too old or too much. */
bool store_keep(struct store *s, const struct store_bounds *b, int64_t now_ns,
                struct store_kept *done, struct err *e);

/* Reads everything. Problems are told, a line each. False: *e, of what could not be done at all. */
bool store_check(struct store *s, void (*tell)(void *context, const char *problem), void *context,
                 struct err *e);

/* ---- reading (query.c) ---- */

struct store_query {
    int64_t from_ns, to_ns; /* slots whose middle is in [from, to) */
    const char *host, *service, *program; /* NULL: all */
    const char *binary;   /* NULL, or a file's name, its path, or a build-id: innermost frames */
    const char *function; /* NULL, or what the name of a function on the stack holds */
    bool fold;            /* addresses of one function are one: smaller, and as good for reports */
};

/* What the range has. */
struct store_range {
    int64_t begin_ns, end_ns; /* of the first and the last slot; 0: none */
    uint64_t slots, covered_ns, missed_ns, lost, cost_ns;
    uint64_t unclean;         /* runs that ended there without notice */
};

/* Of the query's host and time alone. */
bool store_range(struct store *s, const struct store_query *q, struct store_range *range,
                 struct err *e);

/* A profile, and what it is of. NULL: *e; ERR_NOT_FOUND: nothing was sampled there. */
struct profile *store_get(struct store *s, const struct store_query *q, struct store_range *range,
                          struct err *e);

/* The greatest common divisor: what periods are multiples of. Of 0 and another number that one. */
uint64_t store_common(uint64_t a, uint64_t b);

struct store_service {
    const char *host, *service, *program;
    uint64_t samples, weight_ns;
};
/* Tells each program of each service in the range, of the query's host. */
bool store_services(struct store *s, const struct store_query *q,
                    void (*tell)(void *context, const struct store_service *service),
                    void *context, struct store_range *range, struct err *e);

/* ---- when (load.c) ---- */

/* A range of time, cut into steps. */
struct store_load {
    int64_t begin_ns, step_ns;
    uint32_t count;
    double *weight_ns, *covered_ns; /* by step: CPU time, and time in which it was looked at */
};

/* CPU time of the query's host, service and program in each of at most `most` steps, which are
 * minutes, hours or days, the shortest that suffice. A slot is spread evenly over the steps that it
 * touches. from_ns and to_ns are finite. *load is to be freed whatever comes of it. */
bool store_load(struct store *s, const struct store_query *q, uint32_t most,
                struct store_load *load, struct err *e);
void store_load_fini(struct store_load *load);
/* The same by hand: steps without anything, and a slot that is spread over them. */
bool store_load_begin(struct store_load *load, const struct store_query *q, uint32_t most,
                      struct err *e);
void store_load_add(struct store_load *load, int64_t begin, int64_t end, double covered,
                    double weight);

#endif

/* The collector's side of the spool (sigsafe/spool.h): making it, keeping storage ahead of the
 * runtimes' allocations, taking it away.
 *
 *        0 ............ next ........ limit ................................ size
 *        | records, tables,  | zeroes,     | address space without storage      |
 *        | tree nodes        | ready       |                                    |
 *                            |<- reserve ->|  grown by fallocate, doubled when it is used up fast
 *
 * The collector holds a lock (flock) on the file for as long as it lives: that, and not a process
 * number, tells others whether a recording is still going on.
 *
 * Context: any thread of the collector; record_spool_reserve is locked.
 * Ownership: record_spool_remove releases everything. */
#ifndef PENUMBRA_COLLECTOR_RECORD_SPOOL_H
#define PENUMBRA_COLLECTOR_RECORD_SPOOL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "sigsafe/spool.h"

struct record_spool {
    struct spool spool;
    int fd;
    char path[SPOOL_PATH_MAX];
    spool_ref settings;   /* spool_header.settings; whoever writes the settings notes it here */
    bool named;           /* the file is there under `path` */
    pthread_mutex_t lock; /* of what is below */
    uint64_t reserve;     /* bytes kept ready ahead of next */
    uint64_t last_next;
    int full;             /* errno of the last attempt to get more storage; 0: it worked */
    uint64_t full_ns;     /* when that was (CLOCK_MONOTONIC) */
};

/* What is ready at first: storage takes time to make and to free, even if nothing is ever put
 * there. The latter where nothing is counted. */
#define RECORD_RESERVE (UINT64_C(4) << 20)
#define RECORD_RESERVE_LITTLE (UINT64_C(1) << 20)

/* directory: NULL to choose: /dev/shm where it is a tmpfs with room, else that of `output`. */
bool record_spool_create(struct record_spool *s, const char *directory, const char *output,
                         uint64_t reserve, struct err *e);
/* Gives it its name, so that others can open it. */
bool record_spool_name(struct record_spool *s, struct err *e);

/* Makes at least `more` bytes beyond what is kept ready anyway. Where storage has run out the limit
 * stays, and the runtimes count their samples as dropped. */
void record_spool_extend(struct record_spool *s, uint64_t more);

/* Puts back what readers ask for first, which the program can have overwritten. True if it had. */
bool record_spool_restore(const struct record_spool *s);

/* Unmaps and closes; unlinks too if `remove`. */
void record_spool_release(struct record_spool *s, bool remove);

/* For recovery and snapshots. *alive: its collector still runs. Refuses what is not a spool, or is
 * not the user's own. */
bool record_spool_open(struct record_spool *s, const char *path, bool *alive, struct err *e);

#endif

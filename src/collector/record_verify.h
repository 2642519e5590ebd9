/* --verify-cost: what a recording costs, measured beside what its account says.
 *
 * Two copies of the program run unrecorded beside the recorded one. Each has the same arguments and
 * environment, a regular file as its standard input if the program has one, and no output. What
 * they take is the native time; how far they are apart is the error of the measurement.
 *
 * Context: the main thread.
 * Ownership: record_verify_end and record_verify_kill end the copies. */
#ifndef PENUMBRA_COLLECTOR_RECORD_VERIFY_H
#define PENUMBRA_COLLECTOR_RECORD_VERIFY_H

#include "base/buf.h"
#include "collector/record_launch.h"

enum { VERIFY_COPIES = 2 };

struct record_verify {
    struct verify_copy {
        pid_t pid; /* 0: none, or waited for */
        int status;
        uint64_t cpu_ns;
    } copies[VERIFY_COPIES];
};

/* Starts the copies. False: none runs. */
bool record_verify_start(struct record_verify *v, const struct record_program *program, char **argv,
                         const struct recording_callbacks *callbacks, struct err *e);
void record_verify_kill(struct record_verify *v);
/* Waits for the copies, for some times as long as the program took, and appends a line to `notes`:
 * the cost, and the account's, `stated` in percent of the native time; or why it is not known. */
void record_verify_end(struct record_verify *v, const struct record_child *program,
                       uint64_t took_ns, double stated, struct buf *notes);

#endif

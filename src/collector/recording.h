/* A recording: a program is started, or a process attached to; its runtimes are served; at the end
 * the profile is written.
 *
 *     recording_new
 *       └─> recording_start          false: nothing runs, recording_free
 *             └─> recording_wait     the program has ended, the time is up, or recording_stop
 *                   └─> recording_finish            the profile is in its file
 *                         └─> recording_program_wait     the program's status
 *                               └─> recording_free
 *
 * Nothing is printed and nothing exits: failures are in a struct err, all else is told by callbacks
 * (callbacks.h). The caller has the process's signals: by recording_stop, recording_hurry and
 * recording_send it says which of them end the recording, or are handed on to the program. On
 * SIGCHLD it should call recording_wake; otherwise the program's end is seen up to a tenth of a
 * second later. Only while recording_start measures what a sample costs, some milliseconds long,
 * the signal of samples (SIGTRAP, or 41 where there are no perf events) has a handler of the
 * recording's and is not blocked in this thread; both are put back.
 *
 * Context: one thread calls all functions but those marked: these may be called on any thread, and
 * in signal handlers. A process has one recording at a time, as ptrace and attached events have one
 * owner.
 * Ownership: options and callbacks are copied; the strings of the options are the caller's. */
#ifndef PENUMBRA_COLLECTOR_RECORDING_H
#define PENUMBRA_COLLECTOR_RECORDING_H

#include <stdbool.h>

#include "base/err.h"
#include "collector/callbacks.h"
#include "collector/recording_options.h"

struct recording;

/* Checks the options. NULL: *e says what is wrong with them, or that there is another recording. */
struct recording *recording_new(const struct recording_options *options,
                                const struct recording_callbacks *callbacks, struct err *e);
/* Checks the program, the output and the machine, and starts the program or attaches. False:
 * nothing runs and no file is left behind; only recording_free may follow. */
bool recording_start(struct recording *r, struct err *e);
/* Serves the runtimes until the recording is over. */
void recording_wait(struct recording *r);
/* Writes the profile. False: *e says why not, and recording_kept whether it can be recovered. */
bool recording_finish(struct recording *r, struct err *e);
/* Waits until the program itself has ended, which may be long after the recording. Its status, as
 * waitpid gives it; 0 of an attached process, which is not waited for. */
int recording_program_wait(struct recording *r);
void recording_free(struct recording *r);

/* Where the counters are if recording_finish has failed; NULL: they are not kept, as nothing would
 * find them. */
const char *recording_kept(const struct recording *r);
/* The profile's file as the user may call it; "": not known yet. */
const char *recording_shown(const struct recording *r);

/* Async-signal-safe, and for any thread: */

/* recording_wait is to return. */
void recording_stop(struct recording *r);
/* Somebody does not want to wait any more: recording_finish leaves out the names of code that it
 * has not read by then. One call counts for the reading that goes on, or none. */
void recording_hurry(struct recording *r);
/* Hands a signal on to the program: at once, or where recording_stop was called before, once
 * nothing is recorded any more. An attached process gets none. number: 1 to 63. */
void recording_send(struct recording *r, int number);
/* Makes recording_wait look at once. */
void recording_wake(struct recording *r);

#endif

/* Signals of the collector. Those that come from the terminal reach the program by themselves,
 * because it is in the same process group, so the collector lets them pass; those that somebody
 * sends to the collector alone are handed on to the program.
 *
 *   SIGINT, SIGQUIT from the terminal     ignored here (the program decides)
 *   SIGINT, SIGQUIT sent by kill, SIGTERM,
 *   SIGHUP                                sampling stops; handed on
 *   SIGUSR1, SIGUSR2                      handed on
 *   SIGPIPE, SIGXFSZ                      ignored: they are errors of writing, handled as such
 *
 * What was ignored when penumbra was started (nohup, `&`) stays ignored.
 *
 * With -p (`alone`) there is no program to leave the terminal's signals to: they end the recording.
 *
 * Context: record_signals_child runs in the forked child before exec; all else the main thread.
 * Ownership: process-wide state. */
#ifndef PENUMBRA_CLI_RECORD_SIGNALS_H
#define PENUMBRA_CLI_RECORD_SIGNALS_H

#include <stdbool.h>

#include "collector/recording.h"

/* Whom signals are told to, from then on; NULL: nobody. */
void record_signals_for(struct recording *r, bool alone);
/* Installs handlers. */
void record_signals_install(void);
/* Gives all dispositions back as they were. */
void record_signals_child(void);
/* SIGCONT has come since the last call. */
bool record_signals_continued(void);
/* Ends this process by the signal that ended the program, without a second core dump. */
_Noreturn void record_signals_die(int number);

#endif

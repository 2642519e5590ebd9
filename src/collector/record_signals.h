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
#ifndef PENUMBRA_COLLECTOR_RECORD_SIGNALS_H
#define PENUMBRA_COLLECTOR_RECORD_SIGNALS_H

#include <stdbool.h>
#include <stdint.h>

/* Installs handlers. Each signal adds 1 to the bell (if there is one), so that a futex wait that is
 * about to begin returns at once; the bell is set later, and taken away with NULL. */
void record_signals_install(bool alone);
void record_signals_set_bell(uint32_t *to);
/* Gives all dispositions back as they were. */
void record_signals_child(void);
/* The next signal to hand on to the program; 0 if none waits. */
int record_signals_take(void);
/* A signal that ends the recording has come. */
bool record_signals_stop(void);
/* SIGCONT has come since the last call. */
/* How many signals have come that ask for an end, of the program or the recording. */
unsigned record_signals_asked(void);
bool record_signals_continued(void);
/* Ends this process by the signal that ended the program, without a second core dump. */
_Noreturn void record_signals_die(int number);

#endif

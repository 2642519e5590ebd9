/* Signals of the program's with our number that have come while it had blocked them. The kernel
 * cannot keep them, for to it the number is never blocked: samples go on. So they are kept here,
 * one of each thread and one of the process, as the kernel keeps signals of the first 32 numbers,
 * until the program unblocks the signal, waits for it, or executes another program.
 *
 * Context: _as functions: signal handlers too. The rest: ordinary code.
 * Ownership: none. A thread that ends takes its own with it. */
#ifndef PENUMBRA_RUNTIME_INTERPOSE_SIGNALS_HELD_H
#define PENUMBRA_RUNTIME_INTERPOSE_SIGNALS_HELD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Keeps it for the calling thread or, if it was sent to the process, for all threads. One more of a
 * kind that is there already is dropped, as by the kernel. False: there is no room. */
bool held_keep_as(const siginfo_t *info);
/* Whether it was sent to the process, as far as siginfo says. */
bool held_is_shared_as(const siginfo_t *info);
/* Whether there is one for the calling thread. */
bool held_here_as(void);
/* Takes one for the calling thread, its own first. False: there is none. */
bool held_take_as(siginfo_t *info);
/* Gives what is kept for the calling thread to the kernel, for this thread. Of both kinds, if the
 * signal is not blocked. */
void held_release_as(int signal);
/* A sample of ours that is pending is dropped; a signal of the program's is kept. */
void held_drop_sample_as(int signal);
/* Of what is pending: a sample of ours is dropped, whose period is the next one's; a signal of the
 * program's stays. True if there is one. In a handler that blocks the signal. */
bool held_programs_pending_as(int signal);
/* A thread begins, whose number another one had that ended. */
void held_forget_thread_as(void);
/* The program ignores the signal, or this is a fork child. */
void held_forget_all_as(void);

#endif

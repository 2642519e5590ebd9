/* Signals that the processor's faults raise: SIGSEGV, SIGBUS, SIGFPE, SIGILL. While bursts are
 * taken, their handler is ours in the kernel's eyes: with the program's own flags and mask, so that
 * the frames are what its handler expects, which ours calls with the same arguments.
 *
 * Context: _as functions: signal handlers. The rest: ordinary code.
 * Ownership: none. */
#ifndef PENUMBRA_RUNTIME_INTERPOSE_FAULTS_H
#define PENUMBRA_RUNTIME_INTERPOSE_FAULTS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Puts our handler in front of what is set now; gives all back. */
void faults_install(void);
void faults_uninstall(void);

/* True if the signal is one of these, and ours at present. */
bool faults_ours(int signal);
/* Bit s - 1 for each such signal s. */
uint64_t faults_set(void);

/* sigaction() for one of them: what is to be set for the kernel instead of `wanted`. */
struct sigaction faults_installed(int signal, const struct sigaction *wanted);
/* The program has set it. */
void faults_note(int signal, const struct sigaction *wanted);
/* What the kernel answered becomes the answer for the program: `before` is what it had set. */
void faults_answer(struct sigaction *answer, const struct sigaction *before);
struct sigaction faults_program(int signal);

/* False: the program has replaced our handler by a raw system call. Looks at one signal a call. */
bool faults_held_as(void);

/* The signal once more, as it was, for this thread. */
void faults_requeue_as(int signal, const siginfo_t *info);
/* The kernel's default action from now on. */
void faults_default_as(int signal);

/* The action's handler is ours for faults. */
bool faults_is_ours(const struct sigaction *action);

#endif

/* The program's view of our signal. It may block, ignore or handle it as it likes: it sees what it
 * expects, our handler stays, and what is not ours is passed on to it.
 *
 * Context: signals_chain_as, signals_unblocked_by_libc_as: our signal handler. The rest: ordinary
 * code.
 * Ownership: none. */
#ifndef PENUMBRA_RUNTIME_INTERPOSE_SIGNALS_H
#define PENUMBRA_RUNTIME_INTERPOSE_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* What is kept about a thread, for a child that is in its memory (vfork) or in a copy that nobody
 * was told of (a raw fork): which actions it has set itself, and which of these with our signal in
 * the mask. The kernel keeps both as the child says; of those that it has inherited the table of
 * its parent tells. */
struct rt_actions {
    int32_t pid; /* of the child; all is empty for another one */
    uint64_t set, masks;
};

/* libc itself has asked for another signal's action, and has set one without a mask: its answer, as
 * the program knows it. */
sighandler_t signals_set_by_libc(int number, bool set, sighandler_t was);
/* Installs our handler; what was there before becomes the program's. False: refused. */
bool signals_install(void);
/* Gives the signal back to the program (a fork child that is not followed). */
void signals_uninstall(void);
/* The same when the process runs already, and no mask of it is known. */
bool signals_join(void);
/* Gives the signal back, unless the program has taken it meanwhile. Not one of ours is pending. */
void signals_leave(void);
/* Two threads have the same alternate stack: from now on our handler runs on the stack that it
 * interrupts. */
void signals_leave_alternate_as(void);
/* All threads are about to enter a sandbox in which no handler can return: unless the program has a
 * handler for our signal, it is ignored from now on, or until the program sets one. False: not any
 * more. */
void signals_ignore(bool on);
/* Ignored by the program that is about to be executed: a sample could come in the very moment.
 * False: it cannot be. Undone by signals_return. */
bool signals_exec_ignore(void);
/* In a fork child of one that ignores it: it is the program's. */
void signals_fork_child(void);
/* In a process that nobody was told of, before it is ours: actions that it has set since are the
 * program's, behind ours. Afterwards: its handlers with signal stacks are wrapped. */
void signals_adopt(void);
void signals_adopt_stacks(void);
/* Lets the kernel do what a signal does by default. */
void signals_die_as(int signal);
/* A signal with our number that is not ours: does what would have happened without us. */
void signals_chain_as(int signal, siginfo_t *info, void *context);

/* Whether libc had blocked a signal of ours that interrupts the program at pc: it blocks all
 * signals for a moment where it makes and signals threads and processes, and sigsuspend and its
 * like have a mask of their own. */
bool signals_unblocked_by_libc_as(uint64_t pc);
/* Whether the program believes that our signal is blocked in the calling thread. */
bool signals_believed_blocked(void);
void signals_believe_blocked(bool blocked);
/* Whether the program's signal `number` is the one that we use. */
bool signals_ours(int number);

/* Around exec and spawn: the new image inherits the program's ignored and blocked signals, not
 * ours. */
struct signals_lent {
    bool ignored, blocked;
    bool given;        /* signals_ignore, undone */
    bool exec_ignores; /* signals_exec_ignore */
};
struct signals_lent signals_lend(bool is_exec);
void signals_return(struct signals_lent lent);

#endif

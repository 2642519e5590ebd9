/* Stopping one thread of another process, and letting it go on as if nothing had been.
 *
 * PTRACE_SEIZE and PTRACE_INTERRUPT, and no signal: the program's own signals are not held up or
 * changed. A system call that was waiting is interrupted and begins again; the few that answer an
 * interruption with EINTR even without a handler (epoll_wait, semop, recv with a timeout, ...) are
 * begun again by us.
 *
 * Context: the thread that has seized must make all calls about a thread.
 * Ownership: a stopped thread goes on by attach_thread_go, or when the collector ends. */
#ifndef PENUMBRA_COLLECTOR_ATTACH_THREAD_H
#define PENUMBRA_COLLECTOR_ATTACH_THREAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

enum attach_stop {
    ATTACH_STOPPED,
    ATTACH_GONE,    /* the thread has ended */
    ATTACH_STUCK,   /* it does not stop: waiting inside the kernel, uninterruptibly */
    ATTACH_REFUSED, /* errno says why */
};

/* The signal of the recording's samples (SIGTRAP, if this is never called). */
void attach_thread_samples_by(int number);
/* Stops the thread, within so many milliseconds. */
enum attach_stop attach_thread_stop(pid_t tid, unsigned most_ms);
/* From a stop at a system call to one like that of attach_thread_stop, without running any of the
 * program's code. */
enum attach_stop attach_thread_stop_again(pid_t tid, unsigned most_ms);
/* Changes whether a stopped thread blocks the signal of samples. */
void attach_thread_block_samples(pid_t tid, bool block);
/* Lets a stopped thread run, as often as it takes, until no signal of a sample waits for it and it
 * is not inside [lo, hi), the code that handles them; such signals are dropped, also where the
 * thread blocks them. Then it is stopped again. The events must be silent. */
enum attach_stop attach_thread_drain(pid_t pid, pid_t tid, uint64_t lo, uint64_t hi,
                                     unsigned most_ms);
/* Waits for the next stop after PTRACE_SYSCALL or PTRACE_CONT: *status as from waitpid. Signals to
 * the program are passed on; false if the thread ended or did not stop in time (most_ms 0: no
 * bound). */
bool attach_thread_wait(pid_t tid, int request, unsigned most_ms, int *status);
/* Changes registers as the kernel does where an interrupted system call begins again; those that it
 * would let fail because of a stop begin again too. Elsewhere nothing. */
void attach_thread_restart(struct user_regs_struct *regs);
/* Lets it run and forgets it. */
void attach_thread_go(pid_t pid, pid_t tid);

/* A hexadecimal field of /proc/PID/task/TID/status (a signal set), or a decimal one. */
bool attach_status(pid_t pid, pid_t tid, const char *field, int base, uint64_t *value);
/* By which thread's folder in /proc the memory and files of a process are seen: its first one's,
 * or, if that one has ended, another one's. 0: all have. */
pid_t attach_view(pid_t pid);
/* The threads of a process that have not ended: *count of them, to free(); NULL if it has ended. */
pid_t *attach_threads(pid_t pid, unsigned *count);
pid_t *attach_processes(unsigned *count);

#endif

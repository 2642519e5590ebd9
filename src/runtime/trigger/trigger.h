/* Triggers: what makes the kernel interrupt a thread, and how much one interruption stands for.
 *
 * MECHANISM_PERF: one perf event a thread with `sigtrap`. Its SIGTRAP is raised by task work on the
 * way back to user mode, never while a system call sleeps, so no system call is ever interrupted;
 * and siginfo carries our value, so the handler needs no thread-local storage.
 * MECHANISM_TIMER: where perf events are refused: a POSIX timer on the thread's CPU clock. It
 * expires at kernel ticks only (also in task work since Linux 5.11: no interrupted calls either).
 *
 * One more event, inherited by every thread however it is made, ticks every RT_DISCOVERY_NS of a
 * thread's CPU time, or, within a budget, more rarely, and finds threads that were not made by
 * pthread_create.
 *
 * Context: _as functions run anywhere, by the thread they are about.
 * Ownership: descriptors belong to the rt_thread; they lie above the program's own. */
#ifndef PENUMBRA_RUNTIME_TRIGGER_TRIGGER_H
#define PENUMBRA_RUNTIME_TRIGGER_TRIGGER_H

#include "runtime/runtime.h"

enum { RT_DISCOVERY_NS = 50000000 };

/* In a forked child: whose it is (ticks.c). */
void ticks_forked_as(struct spool_process *parent);
/* Before its first thread's trigger is set. True: that will be a timer, and the collector finds
 * threads. */
bool ticks_discover_as(const struct rt_thread *t);

/* The bit of a signal's slot number that says: no sample, the carrier stops the thread. */
#define STOP_SLOT UINT32_C(0x80000000)

/* Arms the trigger for the calling thread. On failure the reason is in process->arm_error. */
bool trigger_arm_as(struct rt_thread *t);
/* The trigger is set from outside, in a sandbox, with this multiple of the mean period: all of it
 * that needs no system call. */
void trigger_outside_as(struct rt_thread *t, uint64_t multiple);
/* False: it could not be set in a thread before, nor can it be in this one. */
bool trigger_allowed_as(void);
/* Stops it for good and gives its descriptors back. */
void trigger_disarm_as(struct rt_thread *t);
/* In a sandbox: no event of the calling thread (t, or NULL: it has none) or of the process's
 * discovery fires any more. Makes no system call but close, which hardly a sandbox forbids. */
void trigger_abandon_as(struct rt_thread *t);
/* Its descriptors and its timer are those of a process that is gone. */
void trigger_forget_as(struct rt_thread *t);
bool trigger_is_armed_as(const struct rt_thread *t);
/* The same of any of its triggers: of a thread that may be any, in a sample or not. */
bool trigger_any_armed_as(const struct rt_thread *t);
/* Stops them, and starts them again: around exec. Between, a sample that was on its way starts
 * none. */
void trigger_pause_as(struct rt_thread *t);
void trigger_resume_as(struct rt_thread *t);
void trigger_resume_events_as(struct rt_thread *t); /* not its timer */
/* On: the thread gets one signal with STOP_SLOT, as soon as it has run for 10 us or returns to user
 * mode then; never while it sleeps. Off: none any more, but one that is on its way. */
void trigger_stop_thread_as(const struct rt_thread *t, bool on);
/* Stops all that sends signals to the thread, which may be another one: events, and its timer. */
void trigger_silence_as(struct rt_thread *t);
void trigger_silence_events_as(struct rt_thread *t);
void trigger_stop_timer_as(const struct rt_thread *t);
/* Opens the process's discovery event; stops and restarts it around exec. */
void trigger_discover_as(void);
void trigger_pause_discovery_as(void);
void trigger_resume_discovery_as(void);
/* Attach: an event on a thread that exists, by which it arms itself (seek.c). trigger_seek opens it
 * (once a thread), trigger_seek_start enables all and returns how many there are. _tick: true at
 * the first tick in that thread. _stop: none fires any more. */
bool trigger_seek(int32_t tid);
uint32_t trigger_seek_start(void);
bool trigger_seek_tick_as(int32_t tid);
void trigger_seek_stop_as(void);
bool trigger_seek_owns_as(int fd);
void trigger_seek_close_as(void);
/* Stops the events of all threads; closes them, once no signal of theirs can be on its way. */
void trigger_stop_all_as(void);
void trigger_close_all_as(void);
/* Moves a descriptor out of the program's range. Negative errno on failure; then fd is closed. */
int trigger_raise_fd_as(int fd);
/* In a fork child in a sandbox: closes them as trigger_abandon_as does, or who closes them in the
 * parent would end nothing. */
void trigger_abandon_all_as(void);
/* In a fork child: closes the descriptors inherited from the parent's threads. */
void trigger_fork_child_as(void);
/* Ours, and so not the program's to close. */
bool trigger_owns_fd_as(int fd);
/* Closes fd, which is ours: its thread is not sampled any more. */
void trigger_yield_fd_as(int fd);
/* True if no descriptor above fd is ours. */
bool trigger_none_above_as(int fd);
/* Lowest descriptor we may own: everything below is the program's. */
int trigger_lowest_fd_as(void);

/* What one delivered signal stands for, in mean periods. */
struct trigger_charge {
    uint64_t weight;       /* samples for the interrupted context */
    uint64_t unattributed; /* periods that passed in contexts that could not be seen */
};
/* True if the thread can hardly have executed anything since the last sample was over. */
bool trigger_was_just_now_as(const struct rt_thread *t, uint64_t ticks);
/* True if less than half of a period of CPU time has passed since the last sample, at whose end the
 * one at hand was pending: most of its period had passed before. */
bool trigger_was_short_as(const struct rt_thread *t, uint64_t ticks);
/* For a signal that our own handler had blocked: true, and it is no sample, if the thread's first
 * period, which can be very short, expired again while its only sample was taken. */
bool trigger_is_again_as(struct rt_thread *t, uint64_t ticks);
/* overrun: expirations that the kernel merged into this signal (timers); ticks: the time stamp
 * counter at the handler's entry. */
struct trigger_charge trigger_charge_as(struct rt_thread *t, uint64_t ticks, uint64_t overrun);

/* The calling thread ends: how many periods have passed since its last sample, where those were
 * longer than asked for. The first period of a thread is short enough to make up for what the
 * last one loses on average; what a stretched one loses is more. */
uint64_t trigger_rest_as(struct rt_thread *t);
/* The same of another thread, which has used so much CPU time and takes no sample now: in the
 * kernel, if that is not seen. */
uint64_t trigger_rest_of_as(struct rt_thread *t, uint64_t cpu_ns);

/* The calling thread ends, or its process does: its last switches are accounted. */
void trigger_last_as(struct rt_thread *t);

/* At the end of a sample: accounts its cost, keeps to the budget, draws the next period. */
void trigger_finish_as(struct rt_thread *t, uint64_t ticks_at_entry);
/* At the end of a tick of discovery, which is no sample: accounts its cost. */
void trigger_ticked_as(struct rt_thread *t, uint64_t ticks_at_entry, uint64_t entry_cpu_ns);
/* A signal has come that was no sample. True: it is not lost, since the event had stopped with it,
 * and has begun again. */
bool trigger_again_as(struct rt_thread *t);
/* From now on all periods of the thread, which may be another one, are of the mean length: nobody
 * may set them any more. */
void trigger_fix_as(struct rt_thread *t);
/* From now on triggers of the calling thread are `times` as frequent, until the budget is looked at
 * again. */
void trigger_hurry_as(struct rt_thread *t, uint32_t times);
/* A burst that is all cost to the program, being so short, took so many ticks besides. In
 * nanoseconds, as far as that is credible. */
uint64_t trigger_burst_as(struct rt_thread *t, uint64_t ticks);
/* Nanoseconds that one delivery costs a thread of the process. */
uint64_t trigger_price_as(void);
/* So much of its CPU time went to the beginning or the end of its process, of bursts, or of itself.
 * Fewer samples would not save it. */
void trigger_took_as(struct rt_thread *t, uint64_t cpu_ns);

#endif

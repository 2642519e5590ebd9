/* Shared by the files of this folder only. */
#ifndef PENUMBRA_RUNTIME_TRIGGER_INTERNAL_H
#define PENUMBRA_RUNTIME_TRIGGER_INTERNAL_H

#include "runtime/thread.h"

bool perf_arm_as(struct rt_thread *t);
/* The event of a trigger after the first, which counts; it does not run yet. */
bool perf_arm_other_as(struct rt_thread *t);
/* Makes their periods the mean ones. */
void perf_fix_others_as(struct rt_thread *t);
bool timer_arm_as(struct rt_thread *t);
/* The thread's event, as programmed last: opened, disabled (an errno); closed. */
int perf_open_as(struct rt_thread *t);
void perf_close_as(struct rt_thread *t);
/* A timer of the thread's, not set (an errno); deleted. */
int timer_open_as(struct rt_thread *t);
void timer_delete_as(struct rt_thread *t);
/* The process's discovery event, with all that have inherited it. */
void perf_discovery_close_as(void);
/* Starts the first trigger's event or timer, which a sample has set anew, unless the thread is
 * paused. */
void trigger_go_on_as(struct rt_thread *t);
/* An event that was to expire once goes on, whether it has expired or not. */
void perf_go_on_as(const struct rt_thread *t);
/* Makes `period` the length of all coming periods. */
void perf_set_period_as(struct rt_thread *t, uint64_t period);
void timer_set_period_as(const struct rt_thread *t, uint64_t period); /* 0: it stops */
/* Somebody else finds threads: the seekers' events are closed, but which threads were there stays
 * known. */
void seek_yield_as(void);
/* Of CPU time, between two ticks of discovery in a thread. */
uint64_t discovery_pace_ns(void);
/* A discovery event on another thread, disabled. Negative errno on failure. */
int perf_seek_open(int32_t tid, uint64_t period);
/* The same by a timer that ticks once, after so much CPU time of the thread. */
int timer_seek_open(int32_t tid, uint64_t cpu_ns);
void timer_seek_close_as(int timer);
/* The count so far of the event of the trigger that counts; 0 if it cannot be read. */
uint64_t perf_count_as(const struct rt_thread *t);
uint64_t clock_now_as(struct rt_thread *t);
/* The calling thread's CPU time (cpu_clock.c), within some microseconds for each switch in a second
 * of it; its event was or is not enabled. */
uint64_t cpu_clock_as(struct rt_thread *t);
void cpu_clock_forget_as(struct rt_thread *t);
/* Draws the first period and sets the clock's base. */
void clock_start_as(struct rt_thread *t);
/* The clock goes on by another mechanism: at or after the thread's first sample; before it. */
void clock_turn_as(struct rt_thread *t);
void clock_turn_first_as(struct rt_thread *t);
/* The multiple of the period that threads begin with (pace.c): now; a thread has used so much CPU
 * time since its window began, in which samples were allowed to cost so much, and did. */
uint64_t pace_begin_as(const struct rt_thread *t);
void pace_note_as(const struct rt_thread *t, uint64_t cpu_ns, uint64_t allowed_ns,
                  uint64_t cost_ns);
/* Threads that nobody knows, where there are no perf events (scan.c): from the first call on; at
 * each sample; when samples end; in a fork child. */
void scan_begin_as(void);
void scan_look_as(uint64_t now_ticks);
void scan_end_as(void);
void scan_fork_child_as(void);
/* A timer that sends ticks of discovery to a thread of this process. Negative errno on failure. */
int timer_discover_as(int32_t tid);
/* What samples cost (account.c): at the thread's begin; when the event has been set; at the first
 * sample after that, whose period has ended at a known time of its CPU clock; at the end of each,
 * returns the ticks that it took; for switches while an event counts the thread's time. */
void account_begin_as(struct rt_thread *t);
void account_set_as(struct rt_thread *t);
void account_latency_as(struct rt_thread *t, uint64_t expiry_cpu_ns, uint64_t ticks_at_entry);
void account_enter_as(struct rt_thread *t); /* at the entry of a sample of CPU time */
uint64_t account_finish_as(struct rt_thread *t, uint64_t ticks_at_entry);
/* Nanoseconds of the thread's own time since the sample began. */
uint64_t account_so_far_as(struct rt_thread *t, uint64_t ticks_at_entry);
/* At the end of a sample in a call of the program's, which no signal delivered. */
uint64_t account_call_as(struct rt_thread *t, uint64_t ticks_at_entry);
/* The thread has used so much CPU time since its window began: samples cannot have cost more.
 * Returns what they cost. */
uint64_t account_bound_as(struct rt_thread *t, uint64_t cpu_ns);
/* Of the calling thread since it began. */
struct rt_switches switches_now_as(void);
void account_switches_as(struct rt_thread *t, struct rt_switches s);
/* So many periods have expired that no signal has come of. */
void account_unseen_as(struct rt_thread *t, uint64_t expirations);
/* Nanoseconds that the next delivery costs. */
uint64_t account_price_as(const struct rt_thread *t);
/* Threads that switch often (ticks.c): at arming; at each sample, so long after the one before. */
void ticks_arm_as(struct rt_thread *t);
void ticks_look_as(struct rt_thread *t, uint64_t passed_ticks);
/* ... and at a tick of discovery, for threads whose samples are rare. */
void ticks_discovered_as(struct rt_thread *t);
/* Threads that end soon (ticks.c): a thread whose first period is drawn begins with a timer, and
 * needs no event; it has lived so long when it ends. */
bool ticks_begin_with_as(struct rt_thread *t);
void ticks_lived_as(const struct rt_thread *t, uint64_t cpu_ns);
/* Threads that wait often (watch.c): at arming; at the end of a wait that is no sample, which has
 * cost so much. */
void watch_arm_as(struct rt_thread *t);
void watch_look_as(struct rt_thread *t, uint64_t spent_ns);
/* No signal at ends of waits any more. */
void perf_close_switches_as(struct rt_thread *t);
/* Right after a signal at the end of a wait: the thread's clock is that of CPU time from now on.
 * What has not been charged of elapsed time will belong to no context. Returns the elapsed time. */
uint64_t clock_leave_wall_as(struct rt_thread *t);
uint64_t clock_draw_as(struct rt_thread *t);
uint64_t clock_random_as(struct rt_thread *t);

/* The kernel's struct linux_dirent64. */
struct directory_entry {
    uint64_t inode;
    int64_t offset;
    uint16_t length;
    uint8_t type;
    char name[];
};

static inline int32_t directory_number_as(const char *name)
{
    int32_t number = 0;
    for (; *name >= '0' && *name <= '9'; name++)
        number = number * 10 + (*name - '0');
    return number;
}

/* Of the time stamp counter. */
static inline uint64_t ticks_per_us(void)
{
    return spool_header(&guest.spool)->tsc_hz / 1000000u;
}

static inline uint64_t ticks_to_ns(uint64_t ticks)
{
    uint64_t per_us = ticks_per_us();
    return per_us ? ticks * 1000u / per_us : 0;
}

/* Whether they are more than ns, without a division. */
static inline bool ticks_exceed(uint64_t ticks, uint64_t ns)
{
    uint64_t per_us = ticks_per_us();
    return (unsigned __int128)ticks * 1000u > (unsigned __int128)ns * per_us && per_us;
}

/* What the signals of a trigger in the thread carry, besides the cookie. */
static inline uint32_t signal_slot(const struct rt_thread *t)
{
    return t->slot | t->which << RT_WHICH_SHIFT;
}

static inline uint64_t signal_value(uint32_t slot)
{
    return (uint64_t)rt.cookie << 32 | slot;
}

#endif

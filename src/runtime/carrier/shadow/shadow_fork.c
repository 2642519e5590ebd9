#include <linux/futex.h>
#include <linux/sched.h>
#include <sys/prctl.h>

#include "runtime/carrier/burst/burst_watch.h"
#include "runtime/input/input_log.h"
#include "runtime/carrier/shadow/shadow_barrier.h"
#include "runtime/carrier/shadow/shadow_kept.h"
#include "runtime/carrier/shadow/shadow_monitor.h"
#include "runtime/thread.h"
#include "sigsafe/sys.h"

/* Where the collector is the program's parent it is the shadow's too, and buries it; the program
 * never was its parent, so neither wait nor times tell. */
static long fork_direct_as(struct shadow_start *start)
{
    start->parent = start->ppid;
    return sys_call6_as(SYS_clone, CLONE_PARENT, 0, 0, 0, 0, 0);
}

bool shadow_stops_threads(void)
{
    return shadow_settings->flags & (SHADOW_THREADS | SHADOW_THREADS_AUTO);
}

/* All other threads stand still, where the shadow is to have them. False: they did not, and it has
 * to. */
static bool threads_stop_as(struct rt_thread *t, struct shadow_start *start, uint64_t begin)
{
    uint64_t size;
    if (!shadow_threads_wanted())
        return true;
    enum barrier_reason why = shadow_barrier_close_as(t);
    if (why != BARRIER_COUNT) {
        shadow_monitor.record->gave_up[why]++;
        shadow_monitor.record->barrier_ticks += sys_ticks_as() - begin;
        return shadow_settings->flags & SHADOW_THREADS_AUTO;
    }
    start->whole = true;
    shadow_monitor.record->barriers++;
    sys_call6_as(SYS_prctl, PR_GET_TID_ADDRESS, (long)&start->child_tid, 0, 0, 0, 0);
    sys_call3_as(SYS_get_robust_list, 0, (long)&start->robust, (long)&size);
    return true;
}

static void threads_go_on_as(const struct rt_thread *t, struct spool_seat *seat, uint64_t begin)
{
    __atomic_store_n(&seat->verdict, shadow_barrier_held_as(t) ? VERDICT_WHOLE : VERDICT_TORN,
                     __ATOMIC_RELEASE);
    sys_call3_as(SYS_futex, (long)&seat->verdict, FUTEX_WAKE, 1);
    shadow_barrier_open_as();
    shadow_monitor.record->barrier_ticks += sys_ticks_as() - begin;
}

void shadow_fork_as(struct rt_thread *t, ucontext_t *u, struct spool_seat *seat,
                    const struct shadow_usage *now)
{
    struct spool_header *h = spool_header(&guest.spool);
    struct shadow_start start = {.context = u,
                                 .counts = shadow_monitor.counts,
                                 .record = shadow_monitor.record,
                                 .seat = seat,
                                 .watched = burst_watch_whole_as(),
                                 .pid = guest.pid,
                                 .tid = t->tid,
                                 .ppid = (int32_t)sys_call3_as(SYS_getppid, 0, 0, 0)};
    bool direct = start.ppid == h->collector_pid;
    uint64_t begin = sys_ticks_as(), cpu = thread_cpu_ns_as();
    if (!threads_stop_as(t, &start, begin)) {
        shadow_seat_give_back_as(seat, DECLINE_BARRIER);
        return;
    }
    shadow_costs_fork_begins(now);
    shadow_policy_fork_begins();
    shadow_engines_lend(&start);
    input_log_need_as();
    start.input_at = input_log_position_as();
    start.number = seat->number - 1;
    shadow_files_look_as();
    /* before it: this process may be killed at any moment */
    shadow_monitor.record->started = seat->number;
    bool undisturbed = start.whole || !shadow_has_other_threads();
    if (undisturbed)
        shadow_kept_give_as(shadow_faulted());
    long pid = direct ? fork_direct_as(&start) : shadow_guard_fork_as(&start);
    if (pid == 0) {
        shadow_begin_as(&start);
        return;
    }
    if (undisturbed)
        shadow_kept_take_as();
    if (start.whole)
        threads_go_on_as(t, seat, begin);
    shadow_costs_paused(sys_ticks_as() - begin);
    /* it may have been interrupted: that is not its cost */
    uint64_t pause_ns = thread_cpu_ns_as() - cpu;
    if (sys_failed(pid)) {
        shadow_monitor.record->started--;
        shadow_monitor.record->fork_errno = (uint32_t)-pid;
        shadow_seat_give_back_as(seat, DECLINE_FORK);
        shadow_policy_forked(false);
        return;
    }
    shadow_policy_forked(true);
    shadow_costs_forked(t, now, pause_ns);
    __atomic_store_n(direct ? &seat->pid : &seat->guard, (int32_t)pid, __ATOMIC_RELAXED);
}

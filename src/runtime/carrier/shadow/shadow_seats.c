#include <signal.h>
#include <sys/wait.h>

#include "runtime/carrier/shadow/shadow_monitor.h"
#include "runtime/thread.h"
#include "sigsafe/sys.h"

struct spool_seat *shadow_seat_take_as(void)
{
    for (uint32_t i = 0; i < SHADOW_SEATS; i++) {
        struct spool_seat *seat = &shadow_monitor.record->seats[i];
        uint32_t nobody = SEAT_FREE;
        if (__atomic_load_n(&seat->state, __ATOMIC_ACQUIRE) != SEAT_FREE)
            continue;
        __atomic_store_n(&seat->pid, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&seat->guard, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&seat->ripe, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&seat->apart, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&seat->dismissed, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&seat->verdict, VERDICT_NONE, __ATOMIC_RELAXED);
        __atomic_store_n(&seat->number, shadow_monitor.record->started + 1, __ATOMIC_RELAXED);
        if (!__atomic_compare_exchange_n(&seat->state, &nobody, SEAT_TAKEN, false,
                                         __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            continue;
        __atomic_fetch_add(&spool_header(&guest.spool)->shadows_active, 1, __ATOMIC_RELAXED);
        return seat;
    }
    return NULL;
}

bool shadow_seats_active(bool sharing)
{
    bool active = false;
    for (unsigned i = 0; i < SHADOW_SEATS && !active; i++) {
        const struct spool_seat *seat = &shadow_monitor.record->seats[i];
        active = __atomic_load_n(&seat->state, __ATOMIC_ACQUIRE) == SEAT_TAKEN &&
                 !(sharing && __atomic_load_n(&seat->apart, __ATOMIC_RELAXED));
    }
    return active;
}

void shadow_seats_dismiss(void)
{
    for (unsigned i = 0; i < SHADOW_SEATS; i++)
        __atomic_store_n(&shadow_monitor.record->seats[i].dismissed, 1, __ATOMIC_RELAXED);
}

void shadow_guards_look_as(bool all)
{
    for (uint32_t i = 0; i < SHADOW_SEATS; i++) {
        struct spool_seat *seat = &shadow_monitor.record->seats[i];
        int32_t guard = __atomic_load_n(&seat->guard, __ATOMIC_RELAXED);
        if (guard <= 0 || __atomic_load_n(&seat->state, __ATOMIC_ACQUIRE) == SEAT_FREE)
            continue;
        if (all)
            sys_call3_as(SYS_kill, guard, SIGKILL, 0);
        long found =
            sys_call6_as(SYS_wait4, guard, 0, (long)__WCLONE | (all ? 0 : WNOHANG), 0, 0, 0);
        if (found == 0)
            continue;
        if (shadow_leave_as(spool_header(&guest.spool), seat, thread_monotonic_ns_as()))
            __atomic_fetch_add(&shadow_monitor.record->ended[all ? END_PROGRAM : END_KILLED], 1,
                               __ATOMIC_RELAXED);
        __atomic_store_n(&seat->guard, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&seat->state, SEAT_FREE, __ATOMIC_RELEASE);
    }
}

void shadow_seat_give_back_as(struct spool_seat *seat, enum shadow_decline why)
{
    shadow_leave_as(spool_header(&guest.spool), seat, thread_monotonic_ns_as());
    __atomic_store_n(&seat->state, SEAT_FREE, __ATOMIC_RELEASE);
    __atomic_fetch_add(&shadow_monitor.record->declined[why], 1, __ATOMIC_RELAXED);
}

#include "collector/record_shadows.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "collector/measure.h"
#include "collector/process_runs.h"
#include "sigsafe/settings.h"
#include "sigsafe/spool_shadow.h"

static uint32_t load(const uint32_t *at)
{
    return __atomic_load_n(at, __ATOMIC_RELAXED);
}

/* A program that was killed when it had taken the seat may not have counted the shadow: what ends
 * has begun. */
static void leave(const struct spool *s, struct spool_shadows *of, struct spool_seat *seat,
                  enum shadow_end how)
{
    uint64_t number = __atomic_load_n(&seat->number, __ATOMIC_RELAXED);
    if (!shadow_leave_as(spool_header(s), seat, monotonic_ns()))
        return;
    __atomic_fetch_add(&of->ended[how], 1, __ATOMIC_RELAXED);
    if (how == END_PROGRAM && __atomic_load_n(&of->started, __ATOMIC_RELAXED) < number)
        __atomic_store_n(&of->started, number, __ATOMIC_RELAXED);
}

static void bury(const struct spool *s, struct spool_shadows *of, struct spool_seat *seat,
                 enum shadow_end how)
{
    leave(s, of, seat, how);
    __atomic_store_n(&seat->state, SEAT_FREE, __ATOMIC_RELEASE);
}

/* 0: a guard stands for the shadow, or nobody knows its pid because the program was killed in the
 * moment of the fork. What is in the seat came from the program, which can write there: whoever
 * does something to the process asks the kernel whether it is a child of ours. The program itself
 * is one too, but it is never TAKEN for long: waiting for it would lose its status. */
static int32_t seat_pid(const struct spool_process *p, const struct spool_seat *seat)
{
    int32_t pid = __atomic_load_n(&seat->pid, __ATOMIC_RELAXED);
    bool known = pid > 0 && pid != p->pid && !__atomic_load_n(&seat->guard, __ATOMIC_RELAXED);
    return known ? pid : 0;
}

/* A shadow without a pid is only counted. why: all that run are to end, END_COUNT: none is. */
static void seat_look(const struct spool *s, const struct spool_process *p,
                      struct spool_shadows *of, struct spool_seat *seat, enum shadow_end why)
{
    int32_t pid = seat_pid(p, seat);
    uint32_t state = load(&seat->state);
    if (state == SEAT_FREE)
        return;
    if (!pid) {
        if (why == END_PROGRAM)
            leave(s, of, seat, why);
        return;
    }
    enum shadow_end how = why == END_COUNT ? END_KILLED : why;
    pid_t found = waitpid(pid, NULL, WNOHANG | __WALL);
    if (found == 0 && why != END_COUNT) {
        kill(pid, SIGKILL);
        while ((found = waitpid(pid, NULL, __WALL)) < 0 && errno == EINTR)
            continue;
    }
    if (found == pid)
        bury(s, of, seat, how);
}

static bool finish(const struct spool *s)
{
    return settings_shadow_as(s)->flags & SHADOW_FINISHES;
}

static void look(const struct spool *s, const struct spool_process *p, enum shadow_end why)
{
    struct spool_shadows *of = spool_at(s, load(&p->shadows), sizeof *of);
    bool taken = false;
    for (unsigned i = 0; of && i < SHADOW_SEATS; i++)
        taken |= load(&of->seats[i].state) == SEAT_TAKEN;
    if (taken && !finish(s) && !process_runs(p->pid))
        why = END_PROGRAM;
    for (unsigned i = 0; of && i < SHADOW_SEATS; i++)
        seat_look(s, p, of, &of->seats[i], why);
}

typedef void process_visit(const struct spool *s, const struct spool_process *p,
                           enum shadow_end why);

static void each(const struct spool *s, process_visit *visit, enum shadow_end why)
{
    spool_ref ref = __atomic_load_n(&spool_header(s)->processes, __ATOMIC_ACQUIRE);
    for (uint64_t n = 0; n < s->mapped / sizeof(struct spool_process); n++) {
        const struct spool_process *p = spool_at(s, ref, sizeof *p);
        if (!p)
            return;
        visit(s, p, why);
        ref = p->next;
    }
}

static bool there_may_be(const struct spool *s)
{
    uint32_t carrier = settings_sampling(s)->carrier;
    return carrier == CARRIER_SHADOW || carrier == CARRIER_AUTO;
}

/* True if too little memory is left. Once it was, there are no shadows for a while. */
static bool memory_scarce(struct record_shadows *r, const struct spool *s)
{
    const uint64_t every_ns = 50000000, pause_ns = UINT64_C(10000000000);
    const double least = 1.0 / 16, enough = 1.0 / 8;
    uint64_t now = monotonic_ns();
    if (r->looked_ns && now - r->looked_ns < every_ns)
        return false;
    const struct spool_process *first =
        spool_at(s, __atomic_load_n(&spool_header(s)->processes, __ATOMIC_ACQUIRE), sizeof *first);
    if (!r->looked_ns)
        memory_left_of(&r->memory, "", first ? first->pid : 0);
    r->looked_ns = now;
    double share = memory_left_share(&r->memory);
    bool scarce = share < least;
    if (scarce)
        r->scarce_ns = now;
    bool stays = scarce || (r->scarce_ns && (now - r->scarce_ns < pause_ns || share < enough));
    __atomic_store_n(&spool_header(s)->memory_scarce, stays, __ATOMIC_RELAXED);
    return scarce;
}

void record_shadows_poll(struct record_shadows *r, const struct spool *s)
{
    if (!there_may_be(s))
        return;
    bool any = load(&spool_header(s)->shadows_active) || load(&spool_header(s)->memory_scarce);
    each(s, look, any && memory_scarce(r, s) ? END_SCARCE : END_COUNT);
}

static bool is_child(int32_t pid)
{
    siginfo_t info;
    return pid && !waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT | __WALL);
}

/* Where a limit forbids it (RLIMIT_NICE) it takes longer. */
static void hurry(const struct spool *s, const struct spool_process *p, enum shadow_end why)
{
    const struct sched_param none = {0};
    struct spool_shadows *of = spool_at(s, load(&p->shadows), sizeof *of);
    (void)why;
    for (unsigned i = 0; of && i < SHADOW_SEATS; i++) {
        int32_t pid = load(&of->seats[i].state) == SEAT_TAKEN ? seat_pid(p, &of->seats[i]) : 0;
        if (is_child(pid))
            sched_setscheduler(pid, SCHED_OTHER, &none);
    }
}

void record_shadows_hurry(const struct spool *s)
{
    if (there_may_be(s))
        each(s, hurry, END_COUNT);
}

void record_shadows_end(const struct spool *s)
{
    if (there_may_be(s))
        each(s, look, END_PROGRAM);
}

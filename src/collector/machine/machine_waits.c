#include "collector/machine/machine_waits.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "collector/measure.h"
#include "sigsafe/hash.h"

/* So long, and a look has come upon it, and it stands for itself. */
#define LASTING_NS UINT64_C(1000000000)

/* The first period of a thread ends anywhere within it, so that waits in a regular pattern do not
 * always meet the same end. */
static uint64_t rest_draw(uint64_t seed, uint64_t period_ns)
{
    uint64_t bits = hash_word(seed);
    return (bits ^ bits >> 32) % period_ns;
}

/* Whole periods of what has come together. */
static uint64_t periods_take(const struct machine_sampler *s, uint64_t *rest_ns, uint64_t ns)
{
    *rest_ns += ns;
    uint64_t periods = *rest_ns / s->period_ns;
    *rest_ns %= s->period_ns;
    return periods;
}

/* What a thread can have waited of ns, which are an estimate: with all before, no longer than it
 * has been there. One wait that was unlike those it stands for would be most of the profile. */
static uint64_t within_life(struct machine_sampler *s, const struct machine_place *place,
                            uint64_t time, uint64_t ns)
{
    struct machine_wait *wait = &place->thread->wait;
    uint64_t life_ns = time > wait->since_ns ? time - wait->since_ns : 0;
    uint64_t most_ns = life_ns > wait->all_ns ? life_ns - wait->all_ns : 0;
    if (ns > most_ns) {
        s->waits.over_ns += ns - most_ns;
        ns = most_ns;
    }
    wait->all_ns += ns;
    return ns;
}

static void charge(struct machine_sampler *s, const struct machine_place *place, spool_ref node,
                   uint64_t time, uint64_t ns)
{
    uint64_t periods = periods_take(s, &place->thread->wait.rest_ns, ns);
    if (!periods)
        return;
    machine_sampler_charge(s, place->record, node, periods);
    if (!node)
        return;
    machine_sampler_time(s, place, node, time, periods,
                         periods > 1 ? periods * s->period_ns : 0);
}

/* When the thread can have begun to wait, and what it has of a period: before it is charged. */
static void wait_settle(const struct machine_sampler *s, const struct machine_place *place)
{
    struct machine_wait *wait = &place->thread->wait;
    if (wait->rests)
        return;
    wait->rests = true;
    wait->since_ns = place->record->start_ns;
    wait->rest_ns = wait->waker_rest_ns = rest_draw(monotonic_ns(), s->period_ns);
}

/* The thread and its record, without a stack. False: there are none. */
static bool place_find(struct machine_sampler *s, int32_t pid, int32_t tid,
                       struct machine_place *place)
{
    struct machine_process *p = machine_process_find(s->processes, pid);
    *place = (struct machine_place){.process = p};
    if (!p || !machine_process_is_selected(s->processes, p))
        return false;
    place->thread = machine_thread_at(p, tid);
    if (place->thread)
        place->record = machine_thread_record(s->processes, p, place->thread);
    if (place->record)
        wait_settle(s, place);
    return place->record;
}

static void charge_unknown(struct machine_sampler *s, const struct machine_place *place,
                           uint64_t time, uint64_t ns)
{
    ns = within_life(s, place, time, ns);
    s->waits.unknown++;
    s->waits.unknown_ns += ns;
    charge(s, place,
           machine_place_below(s, place, place->record->tree, key_pseudo(KEY_UNATTRIBUTED)), time,
           ns);
}

static void path_keep(const struct machine_sampler *s, struct machine_wait *wait)
{
    if (wait->path_capacity < s->path_count) {
        free(wait->path);
        wait->path = malloc(s->path_count * sizeof *wait->path);
        wait->path_capacity = wait->path ? s->path_count : 0;
    }
    wait->path_count = wait->path ? s->path_count : 0;
    if (wait->path)
        memcpy(wait->path, s->path, s->path_count * sizeof *wait->path);
}

/* ---- who ends a wait ---- */

void machine_waits_wake(struct machine_sampler *s, const struct machine_record *r)
{
    enum { IDLE = 0 };
    struct machine_place waiter, place;
    struct machine_record wake = *r;
    if (!place_find(s, r->waiter_pid, r->waiter_tid, &waiter) ||
        waiter.thread->wait.begun != r->begun)
        return;
    if (r->pid == IDLE || machine_sample_is_interrupt(s, r)) {
        wake.pid = r->waiter_pid;
        wake.tid = r->waiter_tid;
    }
    if (!machine_sampler_place(s, &wake, &place))
        return;
    waiter.thread->wait.waker = place.record;
    waiter.thread->wait.waker_node = place.node;
}

static void charge_waker(struct machine_sampler *s, const struct machine_place *place,
                         uint64_t blocked_ns)
{
    struct machine_wait *wait = &place->thread->wait;
    uint64_t periods = periods_take(s, &wait->waker_rest_ns, blocked_ns);
    if (!periods)
        return;
    struct machine_place waker = *place;
    waker.record = wait->waker ? wait->waker
                               : machine_thread_waking(s->processes, place->process, place->thread);
    if (!waker.record)
        return;
    spool_ref node = wait->waker ? wait->waker_node
                                 : machine_place_below(s, &waker, waker.record->tree,
                                                       key_pseudo(KEY_UNATTRIBUTED));
    node = machine_place_below(s, &waker, node, key_pseudo(KEY_WAKES));
    for (uint32_t i = 0; i < wait->path_count; i++)
        node = machine_place_below(s, &waker, node, wait->path[i]);
    machine_sampler_charge(s, waker.record, node, periods);
}

/* ---- its time ---- */

/* What is left of a wait's time, of which some may have been charged while it lasted. */
static uint64_t left_of(const struct machine_wait *wait, uint64_t begun, uint64_t ns)
{
    uint64_t charged = wait->charged_of == begun ? wait->charged_ns : 0;
    return ns > charged ? ns - charged : 0;
}

static void count_walk(const struct machine_wait *wait, struct spool_thread *record)
{
    record->guessed += wait->guessed;
    if (wait->truncation != TRUNC_NONE && wait->truncation < TRUNC_COUNT)
        record->truncated[wait->truncation]++;
}

static void charge_known(struct machine_sampler *s, const struct machine_place *place,
                         const struct machine_record *r)
{
    const struct machine_wait *wait = &place->thread->wait;
    uint64_t blocked_ns = r->blocked_ns * r->odds, ready_ns = r->ready_ns * r->odds,
             before = place->record->weight;
    uint64_t estimate_ns = left_of(wait, r->begun, blocked_ns + ready_ns),
             left_ns = within_life(s, place, r->time, estimate_ns), over_ns = estimate_ns - left_ns;
    s->waits.taken++;
    s->waits.taken_ns += blocked_ns + ready_ns - over_ns;
    if (ready_ns > left_ns)
        ready_ns = left_ns;
    charge(s, place, wait->node, r->time, left_ns - ready_ns);
    charge_waker(s, place, blocked_ns > over_ns ? blocked_ns - over_ns : 0);
    spool_ref queue = 0;
    if (wait->rest_ns + ready_ns >= s->period_ns)
        queue = machine_place_below(s, place, wait->node, key_pseudo(KEY_RUN_QUEUE));
    charge(s, place, queue, r->time, ready_ns);
    if (place->record->weight != before)
        count_walk(wait, place->record);
}

void machine_waits_end(struct machine_sampler *s, const struct machine_record *r)
{
    struct machine_place place;
    if (!place_find(s, r->waiter_pid, r->waiter_tid, &place))
        return;
    struct machine_wait *wait = &place.thread->wait;
    uint64_t end_ns = s->waits.end_ns;
    if (wait->begun == r->begun && end_ns && r->time > end_ns) {
        wait->told_ns = r->time; /* it went on to the end: finish() charges it */
        return;
    }
    if (wait->begun == r->begun)
        charge_known(s, &place, r);
    else
        charge_unknown(s, &place, end_ns && r->time > end_ns ? end_ns : r->time,
                       left_of(wait, r->begun, (r->blocked_ns + r->ready_ns) * r->odds));
    wait->begun = 0;
    wait->ended = r->begun;
}

/* ---- waits that last ---- */

/* Up to a moment at which the thread is known to wait. */
static void lasts(struct machine_sampler *s, struct machine_process *p, struct machine_thread *t,
                  uint64_t now)
{
    struct machine_wait *wait = &t->wait;
    const struct machine_place place = {.process = p, .thread = t, .record = t->record};
    if (s->waits.end_ns && now > s->waits.end_ns)
        now = s->waits.end_ns;
    if (!t->record || p->ended || now <= wait->begun)
        return;
    uint64_t ns = left_of(wait, wait->begun, now - wait->begun);
    if (!ns)
        return;
    charge(s, &place, wait->node, now, within_life(s, &place, now, ns));
    wait->charged_ns = now - wait->begun;
    wait->charged_of = wait->begun;
}

void machine_waits_begin(struct machine_sampler *s, const struct machine_record *r)
{
    struct machine_place place;
    if (!machine_sampler_place(s, r, &place))
        return;
    wait_settle(s, &place);
    struct machine_wait *wait = &place.thread->wait;
    /* It went on before it had been looked at, and what was seen may be another stack. */
    if (r->begun <= wait->ended)
        return;
    wait->begun = r->begun;
    wait->told_ns = r->time;
    wait->node = place.node;
    wait->truncation = place.walk.truncation;
    wait->guessed = place.walk.guessed;
    wait->waker = NULL;
    path_keep(s, wait);
    /* It has been found waiting: until then, at least, it has. */
    if (r->time > r->begun + LASTING_NS)
        lasts(s, place.process, place.thread, r->time);
}

static void each_thread(struct machine_sampler *s, uint64_t now,
                        void (*call)(struct machine_sampler *s, struct machine_process *p,
                                     struct machine_thread *t, uint64_t now))
{
    for (unsigned h = 0; h < MACHINE_PROCESS_HASH; h++)
        for (struct machine_process *p = s->processes->by_pid[h]; p; p = p->next)
            for (struct machine_thread *t = p->threads; t; t = t->next)
                if (t->wait.begun)
                    call(s, p, t, now);
}

static void lasts_long(struct machine_sampler *s, struct machine_process *p,
                       struct machine_thread *t, uint64_t now)
{
    if (t->wait.begun + LASTING_NS < now)
        lasts(s, p, t, now);
}

void machine_waits_last(struct machine_sampler *s, uint64_t now)
{
    if (now < s->waits.last_ns + LASTING_NS)
        return;
    s->waits.last_ns = now;
    each_thread(s, now, lasts_long);
}

static void forget(struct machine_sampler *s, struct machine_process *p, struct machine_thread *t,
                   uint64_t now)
{
    (void)s, (void)p, (void)now;
    t->wait.begun = 0;
}

void machine_waits_forget(struct machine_sampler *s)
{
    s->waits.lossy = true;
    if (!s->waits.end_ns)
        each_thread(s, 0, forget);
}

static void finish(struct machine_sampler *s, struct machine_process *p, struct machine_thread *t,
                   uint64_t now)
{
    /* The last look, after the end, has found who waits: others' ends may have been lost. */
    if (!s->waits.lossy || t->wait.told_ns >= now) {
        lasts(s, p, t, now);
        s->waits.unended++;
        if (t->wait.charged_of == t->wait.begun)
            s->waits.unended_ns += t->wait.charged_ns;
    }
    t->wait.begun = 0;
}

void machine_waits_finish(struct machine_sampler *s, uint64_t now)
{
    each_thread(s, now, finish);
}

void machine_waits_notes(const struct machine_sampler *s, struct buf *notes)
{
    buf_printf(notes, "%" PRIu64 " waits that were taken have ended and stand for %.3f s; %" PRIu64
                      " went on to the end, %.3f s\n",
               s->waits.taken, (double)s->waits.taken_ns / 1e9, s->waits.unended,
               (double)s->waits.unended_ns / 1e9);
    if (s->waits.over_ns)
        buf_printf(notes, "%.3f s that they would stand for are more than their threads were "
                          "there, and left out\n", (double)s->waits.over_ns / 1e9);
    if (s->waits.unknown)
        buf_printf(notes, "of %" PRIu64 " waits, %.3f s, it is not known where: records of them "
                          "were lost, or they ended while they were looked at ([unattributed])\n",
                   s->waits.unknown, (double)s->waits.unknown_ns / 1e9);
}

/* The monitor of shadows: what decides in the program, at a trigger, whether it is forked, and
 * accounts for that. For its own files only:
 *
 *      shadow.c ──> shadow_policy.c   may it be forked, are bursts better, is it to have all threads?
 *          │  └───> shadow_engines.c  the engines that shadows share
 *          v
 *      shadow_fork.c ──> shadow_seats.c   where shadows sit, and their guards
 *                   └──> shadow_costs.c   what forks cost the program
 *
 * Context: the thread that has the monitor (shadow.c), unless said otherwise.
 * Ownership: each file has a state of its own, which its _forget begins anew. */
#ifndef PENUMBRA_RUNTIME_CARRIER_SHADOW_SHADOW_MONITOR_H
#define PENUMBRA_RUNTIME_CARRIER_SHADOW_SHADOW_MONITOR_H

#include "runtime/carrier/shadow/shadow.h"
#include "sigsafe/shadow_account.h"
#include "sigsafe/shadow_place.h"
#include "sigsafe/spool_counts.h"
#include "sigsafe/spool_shadow.h"

struct shadow_monitor {
    uint32_t busy;                /* atomic: a thread has it */
    struct spool_shadows *record; /* NULL: not made yet */
    struct spool_counts *counts;
};

extern struct shadow_monitor shadow_monitor;

/* ---- engines ---- */

/* False: there is no memory. */
bool shadow_engines_need_as(void);
/* Any context: the engine knows code that has gone, or changed. The next shadows get another
 * one. */
void shadow_engines_retire(void);
/* start->engine and ->passing. */
void shadow_engines_lend(struct shadow_start *start);
void shadow_engines_forget(void);

/* ---- seats ---- */

/* NULL: all are taken. */
struct spool_seat *shadow_seat_take_as(void);
/* It was not made. */
void shadow_seat_give_back_as(struct spool_seat *seat, enum shadow_decline why);
/* There is a shadow; sharing: one that has not yet made all memory its own. */
bool shadow_seats_active(bool sharing);
/* They end when they look about themselves next. */
void shadow_seats_dismiss(void);
/* Buries guards whose work is done; all: kills and buries every one. */
void shadow_guards_look_as(bool all);

/* ---- costs ---- */

bool shadow_usage_look_as(struct shadow_usage *now);
struct shadow_prices shadow_prices(void);
struct shadow_account *shadow_costs_account(void);
/* Of all processes of the program; NULL: there is none. */
struct shadow_common *shadow_costs_common(void);
/* The last shadows had to end, since they cost too much. */
bool shadow_costs_dismissed(void);
/* What the last fork has cost so far; before the first, what it will cost. */
uint64_t shadow_costs_last_ns(const struct shadow_usage *now);
/* What the last fork has caused since the last trigger goes to the account, and this trigger. */
void shadow_costs_look_as(const struct shadow_usage *now);
/* This trigger has taken the monitor so much CPU time, the fork aside. */
void shadow_costs_looked(uint64_t ns);
/* The program ends: what has come since the last trigger is the last. */
void shadow_costs_end_as(void);
void shadow_costs_huge_as(const struct shadow_usage *now);
void shadow_costs_fork_begins(const struct shadow_usage *now);
/* It stood still for so many ticks, whatever has come of it. */
void shadow_costs_paused(uint64_t ticks);
void shadow_costs_forked(struct rt_thread *t, const struct shadow_usage *now, uint64_t pause_ns);
void shadow_costs_forget(void);

/* ---- policy ---- */

bool shadow_budget_has_room_as(const struct shadow_usage *now);
/* The last shadow is to see the rest of the program, should that end soon. */
bool shadow_sees_all_as(const struct shadow_usage *now);
/* The fork begins: another share is drawn for the next one. */
void shadow_policy_fork_begins(void);
/* The kernel has made it, or refused. */
void shadow_policy_forked(bool made);
/* Of this shadow, all threads are wanted. */
bool shadow_threads_wanted(void);
bool shadow_has_other_threads(void);
/* A trigger has interrupted the thread. */
void shadow_threads_note(const struct rt_thread *t);
/* Shadows that have ended since memory was not there, or code in it could not be read. */
uint64_t shadow_faulted(void);
/* Of the carrier `auto`: decides where this process is observed. */
void shadow_place_look_as(void);
void shadow_policy_forget(void);

/* ---- the fork ---- */

/* Returns twice. */
void shadow_fork_as(struct rt_thread *t, ucontext_t *u, struct spool_seat *seat,
                    const struct shadow_usage *now);

#endif

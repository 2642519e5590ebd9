/* Shared by the files of this folder only. */
#ifndef PENUMBRA_RUNTIME_TRIGGER_INTERNAL_H
#define PENUMBRA_RUNTIME_TRIGGER_INTERNAL_H

#include "runtime/runtime.h"

bool perf_arm_as(struct rt_thread *t);
bool timer_arm_as(struct rt_thread *t);
/* Makes `period` the length of all coming periods. */
void perf_set_period_as(struct rt_thread *t, uint64_t period);
void timer_set_period_as(const struct rt_thread *t, uint64_t period); /* 0: it stops */
/* A discovery event on another thread, disabled. Negative errno on failure. */
int perf_seek_open(int32_t tid, uint64_t period);
/* The event's count so far; 0 if it cannot be read. */
uint64_t perf_count_as(const struct rt_thread *t);
uint64_t clock_now_as(const struct rt_thread *t);
/* Draws the first period and sets the clock's base. */
void clock_start_as(struct rt_thread *t);
uint64_t clock_draw_as(struct rt_thread *t);
uint64_t clock_random_as(struct rt_thread *t);

static inline uint64_t signal_value(uint32_t slot)
{
    return (uint64_t)rt.cookie << 32 | slot;
}

#endif

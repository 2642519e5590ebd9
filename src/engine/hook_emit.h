/* Hooks as they were asked for, and their code.
 *
 * Context: the dispatcher, under the engine's lock. */
#ifndef PENUMBRA_ENGINE_HOOK_EMIT_H
#define PENUMBRA_ENGINE_HOOK_EMIT_H

#include "engine/hook.h"
#include "engine/liveness.h"
#include "engine/state.h"

struct translation;

/* Asks the tool about the decoded block. False: it could not count (STOP_COUNTERS_FULL). */
bool hooks_ask_as(struct translation *x);

/* True if there is a hook at the point. */
bool hooks_any(const struct engine *e, enum hook_point point, uint32_t index);

/* Writes the hooks at the point; `live`: what must not be changed there. */
void hooks_emit_as(struct translation *x, enum hook_point point, uint32_t index, struct live live);

/* The call of a hook; indirect: rcx is the target, rcx and r11 of the program are in the lookup's slots. Else
 * `target` is where the transfer goes, if it is one. */
void hook_call_emit(struct engine *e, struct emit *to, const struct hook *hook, bool indirect,
                    uint64_t target);

/* target.c: counting by target. */
void hook_target_emit_as(struct translation *x, const struct hook *hook);

/* lead.c: the look whether a hook has to be called. */
void hook_lead_emit_as(struct translation *x, const struct hook *hook, struct live live);
/* Is the call of such a hook made through the tool's own code? */
bool hook_lead_in_line(const struct engine *e, const struct hook *hook);

/* gate.c: the look whether the block is observed. */
void hook_gate_emit_as(struct translation *x, const struct hook *hook, struct live live);

/* watch.c: the look whether the operand's memory, or the return, is watched. */
void hook_watch_emit_as(struct translation *x, const struct hook *hook, uint32_t index, struct live live);
void hook_alarm_emit_as(struct translation *x, const struct hook *hook, struct live live);
void hook_watch_return_emit_as(struct translation *x, const struct hook *hook, struct live live);

/* Around instruction `index`, if it is timed: the code before it and behind it. */
void hook_time_begin_as(struct translation *x, uint32_t index);
void hook_time_end_as(struct translation *x, uint32_t index);

#endif

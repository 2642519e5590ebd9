/* Hooks as they were asked for, and their code.
 *
 * Context: the dispatcher, under the engine's lock. */
#ifndef PENUMBRA_ENGINE_HOOK_EMIT_H
#define PENUMBRA_ENGINE_HOOK_EMIT_H

#include "engine/hook.h"
#include "engine/liveness.h"
#include "engine/state.h"

struct translation;

/* Most bytes of cold code. */
enum { HOOK_COLD_TARGET = 80, HOOK_COLD_LEAD = 192, HOOK_COLD_GATE = 108, HOOK_COLD_WATCH = 72 };

/* Cold code of a hook, that many bytes. */
static inline struct emit hook_cold_begin(struct engine *e, uint32_t size)
{
    uint8_t *at = cache_at(&e->cache, cache_cold_as(&e->cache, size, 1));
    return (struct emit){.at = at, .end = at + size + EMIT_LONGEST};
}

/* Asks the tools about the decoded block. False: they could not count (STOP_COUNTERS_FULL), or, with
 * hooks.crowded, asked for more hooks than fit. */
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

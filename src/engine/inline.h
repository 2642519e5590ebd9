/* Hooks as they were asked for, and their code: for the engine, and for pieces of inlined code
 * (tools/inline), which put themselves among the hooks by inline_add_as.
 *
 * Context: the dispatcher, under the engine's lock.
 * Ownership: struct hook_inline is constant data. */
#ifndef PENUMBRA_ENGINE_INLINE_H
#define PENUMBRA_ENGINE_INLINE_H

#include "engine/hook.h"
#include "engine/liveness.h"
#include "engine/state.h"

struct translation;

/* A piece: writes its code at the hook's point to x->hot; `live`: what must not be changed
 * there. */
struct hook_inline {
    void (*emit)(struct translation *x, const struct hook *hook, uint32_t index, struct live live);
    uint16_t hot, cold; /* most bytes of its code, the call of the hook included */
};

/* A hook of that kind; NULL: there is no room. `size` is the piece's own. */
struct hook *inline_add_as(struct hooks *h, enum hook_point point, uint32_t index,
                           const struct hook_inline *piece, hook_function *function,
                           uint64_t argument, unsigned size);
/* The hook's call is made through the first entry of its tool's own code (engine/hook_line.h), if
 * it has any. */
bool inline_has_line(const struct engine *e, const struct hook *hook);

/* A counter for an edge that is met when it is executed, by the tool of that kind; COUNTS_NONE: no
 * room. For called hooks. */
uint32_t inline_counter_make_as(struct engine_thread *t, uint32_t kind, uint64_t from, uint64_t to);

/* Cold code of a hook, that many bytes. */
static inline struct emit inline_cold_begin(struct engine *e, uint32_t size)
{
    uint8_t *at = cache_at(&e->cache, cache_cold_as(&e->cache, size, 1));
    return (struct emit){.at = at, .end = at + size + EMIT_LONGEST};
}

/* Where the call of a hook goes. At an indirect end rcx is the target, and rcx and r11 of the
 * program are in the lookup's slots. Else `target` is where the transfer goes, if it is one. */
struct hook_way {
    bool indirect, line;
    uint64_t target;
};
void hook_call_emit(struct engine *e, struct emit *to, const struct hook *hook,
                    struct hook_way way);

/* Asks the tools about the decoded block. False: they could not count (STOP_COUNTERS_FULL), or,
 * with hooks.crowded, asked for more hooks than fit. */
bool hooks_ask_as(struct translation *x);

/* True if there is a hook at the point. */
bool hooks_any(const struct engine *e, enum hook_point point, uint32_t index);

/* Writes the hooks at the point. */
void hooks_emit_as(struct translation *x, enum hook_point point, uint32_t index, struct live live);

/* Around instruction `index`, if it is timed: the code before it and behind it. */
void hook_time_begin_as(struct translation *x, uint32_t index);
void hook_time_end_as(struct translation *x, uint32_t index);

#endif

/* The tools of an engine. Each asks for its hooks in each block, one after the other, and all that
 * they ask for is compiled into the same code. Each has its own counters, its own records of the
 * ring, and its own state in each thread (t->tools[kind]).
 *
 * Context: the dispatcher, and the thread concerned where one is given; as engine/hook.h says.
 * Ownership: constant once the engine is made. */
#ifndef PENUMBRA_ENGINE_TOOL_SET_H
#define PENUMBRA_ENGINE_TOOL_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct engine;
struct engine_thread;
struct tool; /* hook.h */

enum {
    TOOL_SET_MOST = 24,
    TOOL_KINDS_MOST = 64,
};

/* A tool with gates (tools/inline/gate.h) comes last. */
struct tool_set {
    uint32_t count;
    struct tool_member {
        const struct tool *tool;
        uint32_t kind; /* below TOOL_KINDS_MOST; enum tool_kind (sigsafe/tools.h) of those that the
                          profile knows. Things are marked with it */
    } of[TOOL_SET_MOST];
};

/* One tool, or with NULL none, without a kind: for tests. */
static inline struct tool_set tool_set_of(const struct tool *tool)
{
    return (struct tool_set){ .count = tool ? 1 : 0, .of = { { .tool = tool } } };
}

/* Flags (hook.h) that one has, or all have. */
uint32_t tool_set_any(const struct tool_set *s);
uint32_t tool_set_all(const struct tool_set *s);
/* One has hooks. */
bool tool_set_hooks(const struct tool_set *s);
/* One observes a part of a burst (struct tool.burst_begin). */
bool tool_set_late(const struct tool_set *s);
/* They can observe together: one tool at most watches memory. */
bool tool_set_fits(const struct tool_set *s);
/* How many append; the first of those that do. */
uint32_t tool_set_appenders(const struct tool_set *s, uint32_t *first);

/* Call what each has. False: one refuses; the thread cannot be observed. */
bool tool_set_begin_as(struct engine_thread *t);
void tool_set_end_as(struct engine_thread *t);
void tool_set_flush_as(struct engine_thread *t, const uint8_t *records, uint64_t size, bool ends);
void tool_set_interrupted_as(struct engine_thread *t, uint64_t pc);
void tool_set_burst_begin_as(struct engine_thread *t, uint32_t skip, uint64_t length);
void tool_set_burst_end_as(struct engine_thread *t);

#endif

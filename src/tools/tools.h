/* What can be observed of code that runs under the engine: one file per observation. Each is a
 * struct tool (engine/hook.h), and one row of the list in sigsafe/tools.h; carriers know none of
 * them.
 *
 * Context: as engine/hook.h says.
 * Ownership: constant data. */
#ifndef PENUMBRA_TOOLS_TOOLS_H
#define PENUMBRA_TOOLS_TOOLS_H

#include "engine/hook.h"
#include "sigsafe/tools.h"

/* The tool of that kind (enum tool_kind); NULL: none that runs under the engine. */
const struct tool *tool_of_kind(uint32_t kind);

/* The tools that the collector asked for (spool_config.tools), as far as they run under the engine:
 * in bursts, and where everything is observed. */
void tools_set(uint64_t kinds, struct tool_set *out);
void tools_set_whole(const struct spool *s, uint64_t kinds, struct tool_set *out);

/* Ordinary code: the process's recording begins, before any code is observed, in it or in its
 * copies. stack: where the first thread's frames begin. */
void tools_begin(const struct spool *s, uint64_t stack);

/* Flags (engine/hook.h) that one of them has, or all have. */
uint32_t tools_flags_any(uint64_t kinds);
uint32_t tools_flags_all(uint64_t kinds);
/* One observes a part of each burst, behind instructions that are passed over. */
bool tools_late(uint64_t kinds);

#endif

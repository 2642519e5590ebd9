/* What can be observed of code that runs under the engine: one file per observation. Each is a struct
 * tool (engine/hook.h); carriers know none of them.
 *
 * Context: as engine/hook.h says.
 * Ownership: constant data. */
#ifndef PENUMBRA_TOOLS_TOOLS_H
#define PENUMBRA_TOOLS_TOOLS_H

#include "engine/hook.h"

extern const struct tool tool_null;    /* nothing: what translation itself costs */
extern const struct tool tool_count;   /* instructions by class */
extern const struct tool tool_blocks;  /* executions of each block */
extern const struct tool tool_edges;   /* executions of each transfer of control */
extern const struct tool tool_calls;   /* calls in their calling context */
extern const struct tool tool_paths;   /* interprocedural acyclic paths */
extern const struct tool tool_streams; /* strides and spans of each load and store */
extern const struct tool tool_results; /* the most frequent results of each instruction */
extern const struct tool tool_path;    /* block numbers into a ring (bench) */
extern const struct tool tool_written; /* every general-register result into a ring (bench) */

extern const struct tool tool_values;  /* what instructions read, write and do (tuples.h) */

/* The tool with this name, or NULL. */
const struct tool *tool_find(const char *name);
/* The tool that the collector asked for (enum tool_kind); NULL: none that runs under the engine. */
const struct tool *tool_of_kind(uint32_t kind);

#endif

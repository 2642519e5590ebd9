/* What can be observed of code that runs under the engine: one file per observation. Each is a struct
 * tool (engine/hook.h), and one row of the list in sigsafe/tools.h; carriers know none of them.
 *
 * Context: as engine/hook.h says.
 * Ownership: constant data. */
#ifndef PENUMBRA_TOOLS_TOOLS_H
#define PENUMBRA_TOOLS_TOOLS_H

#include "engine/hook.h"

/* The tool that the collector asked for (enum tool_kind); NULL: none that runs under the engine. */
const struct tool *tool_of_kind(uint32_t kind);

#endif

/* The tools that run under the engine, by name, from the list of tools: for tools.c, and for tests.
 *
 * Context: constant data: any.
 * Ownership: constant. */
#ifndef PENUMBRA_TOOLS_LIST_H
#define PENUMBRA_TOOLS_LIST_H

#include "sigsafe/tools.h"
#include "tools/tools.h"

#define TOOLS_OF_ENGINE(X) TOOLS_COUNTING(X) TOOLS_TABLE(X) TOOLS_HOTLIST(X)

#define TOOL_DECLARED(id, name, ...) extern const struct tool tool_##name;
TOOLS_OF_ENGINE(TOOL_DECLARED)
#undef TOOL_DECLARED
/* What all modules observe by (sigsafe/tuples.h): in bursts; where everything is observed. */
extern const struct tool tool_values, tool_values_whole;
/* The same as the latter, in windows of the run (settings.h, struct sample_settings). */
extern const struct tool tool_values_sampled;

#endif

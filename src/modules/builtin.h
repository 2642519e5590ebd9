/* Modules (include/penumbra/module.h) that need no shared object: those that the list of tools
 * names (sigsafe/tools.h), each in src/modules/NAME.c.
 *
 * Context: the module's own process, one thread.
 * Ownership: constant data; what they remember lives as long as that process. */
#ifndef PENUMBRA_MODULES_BUILTIN_H
#define PENUMBRA_MODULES_BUILTIN_H

#include "modules/hierarchy.h"
#include "penumbra/module.h"

/* By name; NULL: there is none of that name. module_builtin_at: all of them, NULL behind the
 * last. */
const struct penumbra_module *module_builtin(const char *name);
const struct penumbra_module *module_builtin_at(unsigned at);

/* This machine's memory hierarchy, for the module `latency` and for what measuring costs. Measured,
 * or read from the file that remembers it, when it is asked for first; *measured says which. NULL:
 * *err says why. Before the module's process is forked, so that it inherits it, and before the
 * program runs, which would disturb it. */
const struct hierarchy *module_hierarchy(bool *measured, struct err *err);

#endif

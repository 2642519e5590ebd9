/* Modules (include/penumbra/module.h) that need no shared object: `record --tool latency`, `conflicts`.
 *
 * Context: the module's own process, one thread.
 * Ownership: constant data; what they remember lives as long as that process. */
#ifndef PENUMBRA_MODULES_BUILTIN_H
#define PENUMBRA_MODULES_BUILTIN_H

#include "modules/hierarchy.h"
#include "penumbra/module.h"

/* What instructions compute, read and go to; divisors, shift counts, arguments by call site. */
extern const struct penumbra_module module_values;

/* Where each load comes from: one kind, "latency", whose values are numbers of hierarchy_names; facts: the
 * boundaries that they were judged by. */
extern const struct penumbra_module module_latency;

/* Conflicts of stores and later loads (conflict.h): a kind for each, at the load, whose value is the
 * store's address. */
extern const struct penumbra_module module_conflicts;

/* By name; NULL: there is none of that name. module_builtin_at: all of them, NULL behind the last. */
const struct penumbra_module *module_builtin(const char *name);
const struct penumbra_module *module_builtin_at(unsigned at);

/* This machine's memory hierarchy, for module_latency and for what measuring costs. Measured, or read from
 * the file that remembers it, when it is asked for first; *measured says which. NULL: *err says why. Before
 * the module's process is forked, so that it inherits it, and before the program runs, which would
 * disturb it. */
const struct hierarchy *module_hierarchy(bool *measured, struct err *err);

#endif

/* The list of what was and was not instrumented (-fplugin-arg-penumbra-gcc-report=FILE).
 *
 *     FILE:LINE: FUNCTION: left as it is: REASON
 *     FILE:LINE: FUNCTION: without paths: REASON
 *     FILE: N functions instrumented, M left as they are
 *
 * Compilers that run side by side append to the same file, each all of its lines at once.
 *
 * Context: the plugin's pass; at the end of the unit. */
#ifndef PENUMBRA_COMPILER_REPORT_H
#define PENUMBRA_COMPILER_REPORT_H

/* The current function. */
void report_left(const char *reason);
/* It has no paths. */
void report_without_paths(const char *reason);
void report_instrumented();

void report_write();

#endif

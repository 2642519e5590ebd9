/* Which functions can be instrumented.
 *
 * Context: the plugin's pass, before the function is changed. */
#ifndef PENUMBRA_COMPILER_SUITABLE_H
#define PENUMBRA_COMPILER_SUITABLE_H

/* NULL: options of the unit allow it; else what does not. */
const char *suitable_unit_reason();
/* NULL: the current function can be; else why not. */
const char *suitable_reason();

#endif

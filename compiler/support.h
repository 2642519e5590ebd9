/* What an object contains once, and a module keeps once: its descriptor, its check counter, the
 * functions that its code calls, a constructor and destructors (include/penumbra/inst.h).
 *
 * Context: at the end of the unit. */
#ifndef PENUMBRA_COMPILER_SUPPORT_H
#define PENUMBRA_COMPILER_SUPPORT_H

#include <stdio.h>

void support_write(FILE *assembly);

#endif

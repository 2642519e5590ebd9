/* What all files of the plugin include: parsed once for each version of GCC. */
#ifndef PENUMBRA_COMPILER_PCH_H
#define PENUMBRA_COMPILER_PCH_H

#include "gcc.h"

#endif

/* The version of Penumbra that these headers came with.
 *
 * Context: any; constants only. */
#ifndef PENUMBRA_VERSION_H
#define PENUMBRA_VERSION_H

#define PENUMBRA_VERSION_MAJOR 0
#define PENUMBRA_VERSION_MINOR 1
#define PENUMBRA_VERSION_PATCH 0
#define PENUMBRA_VERSION_STRING "0.1.0"

#endif

/* The collector's half of shadows (docs/shadow.md): it buries them, ends those whose program has ended, and
 * notes who was killed.
 *
 * Shadows of the program that the collector has started are its children; those of other processes have
 * guards (spool_shadow.h), and look themselves whether the recording goes on.
 *
 * Context: the main thread.
 * Ownership: none. */
#ifndef PENUMBRA_CLI_RECORD_SHADOWS_H
#define PENUMBRA_CLI_RECORD_SHADOWS_H

#include "sigsafe/spool.h"

/* Looks at all seats, without waiting. */
void record_shadows_poll(const struct spool *s);

/* The recording is over: on return no child of the collector is a shadow. */
void record_shadows_end(const struct spool *s);

#endif

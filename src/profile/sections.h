/* The optional sections of a profile file: phases, what the trigger malloc knows of each context
 * beyond its samples, sandboxes, CPU time, and what signals have cost. docs/format.md describes them.
 *
 * Context: ordinary code.
 * Ownership: what is read goes into the decoder's profile. */
#ifndef PENUMBRA_PROFILE_SECTIONS_H
#define PENUMBRA_PROFILE_SECTIONS_H

#include "profile/container.h"
#include "profile/decode.h"
#include "profile/profile.h"

/* Whether the profile holds anything that the section is for. */
bool section_phases_needed(const struct profile *p);
bool section_heap_needed(const struct profile *p);
bool section_sandboxes_needed(const struct profile *p);
bool section_cpu_time_needed(const struct profile *p);
bool section_delivered_needed(const struct profile *p);

/* Fill *out, whose buffer fails stickily. */
void section_phases_put(struct section_out *out, const struct profile *p);
void section_heap_put(struct section_out *out, const struct profile *p);
void section_sandboxes_put(struct section_out *out, const struct profile *p);
void section_cpu_time_put(struct section_out *out, const struct profile *p);
void section_delivered_put(struct section_out *out, const struct profile *p);

/* After the sections that every profile has. True, with nothing read, if the section is not there. */
bool section_phases_get(struct decoder *d);
bool section_heap_get(struct decoder *d);
bool section_sandboxes_get(struct decoder *d);
bool section_cpu_time_get(struct decoder *d);
bool section_delivered_get(struct decoder *d);

#endif

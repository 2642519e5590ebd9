/* The optional sections of a profile file about shadows (docs/format.md).
 *
 * Context: ordinary code.
 * Ownership: the caller's buffers and decoder. */
#ifndef PENUMBRA_PROFILE_SECTION_SHADOWS_H
#define PENUMBRA_PROFILE_SECTION_SHADOWS_H

#include "profile/decode.h"

void section_shadows_put(struct section_out *out, const struct profile_shadows *s);
/* Of the carrier `auto`. */
void section_places_put(struct section_out *out, const struct profile_shadows *s);
/* Of --threads all. */
void section_stopped_put(struct section_out *out, const struct profile_shadows *s);
/* What shadows read of the log of input. */
void section_input_put(struct section_out *out, const struct profile_shadows *s);
void section_huge_put(struct section_out *out, const struct profile_shadows *s);
void section_spent_put(struct section_out *out, const struct profile_shadows *s);
void section_sleepers_put(struct section_out *out, const struct profile_shadows *s);
/* Of shadows that go on: what they ran without observing it. */
void section_passed_put(struct section_out *out, const struct profile_shadows *s);
/* Reads them, if they are there. */
bool section_shadows_get(struct decoder *d);

#endif

/* Call paths of the pairs that the tool `waste` found, where it ran beside `calls`.
 *
 * Context: ordinary code. */
#ifndef PENUMBRA_REPORT_TABLE_WASTE_PATHS_H
#define PENUMBRA_REPORT_TABLE_WASTE_PATHS_H

#include "report/table/view.h"
#include "sigsafe/spool_waste.h"

/* What was kept, and what was not, by reason; nothing where there are no paths. */
void waste_paths_header(FILE *out, const struct profile_waste *w);
/* The same as a member, and all calls, which the pairs' paths refer to. */
void waste_paths_json_calls(struct json *j, const struct view *v, const struct profile_waste *w);

/* The most frequent paths of the pair; all of them as a member. False without memory. */
bool waste_paths_text(FILE *out, const struct view *v, const struct report_style *style,
                      const struct profile_waste *w, const struct profile_waste_pair *pair);
void waste_paths_json(struct json *j, const struct profile_waste *w,
                      const struct profile_waste_pair *pair);

#endif

/* Markers of a thread in the Firefox Profiler's format: phases, what became of processes, samples
 * that were dropped.
 *
 * Context: ordinary code.
 * Ownership: markers hold nothing; names go to the tables' strings. */
#ifndef PENUMBRA_EXPORT_FIREFOX_MARKERS_H
#define PENUMBRA_EXPORT_FIREFOX_MARKERS_H

#include "export/firefox_samples.h"
#include "export/firefox_tables.h"

/* Of profile.meta: how each kind of marker is shown. */
void firefox_put_marker_schema(struct json *j);

/* The table of a lane, as a key of the thread's object, which is open. m: its moments. False
 * without memory. */
bool firefox_put_markers(struct json *j, struct firefox_tables *t, const struct lanes *l,
                         uint32_t lane, const struct moments *m);
/* An empty one. */
void firefox_put_no_markers(struct json *j);

#endif

/* What the engine counted, in reports: totals, why it stopped, instruction classes, hottest blocks.
 *
 * Context: ordinary code. Counts of a hostile file may be anything.
 * Ownership: nothing is kept. */
#ifndef PENUMBRA_REPORT_COUNTED_H
#define PENUMBRA_REPORT_COUNTED_H

#include "report/json.h"
#include "report/report.h"

/* Lines of the header: carrier, instructions, slowdown, bursts, translation, stops. Only if
 * code ran under the engine. */
void counted_header(FILE *out, const struct view *v, const struct report_style *style);

/* Of these the line on exact calls in contexts that had no room, if there are any. */
void counted_folded(FILE *out, const struct profile *p, const struct report_style *style);
/* Of these the lines on why it stopped. */
void counted_stops(FILE *out, const struct profile_counts *c, const struct report_style *style);

/* Of these, what could not be read, if anything. */
void counted_unread(FILE *out, const struct profile_counts *c, const struct report_style *style);

/* Tables of instruction classes, of the blocks in which most instructions were executed, and of the
 * most frequent transfers of control, where there are any. */
bool counted_tables(FILE *out, const struct view *v, const struct report_style *style,
                    struct err *e);

/* limit: only the hottest blocks, and no edges; 0: all. Members "carrier", "tool", "instructions",
 * "slowdown", "stopped", "classes", "blocks", "edges" of the report's object. */
void counted_json(struct json *j, const struct view *v, uint32_t limit);

/* Profile blocks by instructions executed, most first: indexes to free(). */
uint32_t *counted_order(const struct profile_counts *c);

/* The function around code of the profile. */
const char *counted_function(const struct view *v, uint32_t process, uint32_t image,
                             uint64_t offset);

#endif

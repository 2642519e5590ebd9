/* Interprocedural acyclic paths in reports: which are hot, what they cost, where they lead.
 *
 * A path's share is that of the instructions executed on it, of all that were observed.
 *
 * Context: ordinary code. Counts of a hostile file may be anything.
 * Ownership: nothing is kept. */
#ifndef PENUMBRA_REPORT_PATHS_H
#define PENUMBRA_REPORT_PATHS_H

#include "report/json.h"
#include "report/report.h"

/* A line of the header: how many, how often, what was dropped and cut. Only if there are any. */
void paths_header(FILE *out, const struct view *v, const struct report_style *style);

/* The hot paths, each with the functions that it crosses and its source lines. */
bool report_paths(FILE *out, const struct view *v, const struct report_style *style, struct err *e);

/* limit: only the hottest; 0: all. Members "path_totals" and "paths" of the report's object. */
void paths_json(struct json *j, const struct view *v, uint32_t limit);

/* A path's instructions, from its first block to its last. */
uint64_t path_instructions(const struct profile_counts *c, const struct profile_path *path);

/* Indexes of the paths by instructions executed on them, most first: to free(); NULL without memory.
 * *all: instructions of all paths, dropped and cut ones included. */
uint32_t *paths_order(const struct profile_counts *c, uint64_t *all);

#endif

/* What productions found, for comparisons: which groups have entries of a kind, and what of an
 * entry means the same in two profiles.
 *
 * Context: ordinary code.
 * Ownership: nothing is kept. */
#ifndef PENUMBRA_REPORT_COMPARE_PRODUCTIONS_H
#define PENUMBRA_REPORT_COMPARE_PRODUCTIONS_H

#include "report/compare.h"
#include "report/table/productions.h"

/* COMPARE_PAIR: counts of two values; COMPARE_METHOD: of T.METHOD; COMPARE_COUNT: of one value;
 * COMPARE_STREAM: hot streams. */
bool compare_is_production(enum compare_by by);
bool compare_group_fits(const struct profile_production_group *g, enum compare_by by);
/* The profile has a group of that kind in which something was found. */
bool compare_has_productions(const struct profile *p, enum compare_by by);

/* 128 bits of an entry of the group. image_id: the number of an image of this profile. */
void compare_production_id(const struct profile_productions *t, uint32_t group,
                           const struct production_row *row,
                           uint64_t (*image_id)(const void *context, uint32_t image),
                           const void *context, uint64_t id[2]);

#endif

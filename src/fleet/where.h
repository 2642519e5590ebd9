/* What a query means as a condition on rows of `samples`, and rows that come back.
 *
 *      host given, or a range below three hours      rows of intervals: exact
 *      else                                          sums by hour: the hours whose middle is in it
 *
 * Context and ownership: as in fleet.h. */
#ifndef PENUMBRA_FLEET_WHERE_H
#define PENUMBRA_FLEET_WHERE_H

#include "fleet/connect.h"
#include "fleet/schema.h"
#include "fleet/tsv.h"

/* Whether it is of intervals. */
bool where_is_exact(const struct store_query *q);

/* FROM ... WHERE ..., of the query's time, host, service and program; stacks alone are narrowed by
 * binary and function. */
void where_put(struct buf *b, const struct fleet *f, const struct store_query *q,
               enum fleet_kind kind);
/* day >= ... AND day <= ..., of the query's time. */
void where_days_put(struct buf *b, const struct store_query *q);
/* The same without service, program, binary and function. */
struct store_query where_all(const struct store_query *q);

/* Runs a statement, and calls `take` with each row of `count` fields, until that says false, with
 * *t->e set or t->failed. */
bool where_rows(struct fleet *f, const struct buf *statement, unsigned count,
                bool (*take)(void *context, struct tsv *t, char **fields), void *context,
                struct err *e);

#endif

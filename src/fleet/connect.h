/* A connection to the server, and statements on it.
 *
 * Context and ownership: as in fleet.h. */
#ifndef PENUMBRA_FLEET_CONNECT_H
#define PENUMBRA_FLEET_CONNECT_H

#include "fleet/fleet.h"

/* The database's name: letters, digits and _. */
const char *fleet_database(const struct fleet *f);

/* Whether there are names that were uploaded, as symbols_look (symbols.h) has set it. */
bool fleet_has_symbols(const struct fleet *f);
void fleet_symbols_set(struct fleet *f, bool there);

/* An answer is never longer. */
#define FLEET_ANSWER_MOST (UINT64_C(1) << 30)

/* Runs a statement. *answer, which is empty (NULL: it answers nothing), is the caller's. False: *e,
 * as the server says it. */
bool fleet_ask(struct fleet *f, const struct buf *statement, struct buf *answer, struct err *e);
bool fleet_has_table(struct fleet *f, const char *table, bool *there, struct err *e);
/* Inserts rows of text into a table's columns, as query `id`: the server refuses a second one of
 * that name while the first one runs. False: it may have been inserted. */
bool fleet_insert(struct fleet *f, const char *table, const char *columns, const char *id,
                  const struct buf *rows, struct err *e);

#endif

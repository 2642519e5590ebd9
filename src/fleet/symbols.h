/* Names that were uploaded apart from hosts, of frames that hosts had none for.
 *
 * Context and ownership: as in fleet.h. */
#ifndef PENUMBRA_FLEET_SYMBOLS_H
#define PENUMBRA_FLEET_SYMBOLS_H

#include "fleet/connect.h"
#include "fleet/words.h"

/* Asks whether the store has uploaded names at all (fleet_has_symbols): one of an older version has
 * no table of them. */
bool symbols_look(struct fleet *f, struct err *e);

/* Gives names to frames of images with a build-id. */
bool symbols_name(struct fleet *f, struct words *w, struct answer *a, struct err *e);

/* Appends a condition on rows of frames, of the query's days: that their uploaded name holds the
 * query's function. */
void symbols_put_named(struct buf *b, const struct fleet *f, const struct store_query *q);

#endif

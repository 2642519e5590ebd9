/* Runtimes that generate code, or interpret it: how to make each say what its functions are called.
 * That is said where much time is in code without a name. docs/interpreters.md has the same list.
 *
 * Context: ordinary code. */
#ifndef PENUMBRA_SYMBOLS_RUNTIMES_H
#define PENUMBRA_SYMBOLS_RUNTIMES_H

#include "base/buf.h"
#include "symbols/symbols.h"

/* Appends a sentence, a line, for each runtime that is concerned. */
void runtimes_advise(const struct symbols *s, const struct profile *p, struct buf *warnings);

#endif

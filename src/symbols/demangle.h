/* Names as the programmer wrote them: Itanium C++ (_Z), Rust (legacy and v0), D; everything else is
 * returned as it is. Clone suffixes are kept as "[clone .isra.0]", but ".cold" is dropped: a cold
 * part is not a function of its own, only the other half of one.
 *
 * Context: ordinary code. Safe on any string.
 * Ownership: the result is in the pool. */
#ifndef PENUMBRA_SYMBOLS_DEMANGLE_H
#define PENUMBRA_SYMBOLS_DEMANGLE_H

#include "symbols/pool.h"

const char *demangle(struct pool *pool, const char *name);
/* The same of a symbol, whose version is left out ("memcpy@@GLIBC_2.14"). */
const char *demangle_symbol(struct pool *pool, const char *name);

#endif

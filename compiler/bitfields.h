/* Which bit fields a statement reads or writes. Instructions access the word that several share,
 * and do not say which of them they are about; the statements that they are made of do.
 *
 * Context: the compiler's passes. */
#ifndef PENUMBRA_COMPILER_BITFIELDS_H
#define PENUMBRA_COMPILER_BITFIELDS_H

#include <vector>

/* Looks at the statements of a function, late. */
void bitfields_find(function *in);
/* Those that are meant where an instruction from that place in the source reads (or writes) bits of
 * the word that `field` is in; itself, if it is no bit field or nothing is known. */
std::vector<int> bitfields_meant(location_t where, int field, bool writes);
/* The only bit field that statements at that place read (or write); -1: none, or several. */
int bitfields_only(location_t where, bool writes);

#endif

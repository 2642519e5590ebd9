/* Functions, inlined frames and source lines of one image from its DWARF.
 *
 * Nothing is scanned per address: units are found in a sorted array of their ranges, functions in
 * one built per unit that is hit, and inlined calls in one built per function that is hit.
 *
 * Context: ordinary code. Safe on any DWARF that elfutils opens.
 * Ownership: strings given out are in the pool; dwarf_index_free before the module is closed. */
#ifndef PENUMBRA_SYMBOLS_DWARF_INDEX_H
#define PENUMBRA_SYMBOLS_DWARF_INDEX_H

#include <elfutils/libdwfl.h>

#include "symbols/pool.h"
#include "symbols/code.h"

struct dwarf_index;

/* NULL if the module has no DWARF (or without memory: pool->failed). lines: whether files and
 * lines are wanted at all; reading line tables takes half of the time. */
struct dwarf_index *dwarf_index_build(Dwfl_Module *module, struct pool *pool, bool lines);
void dwarf_index_free(struct dwarf_index *index);

/* Appends the frames of the address, innermost first, to out (room for max); the last is the
 * physical function, whose name is "" if only its line is known. Returns how many; 0: nothing is
 * known. */
uint32_t dwarf_find(struct dwarf_index *index, uint64_t address, struct symbol_frame *out,
                    uint32_t max);

/* The same as places for compilers (code_sites), of an index with lines. */
uint32_t dwarf_find_sites(struct dwarf_index *index, uint64_t address, struct source_site *out,
                          uint32_t max);

#endif

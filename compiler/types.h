/* Types with fields, as records of the tables.
 *
 * Context: while functions are compiled. */
#ifndef PENUMBRA_COMPILER_TYPES_H
#define PENUMBRA_COMPILER_TYPES_H

#include <cstdint>
#include <vector>

/* The number of a FIELD_DECL's record, with its type's; -1 for what the program did not declare. */
int types_field(tree field);

/* A struct's members that have bits from bit `from` up to `to`; of bit fields the first. */
std::vector<int> types_fields_between(tree type, int64_t from, int64_t to);

/* The number of a struct's, union's or class's record; -1 for other types. */
int types_record(tree type);

#endif
